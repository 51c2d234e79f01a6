//! PUT of files, and PATCH of parts of files.

use std::sync::Arc;

use weir_dav::lock::Change;
use weir_dav::method::Method;
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::range::{ContentRange, PARTIAL_UPDATE, Position, UpdateRangeError};
use weir_net::service::Answer;
use weir_storage::{Commit, Expectation, Metadata, StorageError, Upload};

use super::digest::GivenUp;
use super::resumable;
use super::upload::{Start, confirm, receive};
use crate::call::Call;
use crate::dav::Act;
use crate::refusal::Refusal;

/// Responds to PUT (RFC 9110 section 9.3.4, RFC 4918 section 9.7). The new content becomes visible only as a
/// whole.
pub(crate) async fn put(call: &mut Call) -> Result<Answer, Refusal> {
    let start = Start::of(call).await?;
    let headers = resumable::headers(&call.request);
    if let Some(is_whole) = headers.complete {
        return resumable::create(call, start, headers, is_whole).await;
    }
    let part = content_range(call)?;
    store(call, start, part).await
}

/// Responds to PATCH of a part of a file, in the form of sabre/dav: X-Update-Range gives the position of the
/// body. Like a PUT with Content-Range, the change becomes visible only as a whole.
pub(crate) async fn patch(call: &mut Call) -> Result<Answer, Refusal> {
    let start = Start::of(call).await?;
    let part = update_range(call)?;
    store(call, start, Some(part)).await
}

/// Receives the body and publishes the file that contains it.
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
        // The file is already longer than the length that the client gave.
        return Err(Outcome::BadContentRange.into());
    }
    let mut upload = upload;
    if let Some(modified_s) = modified_s {
        upload.set_modified_s(modified_s);
    }
    if method == Method::Patch {
        // These digests are of the body, which is no representation of the file (RFC 9530 section 3.1).
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
    // If the client leaves, the file must not be read further for its digests.
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
            // Without this header the client knows that the file has another modification time.
            let accepted = modified_s == Some(committed.metadata.modified.seconds);
            Ok(if accepted { answer.with("X-OC-MTime", "accepted") } else { answer })
        }
        // Another request created the file first.
        Err(StorageError::Exists) if is_conditional => Err(Outcome::PreconditionFailed.into()),
        Err(StorageError::Exists) => Err(Outcome::Forbidden.into()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the expectation for publishing a part: the file from which the rest was copied must still be
/// there. The request may have waited between the first check and that copy, so the first check must still
/// hold.
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
        // The file was created since the check. It must not exist, or may not be overwritten.
        (Some(_), Expectation::Nothing) if is_conditional => Err(Outcome::PreconditionFailed.into()),
        (Some(_), Expectation::Nothing) => Err(Outcome::Forbidden.into()),
        (Some(base), Expectation::Version(_) | Expectation::Anything) => Ok(Expectation::Version(base)),
        // The file was removed since the check.
        (None, Expectation::Version(_)) => Err(Outcome::PreconditionFailed.into()),
        (None, _) if method == Method::Patch => Err(Outcome::NotFound.into()),
        (None, _) => Ok(Expectation::Nothing),
    }
}

/// The position of a partial body in the file.
#[derive(Debug, Clone, Copy)]
struct BodyPart {
    position: Position,
    /// Length of the body in bytes.
    bytes: u64,
    /// Length of the complete file according to the client. This part need not be the last one.
    complete: Option<u64>,
}

/// Parses Content-Range (RFC 9110 section 14.5); `None` means that the body is the whole file.
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

/// Parses X-Update-Range of a PATCH.
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

/// Begins an upload if the locks permit it; they are checked again at the end, because other clients may lock
/// meanwhile. For a part, also returns the metadata of the file that it is put into. `of_part` refuses files
/// for which the part is not intended.
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
                        // If the file was replaced, its length says nothing about the part.
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
    // For a part, the rest of the file is copied first.
    if part.is_some() { act.run_long(begin).await } else { act.run(begin).await }
}
