//! Responses of a service.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{FileSource, LocalFuture};

/// Response of a service.
#[derive(Debug)]
pub struct Answer {
    /// Status, 200 to 599.
    pub status: u16,
    /// Header lines, without Date and the lines for framing (Content-Length, Transfer-Encoding, Connection).
    /// A line whose value contains control characters is omitted.
    pub headers: Vec<(&'static str, Value)>,
    /// Body. For a HEAD request it is the body of the GET, which is not sent.
    pub content: Content,
}

/// Value of a header line. Values shared by many responses are not copied.
#[derive(Clone)]
pub struct Value(Held);

/// Storage of a value's bytes.
#[derive(Clone)]
enum Held {
    Static(&'static [u8]),
    Owned(Vec<u8>),
    Shared(Arc<[u8]>),
}

/// Body of a response.
pub enum Content {
    /// No body. The response has a length of 0 if its status permits a body.
    Empty,
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// For HEAD: no body is sent, but the response has this length, as the GET would.
    Length(u64),
    /// Chunks that are produced while they are sent.
    Stream {
        /// Total length in bytes; `None` = unknown before the end.
        length: Option<u64>,
        /// Source of the chunks.
        source: Box<dyn ChunkSource>,
    },
    /// Known parts, mostly of files.
    Parts(Vec<Part>),
}

/// One part of a body.
pub enum Part {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// Bytes of a file.
    File {
        /// Source file.
        file: Rc<dyn FileSource>,
        /// Offset of the first byte.
        offset: u64,
        /// Number of bytes. If the file has become shorter, the response is aborted.
        length: u64,
    },
}

/// Source of chunks that are produced while they are sent.
pub trait ChunkSource {
    /// Returns the next chunk; `None` = the end. An error aborts the response, so that the client does not
    /// take it for complete. An empty chunk is skipped.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>>;
}

impl Answer {
    /// Creates a response without headers and body.
    pub const fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), content: Content::Empty }
    }

    /// Adds a header line.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sets the body and its Content-Type.
    #[must_use]
    pub fn content(self, content_type: impl Into<Value>, content: Content) -> Self {
        let mut answer = self.with("Content-Type", content_type);
        answer.content = content;
        answer
    }

    /// Returns the value of the first line of this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let line = self.headers.iter().find(|(there, _)| there.eq_ignore_ascii_case(name));
        line.map(|(_, value)| &**value)
    }
}

impl Value {
    /// Returns the same value in a form that is cheap to clone.
    #[must_use]
    pub fn shared(self) -> Self {
        match self.0 {
            Held::Owned(bytes) => Self(Held::Shared(bytes.into())),
            held => Self(held),
        }
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Static(bytes) => bytes,
            Held::Owned(bytes) => bytes,
            Held::Shared(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Value").field(&&**self).finish()
    }
}

/// Compares the bytes, whatever their storage.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Value {}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self(Held::Static(text.as_bytes()))
    }
}

impl From<&'static [u8]> for Value {
    fn from(bytes: &'static [u8]) -> Self {
        Self(Held::Static(bytes))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(Held::Owned(text.into_bytes()))
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Held::Owned(bytes))
    }
}

/// Creates a value that many responses share without a copy.
impl From<Arc<[u8]>> for Value {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(Held::Shared(bytes))
    }
}

impl From<Cow<'static, str>> for Value {
    fn from(text: Cow<'static, str>) -> Self {
        match text {
            Cow::Borrowed(text) => text.into(),
            Cow::Owned(text) => text.into(),
        }
    }
}

impl Content {
    /// Returns the length in bytes; `None` = unknown before the end.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Length(length) => Some(*length),
            Self::Stream { length, .. } => *length,
            Self::Parts(parts) => parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.length())),
        }
    }
}

impl Part {
    /// Returns the length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Empty => "Empty",
            Self::Bytes(_) => "Bytes",
            Self::Length(_) => "Length",
            Self::Stream { .. } => "Stream",
            Self::Parts(_) => "Parts",
        };
        f.debug_tuple(kind).field(&self.length()).finish()
    }
}

/// Creates a source that calls `step` for each chunk, with the state that the previous call returned.
pub fn unfold<S, F>(state: S, step: impl FnMut(S) -> F + 'static) -> Box<dyn ChunkSource>
where
    S: 'static,
    F: Future<Output = io::Result<Option<(Vec<u8>, S)>>> + 'static,
{
    Box::new(Unfold { state: Some(state), step, under_way: None })
}

/// A chunk and the state for the next call.
type Step<S> = io::Result<Option<(Vec<u8>, S)>>;

struct Unfold<S, T> {
    state: Option<S>,
    step: T,
    under_way: Option<LocalFuture<Step<S>>>,
}

impl<S, T, F> ChunkSource for Unfold<S, T>
where
    T: FnMut(S) -> F,
    F: Future<Output = io::Result<Option<(Vec<u8>, S)>>> + 'static,
{
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        if self.under_way.is_none() {
            let Some(state) = self.state.take() else { return Poll::Ready(Ok(None)) };
            self.under_way = Some(Box::pin((self.step)(state)));
        }
        let Some(step) = &mut self.under_way else { return Poll::Ready(Ok(None)) };
        let Poll::Ready(made) = step.as_mut().poll(cx) else { return Poll::Pending };
        self.under_way = None;
        Poll::Ready(made.map(|made| {
            made.map(|(piece, state)| {
                self.state = Some(state);
                piece
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn pieces_are_made_one_after_the_other_until_there_is_none() {
        let count_down =
            |left: u8| async move { Ok(if left == 0 { None } else { Some((vec![left], left - 1)) }) };
        let mut source = unfold(3, count_down);
        let mut cx = Context::from_waker(Waker::noop());
        let mut pieces = Vec::new();
        while let Poll::Ready(Ok(Some(piece))) = source.poll_chunk(&mut cx) {
            pieces.extend(piece);
        }
        assert_eq!(pieces, [3, 2, 1]);
        assert!(matches!(source.poll_chunk(&mut cx), Poll::Ready(Ok(None))));
    }

    #[test]
    fn a_shared_value_says_the_same_as_a_copy_of_it_and_is_none() {
        let bytes: Arc<[u8]> = Arc::from(&b"mark"[..]);
        let (shared, copied) = (Value::from(Arc::clone(&bytes)), Value::from(bytes.to_vec()));
        assert_eq!(shared, copied);
        assert_eq!(shared, Value::from("mark"));
        assert_eq!(shared.clone().as_ptr(), bytes.as_ptr());
        assert_ne!(copied.as_ptr(), bytes.as_ptr());
        let shared = copied.shared();
        assert_eq!((&shared, shared.clone().as_ptr()), (&Value::from("mark"), shared.as_ptr()));
    }

    #[test]
    fn the_length_of_an_answer_is_that_of_its_parts() {
        let parts = Content::Parts(vec![Part::Bytes(vec![0; 5]), Part::Bytes(vec![0; 7])]);
        assert_eq!(parts.length(), Some(12));
        assert_eq!(Content::Empty.length(), Some(0));
    }
}
