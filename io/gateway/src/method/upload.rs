//! Steps that all uploads share: checks before the body, receiving the body, and the response.

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

/// Size of the portions that are written at once. While a thread writes one, the next is received.
pub(super) const PORTION_BYTES: usize = 512 * 1024;

/// Checked preconditions and settings of a PUT or PATCH, before its body is read.
pub(super) struct Start {
    pub(super) method: Method,
    /// Digests that the client gave.
    pub(super) expected: Expected,
    /// State of the target that is required when the upload is published.
    pub(super) expect: Expectation,
    /// Set if the client sent conditions.
    pub(super) is_conditional: bool,
    pub(super) act: Act,
    pub(super) changes: Vec<(DavPath, Change)>,
    /// Modification time that the client wants, in seconds since 1970.
    pub(super) modified_s: Option<i64>,
}

impl Start {
    /// Does all checks that do not depend on the body.
    pub(super) async fn of(call: &Call) -> Result<Self, Refusal> {
        let place = call.place.clone();
        let method = Method::parse(call.request.method()).unwrap_or(Method::Put);
        let seen = call.metadata_if(&place.path).await;
        // The required permission depends on whether the target exists. A client with neither permission must
        // not learn it.
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
        // The encoded bytes would be stored, and later served without their coding.
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

/// Receives the body. Writes one portion while the next arrives.
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
    // One byte more than the whole body, so that the first portion is recognized as the last.
    let whole = length.and_then(|length| usize::try_from(length).ok()?.checked_add(1));
    whole.unwrap_or(PORTION_BYTES).clamp(4 * 1024, PORTION_BYTES)
}

/// Fills a buffer from the body. Returns it shortened at the body's end.
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

/// Builds the response to an upload, with the validators and digests of the file.
pub(crate) fn confirm(committed: &Committed) -> Answer {
    let Committed { metadata, created, digests } = committed;
    let status = if *created { Outcome::Created.status() } else { Outcome::Replaced.status() };
    let answer = with_validators(Answer::new(status), &validators(metadata));
    match digests.as_slice() {
        [] => answer,
        digests => answer.with("Digest", write_digest(digests)),
    }
}
