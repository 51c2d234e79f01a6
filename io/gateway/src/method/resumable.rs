//! Resumable uploads (draft-ietf-httpbis-resumable-upload-11).
//!
//! The upload resource is the target's own URL with a random name in its query. Therefore the same access
//! rules and the same routing to a cluster node apply as for the target.

mod receiving;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use weir_access::Action;
use weir_dav::lock;
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_dav::resumable::{
    PARTIAL_UPLOAD, PROBLEM_TYPE, Problem, RESUMPTION_SUPPORTED, UploadHeaders, UploadLimit, agree, complete,
};
use weir_net::service::{Answer, Content, Request};
use weir_storage::{
    Commit, Committed, Durability, Expectation, Partial, PartialId, PartialState, StartedFrom, StorageError,
    Upload,
};

use self::receiving::{Keeping, Refused, close, receive};
use super::digest::GivenUp;
use super::upload::{Start, confirm};
use crate::area::upload_registry::Turn;
use crate::call::Call;
use crate::dav::{Act, kind, look};
use crate::headers::{Expected, digests};
use crate::refusal::Refusal;

/// Query key of an upload resource.
const KEY: &[u8] = b"weir-upload=";

/// Methods of an upload resource.
const METHODS: &str = "HEAD, GET, PATCH, DELETE, OPTIONS";

/// Maximum wait for another node, or another request on this node, to stop its work on the upload.
const PATIENCE: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(20);

/// Reason phrase of the interim response 104.
const RESUMPTION_REASON: &str = "Upload Resumption Supported";

/// Time for which a completed upload is remembered, in seconds.
const COMPLETED_S: u64 = 600;

/// Returns the upload that a request names in its query; `None` if the request is about the file itself.
pub(crate) fn upload_of(request: &Request) -> Option<Option<PartialId>> {
    let mut parts = request.query()?.split(|byte| *byte == b'&');
    let id = parts.find_map(|part| part.strip_prefix(KEY))?;
    Some(PartialId::parse(id))
}

/// Parses the headers for resumable uploads.
pub(super) fn headers(request: &Request) -> UploadHeaders {
    let value = |name| request.header(name);
    UploadHeaders::read(value("Upload-Complete"), value("Upload-Offset"), value("Upload-Length"))
}

/// Returns the Upload-Limit value for uploads to the area.
pub(super) fn limit(call: &Call, left_s: u64) -> String {
    let size_max = call.area.plan.quota.map(|quota| quota.0);
    UploadLimit { size_max, age_max_s: Some(left_s) }.to_text()
}

/// Starts an upload that the client may resume.
pub(super) async fn create(
    call: &mut Call,
    start: Start,
    headers: UploadHeaders,
    is_whole: bool,
) -> Result<Answer, Refusal> {
    if call.request.header("Content-Range").is_some() {
        return Err(Outcome::BadContentRange.into());
    }
    let Ok(length) = headers.content_length(0, call.body.length()) else {
        return Ok(problem(Problem::InconsistentLength));
    };
    let id = crate::crypto::random().map(PartialId::new).ok_or(Outcome::Failed)?;
    let turn = call.area.uploads.turn(id).await;
    let Start { expected, expect, is_conditional, act, changes, modified_s, .. } = start;
    if modified_s.is_some() {
        return Err(Outcome::MtimeOfResumable.into());
    }
    let place = call.place.clone();
    let from = match expect {
        Expectation::Anything => StartedFrom::Anything,
        Expectation::Nothing => StartedFrom::Nothing(is_conditional),
        Expectation::Version(seen) => StartedFrom::Version(seen.version()),
    };
    let state = PartialState::new(&place.path, act.asker.principal(), from, expiry(call))
        .with_digests(&expected.representation);
    let partial = act
        .run(move |act| {
            act.locked(&changes, |_| Ok(()))?;
            let mut partial = Partial::create(act.tree(), id, state)?;
            partial.set_length(length)?;
            Ok(partial)
        })
        .await?;
    let location = format!("{}?weir-upload={id}", place.full.href(false));
    let limits = limit(call, call.area.plan.upload_expiry.0 / 1_000);
    if !call.request.is_http10 {
        let lines = [("Location", location.as_str()), ("Upload-Limit", limits.as_str())];
        call.body.inform(RESUMPTION_SUPPORTED, RESUMPTION_REASON, &lines);
    }
    let appended = append(call, turn, partial, is_whole, expected).await?;
    Ok(match appended {
        Appended::Complete(answer) => answer,
        Appended::Part(offset) => Answer::new(201)
            .with("Location", location)
            .with("Upload-Complete", complete(false))
            .with("Upload-Offset", offset.to_string())
            .with("Upload-Limit", limits),
    })
}

