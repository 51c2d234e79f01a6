//! Response bodies.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

use crate::connection::Control;

/// Size of the pieces of long bodies, in bytes.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// One period of the pattern that `/bytes` sends: byte `i` of a body is byte `i % 64` of this line.
const PATTERN_LINE: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n";

static PATTERN: [u8; PIECE_BYTES] = {
    let mut bytes = [0; PIECE_BYTES];
    let mut i = 0;
    while i < PIECE_BYTES {
        bytes[i] = PATTERN_LINE[i % 64];
        i += 1;
    }
    bytes
};

/// Body of a response.
#[derive(Debug)]
pub(crate) enum OriginBody {
    /// All bytes at once.
    Whole(Option<Bytes>),
    /// `left` more bytes of the pattern. The response declares their number if `sized`.
    Pattern { left: u64, sized: bool },
    /// Pieces that a task sends, of `length` bytes in all if known.
    Fed { pieces: mpsc::Receiver<Bytes>, length: Option<u64> },
    /// A body that is declared as `length` bytes, sends less and then fails. `control` decides how the
    /// connection ends.
    Broken { piece: Option<Bytes>, length: u64, control: Arc<Control>, flushes: Option<u64> },
}

/// Error at the end of a [`OriginBody::Broken`], which makes hyper drop the connection.
#[derive(Debug)]
pub(crate) struct Fault;

impl OriginBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

/// Returns the first `count` bytes of the pattern, at most [`PIECE_BYTES`].
pub(crate) fn pattern(count: usize) -> Bytes {
    Bytes::from_static(&PATTERN[..count.min(PIECE_BYTES)])
}

/// Returns `count` bytes of a body from its byte `at` on, or fewer where a piece has fewer.
pub(crate) fn pattern_from(at: u64, count: usize) -> Bytes {
    let begin = usize::try_from(at % PATTERN_LINE.len() as u64).unwrap_or(0);
    Bytes::from_static(&PATTERN[begin..PIECE_BYTES.min(begin + count)])
}

impl Body for OriginBody {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pattern { left: 0, .. } => Poll::Ready(None),
            Self::Pattern { left, .. } => {
                let piece = pattern(usize::try_from(*left).unwrap_or(PIECE_BYTES));
                *left -= piece.len() as u64;
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Self::Fed { pieces, .. } => {
                pieces.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
            Self::Broken { piece, control, flushes, .. } => {
                if let Some(piece) = piece.take() {
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                let flushes = *flushes.get_or_insert_with(|| control.flushes());
                ready!(control.poll_flushed_since(flushes, context));
                Poll::Ready(Some(Err(Fault)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None) | Self::Pattern { left: 0, sized: true })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Pattern { left, sized: true } => SizeHint::with_exact(*left),
            Self::Fed { length: Some(length), .. } | Self::Broken { length, .. } => {
                SizeHint::with_exact(*length)
            }
            Self::Pattern { sized: false, .. } | Self::Fed { length: None, .. } => SizeHint::default(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fault that was asked for")
    }
}

impl std::error::Error for Fault {}
