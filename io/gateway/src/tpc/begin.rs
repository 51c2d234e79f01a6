//! Starts a third-party copy: checks the request and builds the response.

use std::sync::Arc;

use weir_access::Action;
use weir_dav::conditional::{Access, Verdict};
use weir_dav::lock;
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_dav::path::PathLimits;
use weir_dav::third_party::{Direction, TransferError, TransferRequest};
use weir_net::service::{Answer, Content, LocalFuture};
use weir_storage::{Closing, Expectation, Metadata, OpenFile, StorageError};

use super::job::Job;
use super::pull::{Terms, pull};
use super::push::push;
use super::report::Report;
use crate::call::Call;
use crate::client::Fault;
use crate::dav::{Act, look, own_names};
use crate::headers::{is_conditional, judge, validators};
use crate::refusal::Refusal;
use crate::transfers::Desk;
use crate::transfers::{About, Entry};

/// Media type of the response body.
const CONTENT_TYPE: &str = "text/perf-marker-stream";

/// Returns the third-party copy that a COPY requests; `None` if it is a copy within this server.
pub(crate) fn asked(call: &Call) -> Result<Option<TransferRequest>, Refusal> {
    let request = &call.request;
    match TransferRequest::read(request.pairs(), &own_names(request), &PathLimits::default()) {
        Ok(transfer) => Ok(transfer),
        // The handler for copies within this server reports the error.
        Err(TransferError::Header(_)) if request.header("Source").is_none() => Ok(None),
        Err(error) => Err(Refusal::Transfer(error)),
    }
}

/// The checked transfer.
enum Work {
    Pull(Terms),
    /// The file to send, and the handle that closes it on a disk thread.
    Push(Arc<OpenFile>, Closing),
}

/// Starts a third-party copy. Errors that are found at once get their own status. Later errors end the
/// response body with a line of text.
pub(crate) async fn answer(call: &mut Call, transfer: TransferRequest) -> Result<Answer, Refusal> {
    let Some(desk) = call.area.desk.clone() else {
        return Err(match transfer.direction {
            Direction::Pull => Outcome::TransfersOff.into(),
            Direction::Push => Outcome::DestinationElsewhere.into(),
        });
    };
    if transfer.passed.iter().any(|(name, _)| desk.is_identity(name)) {
        return Err(Refusal::Transfer(TransferError::PassedHeader));
    }
    let act = Act::of(call)?;
    let work = match transfer.direction {
        Direction::Pull => Work::Pull(terms_of_pull(call, &act, &transfer).await?),
        Direction::Push => {
            let file = file_to_push(call, &act).await?;
            let (tree, disk) = (Arc::clone(&call.area.tree), call.disk.clone());
            let closing = Closing::new(Arc::clone(&file), tree, disk);
            Work::Push(file, closing)
        }
    };
    desk.plan.rules.vet_url(&transfer.remote).map_err(Refusal::Vetoed)?;
    let peer = transfer.remote.peer();
    let ticket = if desk.is_stopping() { None } else { desk.enter(&peer) };
    let ticket = ticket.ok_or(Outcome::Unavailable)?;
    let entry = desk.register(About {
        area: call.area.plan.name.to_string(),
        direction: transfer.direction,
        peer,
        path: call.place.full.href(false),
        sci_tag: transfer.sci_tag,
    });
    let job = Job { act, desk: Arc::clone(&desk), request: transfer, live: Arc::clone(&entry.live) };
    let work: LocalFuture<Result<(), Fault>> = Box::pin(async move {
        let mut ticket = ticket;
        ticket.turn().await;
        match work {
            Work::Pull(terms) => pull(&job, terms).await,
            Work::Push(file, closing) => {
                let pushed = push(&job, file).await;
                drop(closing);
                pushed
            }
        }
    });
    Ok(report(&desk, work, entry))
}

fn report(desk: &Desk, work: LocalFuture<Result<(), Fault>>, entry: Entry) -> Answer {
    let report = Report::new(work, Box::pin(desk.stopping()), desk.marker_interval(), entry);
    let content = Content::Stream { length: None, source: Box::new(report) };
    // Otherwise an NGINX in front would buffer markers for minutes, and clients would consider the transfer
    // dead.
    let answer = Answer::new(Outcome::Accepted.status()).with("X-Accel-Buffering", "no");
    answer.with("Cache-Control", "no-store").content(CONTENT_TYPE, content)
}

/// Does the checks of a PUT of the same file.
async fn terms_of_pull(call: &Call, act: &Act, transfer: &TransferRequest) -> Result<Terms, Refusal> {
    let place = &call.place;
    let seen = call.metadata_if(&place.path).await;
    let action = match &seen {
        Ok(Some(_)) => Action::Overwrite,
        _ => Action::Create,
    };
    call.permit(&action, place)?;
    let seen = seen?;
    if seen.is_some_and(|seen| seen.is_directory()) || place.trailing_slash {
        return Err(Refusal::NotAllowed(Kind::Collection));
    }
    let kind = seen.as_ref().map_or(Kind::Missing, Metadata::dav_kind);
    if !call.area.offer().allows(Method::Put, kind) {
        return Err(Refusal::NotAllowed(kind));
    }
    let known = seen.as_ref().map(validators);
    if judge(&call.request, Access::Other, known.as_ref(), call.now_s) == Verdict::Failed {
        return Err(Outcome::PreconditionFailed.into());
    }
    if seen.is_some() && !transfer.overwrite {
        return Err(Outcome::OverwriteRefused.into());
    }
    let is_conditional = is_conditional(&call.request);
    let expect = match seen {
        Some(seen) if is_conditional => Expectation::Version(seen),
        None if is_conditional || !transfer.overwrite || !call.may(&Action::Overwrite, place)? => {
            Expectation::Nothing
        }
        _ => Expectation::Anything,
    };
    let changes = lock::changes(Method::Put, (&place.path, kind), None);
    let judged = changes.clone();
    let begin = move |act: &Act| {
        act.locked(&judged, |_| Ok(()))?;
        let parent = act.place.path.parent().unwrap_or_default();
        match look(act.tree(), &parent)? {
            Some(parent) if parent.is_directory() => Ok(()),
            _ => Err(StorageError::ParentMissing.into()),
        }
    };
    act.run(begin).await?;
    Ok(Terms { expect, changes })
}

async fn file_to_push(call: &Call, act: &Act) -> Result<Arc<OpenFile>, Refusal> {
    let path = call.place.path.clone();
    let opened = call.on_disk(move |tree| tree.open(&path)).await;
    call.permit(&Action::Read, &call.place)?;
    if act.terms.has_if() {
        act.run(Act::judge_if).await?;
    }
    let file = match opened {
        Ok(_) if call.place.trailing_slash => return Err(Outcome::NotFound.into()),
        Err(StorageError::IsDirectory) => return Err(Outcome::CollectionElsewhere.into()),
        opened => opened?,
    };
    let known = validators(file.metadata());
    if judge(&call.request, Access::Other, Some(&known), call.now_s) == Verdict::Failed {
        return Err(Outcome::PreconditionFailed.into());
    }
    Ok(Arc::new(file))
}
