use std::sync::Arc;

use weir_access::Action;
use weir_dav::conditional::{Access, Verdict};
use weir_dav::digest::write_digest;
use weir_dav::header::{HeaderError, client_mtime};
use weir_dav::lock::{self, Change};
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::range::{ContentRange, PARTIAL_UPDATE, Position, UpdateRangeError};
use weir_net::PageBuffer;
use weir_net::service::{Answer, Body};
use weir_storage::{Commit, Committed, Expectation, Metadata, StorageError, Upload};

use super::digest::GivenUp;
use super::resumable;
use crate::call::Call;
use crate::dav::Act;
use crate::headers::{Expected, digests, is_conditional, judge, validators, with_validators};
use crate::refusal::Refusal;

/// So much is collected before a thread writes it. While it does, the next portion comes in.
pub(super) const PORTION_BYTES: usize = 512 * 1024;

/// PUT (RFC 9110 section 9.3.4, RFC 4918 section 9.7): the new content becomes visible as a whole, or not at all.
pub(super) async fn put(call: &mut Call) -> Result<Answer, Refusal> {
    let start = Start::of(call).await?;
    let headers = resumable::headers(&call.request);
    if let Some(is_whole) = headers.complete {
        return resumable::create(call, start, headers, is_whole).await;
    }
    let part = content_range(call)?;
    store(call, start, part).await
}

/// PATCH of a part of a file, in the way of sabre/dav: the header X-Update-Range says where the body belongs. Like the part that a PUT
/// brings it becomes visible as a whole, or not at all.
pub(super) async fn patch(call: &mut Call) -> Result<Answer, Refusal> {
    let start = Start::of(call).await?;
    let part = update_range(call)?;
    store(call, start, Some(part)).await
}

/// Takes the body, and makes what it is, or what it is a part of, visible.
async fn store(call: &mut Call, start: Start, part: Option<BodyPart>) -> Result<Answer, Refusal> {
    let Start { method, mut expected, expect, is_conditional, act, changes, modified_s } = start;
    let of_part = move |base| expect_of_part(method, base, expect, is_conditional);
    let (upload, base) = begin(call, &act, changes.clone(), part, of_part).await?;
    let expect = match part {
        Some(_) => of_part(base)?,
        None => expect,
    };
    if let Some(part) = part
        && part.complete.is_some_and(|complete| complete < base.map_or(0, |base| base.size))
    {
        // The file is longer already than the client takes it for.
        return Err(Outcome::BadContentRange.into());
    }
    let mut upload = upload;
    if let Some(modified_s) = modified_s {
        upload.set_modified_s(modified_s);
    }
    if method == Method::Patch {
        // They are of the body, which is no representation of the file (RFC 9530 section 3.1).
        upload.expect_received(std::mem::take(&mut expected.representation));
    }
    match part {
        Some(_) => upload.expect_received(expected.content),
        // A whole body without Content-Encoding is its own representation.
        None => expected.representation.extend(expected.content),
    }
    let expected = expected.representation;
    let upload = receive(call, upload).await?;
    let length = part.map(|part| part.bytes).or(call.body.length());
    let durability = call.area.durability();
    // A client that is gone wants nobody to read on for its digests.
    let given_up = GivenUp::default();
    let cancelled = Arc::clone(&given_up.0);
    let is_long = upload.reads_back(&expected);
    let commit = move |act: &Act| {
        let commit = Commit { durability, expect, digests: &expected, length };
        let mut prepared = match upload.prepare_unless(commit, &cancelled) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(error)),
        };
        let published = act.through(&changes, |gate| prepared.publish_through(gate))?;
        Ok(published.and_then(|()| prepared.finish()))
    };
    let committed = if is_long { act.run_long_on(commit).await? } else { act.run_on(commit).await? };
    match committed {
        Ok(committed) => {
            let answer = confirm(&committed);
            // Its absence tells a client that the file has another time.
            let accepted = modified_s == Some(committed.metadata.modified.seconds);
            Ok(if accepted { answer.with("X-OC-MTime", "accepted") } else { answer })
        }
        // Somebody else was faster.
        Err(StorageError::Exists) if is_conditional => Err(Outcome::PreconditionFailed.into()),
        Err(StorageError::Exists) => Err(Outcome::Forbidden.into()),
        Err(error) => Err(error.into()),
    }
}

