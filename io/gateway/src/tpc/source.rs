//! The remote file of a pull: builds the requests for it and checks that responses belong to it.

use weir_dav::digest::Digest;
use weir_dav::etag::EntityTag;
use weir_dav::range::ContentRange;
use weir_dav::third_party::Verification;
use weir_storage::Upload;

use super::job::Job;
use super::remote::{Lines, line};
use super::verify;
use crate::client::{Fault, Head};

/// A complete download that is not published yet.
pub(super) struct Pulled {
    pub(super) upload: Upload,
    pub(super) length: Option<u64>,
    /// Checksums that the other server reported.
    pub(super) digests: Vec<Digest>,
}

/// Adds headers that ask for checksums, if verification is required.
pub(super) fn with_wishes(job: &Job, mut lines: Lines) -> Lines {
    if job.request.verification == Verification::Required {
        lines.extend(verify::wishes(&job.area().plan.checksums));
    }
    // Ranges, lengths and checksums must be those of the file itself.
    lines.push(line("Accept-Encoding", "identity"));
    lines
}

/// Refuses a body with a content coding.
pub(super) fn identity(job: &Job, head: &Head) -> Result<(), Fault> {
    match head.header("Content-Encoding") {
        Some(coding) if !coding.eq_ignore_ascii_case(b"identity") => {
            let peer = job.request.remote.peer();
            Err(Fault::lasting(format!(
                "{peer}: it sends the file in a Content-Encoding that was not asked for"
            )))
        }
        _ => Ok(()),
    }
}

pub(super) fn strong_etag(head: &Head) -> Option<EntityTag> {
    head.header("ETag").and_then(EntityTag::parse).filter(|etag| !etag.is_weak())
}

/// Returns true if a response has these bytes of a file of this length.
pub(super) fn is_part(head: &Head, first: u64, last: Option<u64>, length: Option<u64>) -> bool {
    match head.header("Content-Range").map(ContentRange::parse) {
        Some(Ok(ContentRange::Part { range, complete_bytes })) => {
            range.first() == first && Some(range.last()) == last && complete_bytes == length
        }
        _ => false,
    }
}
