//! Files that servers name in their responses.

use std::fmt;

use super::{Answer, LocalFuture};

/// Instruction of a server to send its client a file in place of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOrder {
    /// File to send.
    pub target: FileTarget,
    /// Lines of the server's response that the client gets.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// Character set of the file if it is a text; `None` = according to its type.
    pub charset: Option<Vec<u8>>,
}

/// Name of a file, as a server gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTarget {
    /// URI in the pool's internal locations, with its query if it has one.
    Uri(Vec<u8>),
    /// Path in the file system.
    Path(Vec<u8>),
}

/// Result of a file order.
#[derive(Debug)]
pub struct Delivery {
    /// Response for the client.
    pub answer: Answer,
    /// Reason for the operator if the response is not the file. `None` = it is the file, or the client
    /// requested a part that the file does not have.
    pub complaint: Option<String>,
}

/// Makes an upload visible.
///
/// # Errors
/// The status for the client and the reason, if the upload is not visible.
pub type Publish = Box<dyn FnOnce() -> LocalFuture<Result<(), (u16, String)>>>;

/// A complete upload that is not visible yet.
pub struct TakenUpload {
    /// Size in bytes.
    pub size: u64,
    /// Computed digests, in the format of a Digest header (RFC 3230); may be empty.
    pub digests: String,
    /// Last step of the upload.
    pub publish: Publish,
}

impl fmt::Debug for TakenUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TakenUpload")
            .field("size", &self.size)
            .field("digests", &self.digests)
            .finish_non_exhaustive()
    }
}