/// Responds to a request to an upload resource.
pub(crate) async fn answer(call: &mut Call, id: Option<PartialId>) -> Result<Answer, Refusal> {
    if call.request.method() == b"OPTIONS" {
        return Ok(Answer::new(204).with("Allow", METHODS).with("Accept-Patch", PARTIAL_UPLOAD));
    }
    if !matches!(call.request.method(), b"HEAD" | b"GET" | b"PATCH" | b"DELETE") {
        return Ok(Answer::new(405).with("Allow", METHODS));
    }
    // Requires the same permission as the PUT that started the upload.
    let place = call.place.clone();
    let seen = call.metadata_if(&place.path).await;
    let action = if matches!(seen, Ok(Some(_))) { Action::Overwrite } else { Action::Create };
    call.permit(&action, &place)?;
    if call.area.plan.read_only {
        return Err(Refusal::NotAllowed(Kind::File));
    }
    let id = id.ok_or(Outcome::NotFound)?;
    let act = Act::of(call)?;
    let state = act.run(move |act| Ok(act.tree().partial_state(id)?)).await?;
    if state.path()? != place.path || state.principal != act.asker.principal() {
        return Err(Outcome::NotFound.into());
    }
    let turn = call.area.uploads.turn(id).await;
    match call.request.method() {
        b"PATCH" => patch(call, &act, turn, id).await,
        b"DELETE" => {
            if let Some(partial) = open(call, &act, id).await? {
                act.run_on(|_| Ok(partial.cancel()?)).await?;
            } else {
                act.run_on(move |act| Ok(act.tree().forget_partial(id)?)).await?;
            }
            Ok(Answer::new(204))
        }
        _ => {
            let partial = open(call, &act, id).await?;
            let state = act.run_on(move |act| Ok(act.tree().partial_state(id)?)).await?;
            let (offset, is_complete) = match (&partial, state.completed) {
                (Some(partial), _) => (partial.bytes(), false),
                (None, Some(bytes)) => (bytes, true),
                (None, None) => return Err(Outcome::NotFound.into()),
            };
            let answer = Answer::new(204)
                .with("Upload-Offset", offset.to_string())
                .with("Upload-Complete", complete(is_complete))
                .with("Upload-Limit", limit(call, state.expires_s.saturating_sub(call.now_s)))
                .with("Cache-Control", "no-store");
            close(&act.asker.disk, partial).await?;
            Ok(match state.length.or(state.completed) {
                Some(length) => answer.with("Upload-Length", length.to_string()),
                None => answer,
            })
        }
    }
}

/// Appends to an upload (section 4.4 of the draft).
async fn patch(call: &mut Call, act: &Act, turn: Turn, id: PartialId) -> Result<Answer, Refusal> {
    let media = call.request.header("Content-Type").unwrap_or_default();
    let media = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if !media.eq_ignore_ascii_case(PARTIAL_UPLOAD) {
        return Ok(Answer::new(415).with("Accept-Patch", PARTIAL_UPLOAD));
    }
    let headers = headers(&call.request);
    let (Some(is_whole), Some(offset)) = (headers.complete, headers.offset) else {
        return Err(Outcome::BadHeader.into());
    };
    let expected = digests(&call.request).map_err(|_| Outcome::BadHeader)?;
    let Some(mut partial) = open(call, act, id).await? else {
        // The upload is complete, but the client may have lost that response.
        return Ok(Answer::new(400).with("Upload-Complete", complete(true)));
    };
    if offset != partial.bytes() {
        let mismatch = Problem::MismatchingOffset { expected: partial.bytes(), provided: offset };
        let answer = problem(mismatch).with("Upload-Offset", partial.bytes().to_string());
        close(&act.asker.disk, partial).await?;
        return Ok(answer);
    }
    let length = headers
        .content_length(offset, call.body.length())
        .and_then(|length| agree(partial.state().length, length));
    let Ok(length) = length else {
        close(&act.asker.disk, partial).await?;
        return Ok(problem(Problem::InconsistentLength));
    };
    let partial = act
        .run_on(move |_| {
            partial.set_length(length)?;
            Ok(partial)
        })
        .await?;
    match append(call, turn, partial, is_whole, expected).await? {
        Appended::Complete(answer) => Ok(answer),
        Appended::Part(offset) => Ok(Answer::new(204)
            .with("Upload-Complete", complete(false))
            .with("Upload-Offset", offset.to_string())
            .with("Upload-Limit", limit(call, call.area.plan.upload_expiry.0 / 1_000))),
    }
}

