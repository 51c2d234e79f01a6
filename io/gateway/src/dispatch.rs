//! One request from arrival to response: identifies the client, finds the target and calls the method
//! handler.

use std::pin::Pin;
use std::sync::Arc;

use weir_access::Action;
use weir_access::identity::Identity;
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_net::service::{Answer, Body, Request};

use crate::area::Area;
use crate::call::{Call, circumstances};
use crate::clock::unix_now_s;
use crate::dav::Act;
use crate::forgery::is_forged;
use crate::identity::{Identifier, denied};
use crate::place::Place;
use crate::refusal::Refusal;
use crate::{method, tpc};

/// Responds to any request to a storage area.
pub(crate) async fn answer(
    area: Arc<Area>,
    identifier: Arc<Identifier>,
    request: Request,
    body: Body,
) -> Answer {
    let now_s = unix_now_s();
    let (method, place, identity) = match begin(&area, &identifier, &request, now_s).await {
        Ok(begun) => begun,
        Err(refusal) => return refusal.answer(area.offer(), &request),
    };
    let Some(place) = place else { return method::of_server(&area) };
    let Some(disk) = area.disk_for(&identity) else {
        // No operating-system user belongs to this identity, so no file is accessible to it.
        return denied(&identity, &Action::Stat, &area.schemes).answer(area.offer(), &request);
    };
    let circumstances = circumstances(&area, &request, now_s);
    let mut call = Call { area, request, body, identity, disk, place, now_s, circumstances };
    let carried_out = match (method::upload_of(&call.request), method) {
        (Some(id), _) => Box::pin(method::answer_upload(&mut call, id)).await,
        (None, Some(method)) => carry_out(&mut call, method).await,
        (None, None) => Err(Refusal::NotAllowed(Kind::File)),
    };
    match carried_out {
        Ok(answer) => answer,
        Err(refusal) => refusal.answer(call.area.offer(), &call.request),
    }
}

/// Parses the method and the target of a request and identifies its client. Returns no place for `OPTIONS *`,
/// which is about the whole server.
async fn begin(
    area: &Area,
    identifier: &Identifier,
    request: &Request,
    now_s: u64,
) -> Result<(Option<Method>, Option<Place>, Identity), Refusal> {
    let method = match (Method::parse(request.method()), request.method()) {
        (Some(method), _) => Some(method),
        (None, b"POST") => return Err(Refusal::NotAllowed(Kind::File)),
        (None, _) => return Err(Outcome::NotImplemented.into()),
    };
    if method == Some(Method::Options) && request.path() == b"*" {
        return Ok((method, None, Identity::Anonymous));
    }
    let place = Place::of(area, request.path())?;
    let identity = identifier.identify(area, request, now_s).await?;
    if is_forged(request, &identity) {
        return Err(Outcome::Forbidden.into());
    }
    Ok((method, Some(place), identity))
}

/// Runs the handler of `method`.
async fn carry_out(call: &mut Call, method: Method) -> Result<Answer, Refusal> {
    if matches!(method, Method::Options | Method::Get | Method::Head) && call.request.header("If").is_some() {
        // Other methods evaluate `If` together with the locks that they need.
        Box::pin(Act::of(call)?.run(Act::judge_if)).await?;
    }
    // An async function's future is as large as the largest future inside it. Boxing the others keeps
    // downloads small.
    let other: Pin<Box<dyn Future<Output = Result<Answer, Refusal>> + '_>> = match method {
        Method::Get => return method::get::get(call, false).await,
        Method::Head => return method::get::get(call, true).await,
        Method::Options => Box::pin(method::options::options(call)),
        Method::Put => Box::pin(method::put::put(call)),
        Method::Patch => Box::pin(method::put::patch(call)),
        Method::Delete => Box::pin(method::delete::answer(call)),
        Method::Propfind => Box::pin(method::propfind::answer(call)),
        Method::Proppatch => Box::pin(method::proppatch::answer(call)),
        Method::Mkcol => Box::pin(method::mkcol::answer(call)),
        Method::Copy => match tpc::asked(call)? {
            Some(elsewhere) => Box::pin(tpc::answer(call, elsewhere)),
            None => Box::pin(method::transfer::answer(call, method)),
        },
        Method::Move => Box::pin(method::transfer::answer(call, method)),
        Method::Lock => Box::pin(method::lock::answer(call)),
        Method::Unlock => Box::pin(method::unlock::answer(call)),
    };
    other.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_a_file_has_no_room_for_what_other_methods_need() {
        fn bytes<T, F: Future>(_: impl FnOnce(T) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = bytes(|(area, identifier, request, body)| answer(area, identifier, request, body));
        // Each request allocates, fills and frees this future.
        assert!(bytes <= 3 * 1024, "{bytes}");
    }
}
