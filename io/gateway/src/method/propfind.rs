//! PROPFIND (RFC 4918 section 9.1).

use std::io;

use weir_access::Action;
use weir_dav::header::{Depth, DepthUse};
use weir_dav::method::Method;
use weir_dav::outcome::Outcome;
use weir_dav::xml::{CONTENT_TYPE, Condition, Propfind, XmlLimits};
use weir_net::service::{Answer, Content, unfold};

use crate::call::Call;
use crate::dav::{Act, Describer, Walk, kind, xml_body};
use crate::refusal::Refusal;

pub(crate) async fn answer(call: &mut Call) -> Result<Answer, Refusal> {
    let depth = Depth::read(call.request.header("Depth"), DepthUse::Propfind)
        .map_err(weir_dav::header::HeaderError::outcome)?;
    let body = xml_body(call).await?;
    let asked = Propfind::parse(&body, &XmlLimits::default()).map_err(weir_dav::xml::XmlError::outcome)?;
    let act = Act::of(call)?;
    let finite = !act.asker.area.plan.propfind_infinity;
    let (first, rest) = act.run(move |act| begin(act, asked, depth, finite)).await?;
    let content = match rest {
        None => Content::Bytes(first),
        Some(rest) => stream(act, first, rest),
    };
    Ok(Answer::new(Outcome::MultiStatus.status()).content(CONTENT_TYPE, content))
}

/// Does everything that can refuse the request, and writes the first piece of the response.
fn begin(act: &Act, asked: Propfind, depth: Depth, finite: bool) -> Result<(Vec<u8>, Option<Walk>), Refusal> {
    let found = act.look()?;
    let directory = found.is_some_and(|metadata| metadata.is_directory());
    act.require(&Action::Stat, directory)?;
    act.allow(Method::Propfind, kind(found.as_ref()))?;
    let metadata = found.ok_or(Outcome::NotFound)?;
    let members = depth != Depth::Zero && directory;
    if members {
        act.require(&Action::List, true)?;
    }
    if members && depth == Depth::Infinity && finite {
        return Err(Refusal::Condition(Outcome::InfiniteDepth, Condition::PropfindFiniteDepth));
    }
    let locks = act.locks().view()?;
    act.terms.check(&act.asker.area, &locks, &act.place, &[])?;
    let (prefix, area) = (act.place.prefix(), act.asker.area.clone());
    let describer = Describer { area, asked, prefix, locks };
    let deep = depth == Depth::Infinity;
    let walk = Walk::new(act.asker.clone(), describer, act.place.path.clone(), metadata, members, deep);
    Ok(walk.piece()?)
}

/// Streams the pieces. The next piece is made when the previous one has been sent. An error aborts the
/// response.
fn stream(act: Act, first: Vec<u8>, rest: Walk) -> Content {
    let source = unfold((Some(first), Some(rest)), move |(ready, rest)| {
        let disk = act.asker.disk.clone();
        async move {
            match (ready, rest) {
                (Some(piece), rest) => Ok(Some((piece, (None, rest)))),
                (None, None) => Ok(None),
                (None, Some(walk)) => {
                    let made = disk.run_on(move || walk.piece()).await;
                    let (piece, rest) = made.map_err(|error| io::Error::other(error.to_string()))?;
                    Ok(Some((piece, (None, rest))))
                }
            }
        }
    });
    Content::Stream { length: None, source }
}