/// Opens an upload once no other request works on it; `None` if it is complete.
async fn open(call: &Call, act: &Act, id: PartialId) -> Result<Option<Partial>, Refusal> {
    let durability = call.area.durability();
    let until = Instant::now() + PATIENCE;
    loop {
        let opened = act
            .run_on(move |act| match Partial::open(act.tree(), id, durability) {
                Err(StorageError::NotFound) if act.tree().partial_state(id)?.completed.is_some() => {
                    Ok(Ok(None))
                }
                opened => Ok(opened.map(Some)),
            })
            .await?;
        match opened {
            Err(StorageError::Busy) if Instant::now() < until => sleep_until(Instant::now() + AGAIN).await,
            opened => return Ok(opened?),
        }
    }
}

/// Result of appending a body to an upload.
enum Appended {
    /// The upload is complete. Contains the final response.
    Complete(Answer),
    /// More data must follow, from this offset.
    Part(u64),
}

/// Receives the body of a request, and completes the upload if it is the last part.
async fn append(
    call: &mut Call,
    mut turn: Turn,
    partial: Partial,
    is_whole: bool,
    expected: Expected,
) -> Result<Appended, Refusal> {
    let (mut state, first, id) = (partial.state().clone(), partial.bytes(), partial.id());
    // The digests of the whole file in this request count if it is the last part.
    state.expect(&expected.representation);
    let area = Arc::clone(&call.area);
    let (algorithms, durability) = (area.plan.checksums.clone(), area.durability());
    let act = Act::of(call)?;
    let mut upload = act
        .run_on(move |act| {
            Upload::resume(partial, &algorithms).map_err(|error| {
                if first == 0 {
                    // The client does not know of this upload yet. If it cannot be removed now, it expires.
                    let _ = Partial::open(act.tree(), id, Durability::None).and_then(Partial::cancel);
                }
                error.into()
            })
        })
        .await?;
    upload.expect_received(expected.content);
    let keeping = Keeping { durability, expires_s: expiry(call), began: std::time::Instant::now() };
    let receiving = receive(call, upload, state.length, keeping);
    let received = tokio::select! {
        received = receiving => received,
        // The dropped receiver has kept all bytes that had come.
        _ = turn.came.changed() => return Err(Outcome::Unavailable.into()),
    };
    let kept = match received {
        Ok(kept) => kept,
        Err(Refused::TooLong) => {
            act.run_on(move |act| Ok(Partial::open(act.tree(), id, Durability::None)?.cancel()?)).await?;
            return Ok(Appended::Complete(problem(Problem::InconsistentLength)));
        }
        Err(Refused::Other(refusal)) => return Err(refusal),
    };
    // An upload whose last body was too short is not over; the rest may still come.
    let is_short = state.length.is_some_and(|length| length != kept.length());
    let is_last = is_whole && !is_short;
    let digests = state.digests();
    let settled = act.run_on(move |_| {
        let mut upload = kept.take()?;
        if let Err(error) = upload.verify_received() {
            upload.roll_back(first)?;
            return Err(error.into());
        }
        // Reading the file for its digests may take so long that the client gives up.
        if !is_last || upload.reads_back(&digests) {
            upload.settle(durability, keeping.expires_s())?;
        }
        Ok(upload)
    });
    let upload = settled.await?;
    let offset = upload.length();
    if !is_last {
        close(&act.asker.disk, upload).await?;
        return Ok(if is_whole {
            Appended::Complete(problem(Problem::InconsistentLength))
        } else {
            Appended::Part(offset)
        });
    }
    let answer = conclude(call, &act, upload, state, id).await;
    Ok(Appended::Complete(answer))
}

