//! Response bodies.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

use crate::connection::Control;

/// The pieces that long bodies are sent in, in bytes.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// One period of what `/bytes` sends: byte `i` of a body is byte `i % 64` of this line.
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

/// A response body.
#[derive(Debug)]
pub(crate) enum OriginBody {
    /// All of it is here.
    Whole(Option<Bytes>),
    /// `left` bytes of the pattern; their number is told in advance if `sized`.
    Pattern { left: u64, sized: bool },
    /// What a task sends, of `length` bytes if that is known.
    Fed { pieces: mpsc::Receiver<Bytes>, length: Option<u64> },
    /// Says `length`, sends less and then fails; `control` has been told how.
    Broken { piece: Option<Bytes>, length: u64, control: Arc<Control>, flushes: Option<u64> },
}

/// The end of a [`OriginBody::Broken`], which makes hyper drop the connection.
#[derive(Debug)]
pub(crate) struct Fault;

impl OriginBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

/// The `count` (at most [`PIECE_BYTES`]) first bytes of the pattern.
pub(crate) fn pattern(count: usize) -> Bytes {
    Bytes::from_static(&PATTERN[..count.min(PIECE_BYTES)])
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
