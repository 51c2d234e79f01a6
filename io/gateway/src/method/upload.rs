//! Uploads, whatever brings them: what must hold before one begins, how its body is taken, and what its client gets to know.

use weir_access::Action;
use weir_dav::conditional::{Access, Verdict};
use weir_dav::digest::write_digest;
use weir_dav::header::{HeaderError, client_mtime};
use weir_dav::lock::{self, Change};
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_net::PageBuffer;
use weir_net::service::{Answer, Body};
use weir_storage::{Committed, Expectation, Metadata, Upload};

use crate::call::Call;
use crate::dav::Act;
use crate::headers::{Expected, digests, is_conditional, judge, validators, with_validators};
use crate::refusal::Refusal;

/// So much is collected before a thread writes it. While it does, the next portion comes in.
pub(super) const PORTION_BYTES: usize = 512 * 1024;

/// What a PUT or PATCH needs before its body is looked at.
pub(super) struct Start {
    pub(super) method: Method,
    /// The digests that its client has given.
    pub(super) expected: Expected,
    /// What must be there for it to become visible.
    pub(super) expect: Expectation,
    /// The client has said so.
    pub(super) is_conditional: bool,
    pub(super) act: Act,
    pub(super) changes: Vec<(DavPath, Change)>,
    /// The time of last change that its client wants the file to have, in seconds since 1970.
    pub(super) modified_s: Option<i64>,
}

impl Start {
    /// Everything that can refuse it but for what waits for its body.
    pub(super) async fn of(call: &Call) -> Result<Self, Refusal> {
        let place = call.place.clone();
        let method = Method::parse(call.request.method()).unwrap_or(Method::Put);
        let seen = call.metadata_if(&place.path).await;
        // Whether there is something decides what is asked for, and is not told to those who may neither.
        let action = match &seen {
            Ok(Some(_)) => Action::Overwrite,
            _ => Action::Create,
        };
        call.permit(&action, &place)?;
        let seen = seen?;
        if seen.is_some_and(|seen| seen.is_directory()) || place.trailing_slash {
            return Err(Refusal::NotAllowed(Kind::Collection));
        }
        let offer = call.area.offer();
        let kind = seen.as_ref().map_or(Kind::Missing, Metadata::dav_kind);
        if !offer.allows(method, kind) {
            let is_missing = method == Method::Patch && kind == Kind::Missing && !offer.read_only;
            return Err(if is_missing { Outcome::NotFound.into() } else { Refusal::NotAllowed(kind) });
        }
        let known = seen.as_ref().map(validators);
        if judge(&call.request, Access::Other, known.as_ref(), call.now_s) == Verdict::Failed {
            return Err(Outcome::PreconditionFailed.into());
        }
        // Stored as it comes, it would later be told as something that it is not.
        let coding = call.request.header("Content-Encoding");
        if coding.is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
            return Err(Outcome::UnknownBody.into());
        }
        let expected = digests(&call.request).map_err(|_| Outcome::BadHeader)?;
        let modified_s = client_mtime(call.request.header("X-OC-Mtime")).map_err(HeaderError::outcome)?;
        let is_conditional = is_conditional(&call.request);
        let expect = match seen {
            Some(seen) if is_conditional => Expectation::Version(seen),
            None if is_conditional || !call.may(&Action::Overwrite, &place)? => Expectation::Nothing,
            _ => Expectation::Anything,
        };

        let act = Act::of(call)?;
        let changes = lock::changes(method, (&place.path, kind), None);
        Ok(Self { method, expected, expect, is_conditional, act, changes, modified_s })
    }
}

/// Takes the body.
pub(crate) async fn receive(call: &mut Call, upload: Upload) -> Result<Upload, Refusal> {
    let disk = call.disk.clone();
    let capacity = portion_bytes(call.body.length());
    let mut portion = fill(&mut call.body, PageBuffer::zeroed(capacity)).await?;
    let mut upload = upload;
    let mut spare = PageBuffer::default();
    while !portion.is_empty() {
        let is_last = portion.len() < capacity;
        let writing = disk.run_on(move || {
            upload.write(&portion)?;
            Ok((upload, portion))
        });
        if is_last {
            (upload, _) = writing.await?;
            break;
        }
        if spare.is_empty() {
            spare = PageBuffer::zeroed(capacity);
        }
        let (written, filled) = tokio::join!(writing, fill(&mut call.body, spare));
        (upload, spare) = written?;
        portion = filled?;
    }
    Ok(upload)
}

fn portion_bytes(length: Option<u64>) -> usize {
    // One more than all of it, so that the first portion is the last.
    let whole = length.and_then(|length| usize::try_from(length).ok()?.checked_add(1));
    whole.unwrap_or(PORTION_BYTES).clamp(4 * 1024, PORTION_BYTES)
}

/// Fills a buffer from the body; it comes back shorter at the body's end.
async fn fill(body: &mut Body, mut buffer: PageBuffer) -> Result<PageBuffer, Refusal> {
    let mut filled = 0;
    while filled < buffer.len() {
        match body.read(&mut buffer[filled..]).await {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(_) => return Err(Refusal::Body),
        }
    }
    buffer.truncate(filled);
    Ok(buffer)
}

/// What the client is told of its upload: enough to know it again.
pub(crate) fn confirm(committed: &Committed) -> Answer {
    let Committed { metadata, created, digests } = committed;
    let status = if *created { Outcome::Created.status() } else { Outcome::Replaced.status() };
    let answer = with_validators(Answer::new(status), &validators(metadata));
    match digests.as_slice() {
        [] => answer,
        digests => answer.with("Digest", write_digest(digests)),
    }
}
