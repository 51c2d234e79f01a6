use std::fmt;

use super::{Answer, LocalFuture};

/// What a server has said in place of a body: which file its client is to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOrder {
    /// Which one.
    pub target: FileTarget,
    /// Lines of the server's response that belong to the answer.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// The character set of the file, if it is a text; `None` = what its type says.
    pub charset: Option<Vec<u8>>,
}

/// How a server names a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTarget {
    /// By a URI of the pool's internal locations, with its query if it has one.
    Uri(Vec<u8>),
    /// By its path in the file system.
    Path(Vec<u8>),
}

/// What has become of an order.
#[derive(Debug)]
pub struct Delivery {
    /// For the client.
    pub answer: Answer,
    /// Why that is not the file, for the operator; `None` = it is, or the client has asked for something that the file does
    /// not have.
    pub complaint: Option<String>,
}

/// Makes an upload visible.
///
/// # Errors
/// The status that its client gets, and why: it is not visible.
pub type Publish = Box<dyn FnOnce() -> LocalFuture<Result<(), (u16, String)>>>;

/// An upload that is complete, and that nobody sees yet.
pub struct TakenUpload {
    /// Its bytes.
    pub size: u64,
    /// The digests that were computed, as a Digest header has them (RFC 3230); may be empty.
    pub digests: String,
    /// What is left to be done.
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