/// Completes an upload as the original PUT would have done.
async fn conclude(call: &Call, act: &Act, upload: Upload, state: PartialState, id: PartialId) -> Answer {
    let durability = call.area.durability();
    let expires_s = call.now_s.saturating_add(COMPLETED_S);
    let given_up = GivenUp::default();
    let cancelled = Arc::clone(&given_up.0);
    let is_long = upload.reads_back(&state.digests());
    let job = move |act: &Act| Ok(commit(act, upload, &state, durability, (id, expires_s), &cancelled));
    let committed = if is_long { act.run_long_on(job).await } else { act.run_on(job).await };
    match committed.unwrap_or_else(|refusal| Err((refusal, false))) {
        Ok(committed) => confirm(&committed).with("Upload-Complete", complete(true)),
        Err((refusal, is_over)) => {
            refusal.answer(call.area.offer(), &call.request).with("Upload-Complete", complete(is_over))
        }
    }
}

/// Publishes the upload on a disk thread. An error comes with a flag: true if the upload is over, because
/// resuming would not help.
fn commit(
    act: &Act,
    upload: Upload,
    state: &PartialState,
    durability: Durability,
    (id, expires_s): (PartialId, u64),
    cancelled: &AtomicBool,
) -> Result<Committed, (Refusal, bool)> {
    let may_go_on = |error: StorageError| (Refusal::from(error), false);
    let path = &act.place.path;
    let seen = look(act.tree(), path).map_err(may_go_on)?;
    let over = |refusal: Refusal| {
        // If the upload cannot be removed now, it expires.
        let _ = Partial::open(act.tree(), id, Durability::None).and_then(Partial::cancel);
        (refusal, true)
    };
    let expect = match &state.from {
        StartedFrom::Anything => Expectation::Anything,
        StartedFrom::Nothing(_) => Expectation::Nothing,
        StartedFrom::Version(version) => match seen {
            Some(seen) if seen.version() == *version => Expectation::Version(seen),
            _ => {
                drop(upload);
                return Err(over(Outcome::PreconditionFailed.into()));
            }
        },
    };
    let changes = lock::changes(Method::Put, (path, kind(seen.as_ref())), None);
    let digests = state.digests();
    let commit = Commit { durability, expect, digests: &digests, length: state.length };
    let published = upload.prepare_unless(commit, cancelled).map_err(Into::into).and_then(|mut prepared| {
        act.through(&changes, |gate| prepared.publish_through(gate))??;
        // Recorded before the slow steps, so that a client that loses its connection from here on can ask for
        // it.
        let _ = act.tree().complete_partial(id, prepared.size(), expires_s);
        Ok(prepared.finish()?)
    });
    match published {
        Ok(committed) => Ok(committed),
        Err(Refusal::Outcome(Outcome::Exists)) => Err(over(match state.from {
            StartedFrom::Nothing(true) => Outcome::PreconditionFailed.into(),
            _ => Outcome::Forbidden.into(),
        })),
        Err(refusal) => {
            let is_over = matches!(
                refusal,
                Refusal::Outcome(
                    Outcome::DigestMismatch | Outcome::PreconditionFailed | Outcome::PutOnCollection
                )
            );
            Err(if is_over { over(refusal) } else { (refusal, false) })
        }
    }
}

/// Returns the time at which an abandoned upload expires, in seconds since 1970.
fn expiry(call: &Call) -> u64 {
    call.now_s.saturating_add((call.area.plan.upload_expiry.0 / 1_000).max(1))
}

fn problem(problem: Problem) -> Answer {
    Answer::new(problem.status())
        .with("Upload-Complete", complete(false))
        .content(PROBLEM_TYPE, Content::Bytes(problem.document().into_bytes()))
}