/// What must be there for a part to become visible: the file that the rest is from. Between the judgement of the request and the
/// look at that file it may have waited; so what was judged still counts.
fn expect_of_part(
    method: Method,
    base: Option<Metadata>,
    judged: Expectation,
    is_conditional: bool,
) -> Result<Expectation, Refusal> {
    match (base, judged) {
        (Some(base), Expectation::Version(seen)) if !base.is_same_version(&seen) => {
            Err(Outcome::PreconditionFailed.into())
        }
        // It has come since, and must not be there, or may not be overwritten.
        (Some(_), Expectation::Nothing) if is_conditional => Err(Outcome::PreconditionFailed.into()),
        (Some(_), Expectation::Nothing) => Err(Outcome::Forbidden.into()),
        (Some(base), Expectation::Version(_) | Expectation::Anything) => Ok(Expectation::Version(base)),
        // It has gone since.
        (None, Expectation::Version(_)) => Err(Outcome::PreconditionFailed.into()),
        (None, _) if method == Method::Patch => Err(Outcome::NotFound.into()),
        (None, _) => Ok(Expectation::Nothing),
    }
}

/// What a PUT or PATCH needs before its body is looked at.
pub(super) struct Start {
    method: Method,
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
    async fn of(call: &Call) -> Result<Self, Refusal> {
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

/// The part of a file that a body is.
#[derive(Debug, Clone, Copy)]
struct BodyPart {
    position: Position,
    /// How long it is.
    bytes: u64,
    /// How long the file will be when all parts have come, by the client's word: this one need not be the last.
    complete: Option<u64>,
}

/// The part of the file that the body is (RFC 9110 section 14.5); `None` = it is all of it.
fn content_range(call: &Call) -> Result<Option<BodyPart>, Refusal> {
    let Some(text) = call.request.header("Content-Range") else { return Ok(None) };
    match ContentRange::parse(text) {
        Ok(ContentRange::Part { range, complete_bytes })
            if call.body.length().is_none_or(|length| length == range.bytes()) =>
        {
            let (position, bytes) = (Position::At(range.first()), range.bytes());
            Ok(Some(BodyPart { position, bytes, complete: complete_bytes }))
        }
        _ => Err(Outcome::BadContentRange.into()),
    }
}

/// The same of a PATCH.
fn update_range(call: &Call) -> Result<BodyPart, Refusal> {
    let content_type = call.request.header("Content-Type").unwrap_or_default();
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if !essence.eq_ignore_ascii_case(PARTIAL_UPDATE.as_bytes()) {
        return Err(Outcome::UnknownBody.into());
    }
    let bytes = call.body.length().ok_or(Outcome::LengthRequired)?;
    let header = call.request.header("X-Update-Range").ok_or(Outcome::BadHeader)?;
    match Position::parse_update_range(header, bytes) {
        Ok(position) => Ok(BodyPart { position, bytes, complete: None }),
        Err(UpdateRangeError::Malformed) => Err(Outcome::BadHeader.into()),
        Err(UpdateRangeError::Length) => Err(Outcome::RangeNotSatisfiable.into()),
    }
}

/// Begins, if the terms of the request hold; they are judged again at the end, because others may lock meanwhile. Tells
/// also which file a part is put into. `of_part` refuses files that it is not meant for.
async fn begin(
    call: &Call,
    act: &Act,
    changes: Vec<(DavPath, Change)>,
    part: Option<BodyPart>,
    of_part: impl FnOnce(Option<Metadata>) -> Result<Expectation, Refusal> + Send + 'static,
) -> Result<(Upload, Option<Metadata>), Refusal> {
    let (algorithms, length) = (call.area.plan.checksums.clone(), call.body.length());
    let given_up = GivenUp::default();
    let cancelled = Arc::clone(&given_up.0);
    let begin = move |act: &Act| {
        act.locked(&changes, |_| Ok(()))?;
        let (tree, disk, path) = (act.tree(), &act.asker.disk, &act.place.path);
        Ok(match part {
            None => (Upload::begin(tree, disk, path, &algorithms, length)?, None),
            Some(BodyPart { position, .. }) => {
                match Upload::begin_part(tree, disk, path, &algorithms, position, &cancelled) {
                    Err(StorageError::Gap) => {
                        // Of another file than the one that is meant, the length says nothing.
                        of_part(act.look()?)?;
                        return Err(match position {
                            Position::BeforeEnd(_) => Outcome::RangeNotSatisfiable.into(),
                            _ => StorageError::Gap.into(),
                        });
                    }
                    begun => begun?,
                }
            }
        })
    };
    // A part comes into a copy of the rest.
    if part.is_some() { act.run_long(begin).await } else { act.run(begin).await }
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
pub(super) fn confirm(committed: &Committed) -> Answer {
    let Committed { metadata, created, digests } = committed;
    let status = if *created { Outcome::Created.status() } else { Outcome::Replaced.status() };
    let answer = with_validators(Answer::new(status), &validators(metadata));
    match digests.as_slice() {
        [] => answer,
        digests => answer.with("Digest", write_digest(digests)),
    }
}
