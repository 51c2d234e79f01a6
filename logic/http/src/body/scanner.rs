//! The scanner that finds the end of a body.

use super::{ChunkError, ChunkScanner, TrailerRules};
use crate::Framing;
use crate::websocket::FrameScanner;

/// Finds the end of a body with any framing. It is small because each request has two of them, so the larger
/// state of chunks is boxed.
#[derive(Debug, Clone)]
pub enum BodyScanner {
    /// No body, or no more bytes of it.
    None,
    /// A body with this number of remaining bytes.
    Length(u64),
    /// A chunked body.
    Chunked(Box<ChunkScanner>),
    /// A body that ends with the connection.
    UntilClose,
    /// One direction of a WebSocket connection, whose frame boundaries are tracked.
    WebSocket(Box<FrameScanner>),
}

impl BodyScanner {
    /// Creates a scanner for the start of a body.
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::None => Self::None,
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Box::default()),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    /// Creates a scanner for the start of a response body, whose chunks may have extensions
    /// ([`ChunkScanner::of_response`]).
    pub fn of_response(framing: Framing) -> Self {
        match framing {
            Framing::Chunked => Self::Chunked(Box::new(ChunkScanner::of_response())),
            framing => Self::new(framing),
        }
    }

    /// Creates a scanner for the start of a body that goes to a server; `rules` forbid additional trailers.
    pub fn with_trailers(framing: Framing, rules: &TrailerRules) -> Self {
        match framing {
            Framing::Chunked => Self::Chunked(Box::new(ChunkScanner::with_trailers(rules))),
            framing => Self::new(framing),
        }
    }

    /// Creates a scanner for one direction of a connection that has switched to this protocol.
    pub fn of_upgrade(protocol: &[u8]) -> Self {
        match protocol.trim_ascii().eq_ignore_ascii_case(b"websocket") {
            true => Self::WebSocket(Box::default()),
            false => Self::UntilClose,
        }
    }

    /// Returns the frame scanner of a WebSocket direction.
    pub fn frames(&self) -> Option<&FrameScanner> {
        match self {
            Self::WebSocket(frames) => Some(frames),
            _ => None,
        }
    }

    /// Scans the next bytes. Returns the number of `bytes` that belong to the body, with the framing.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, ChunkError> {
        match self {
            Self::None => Ok(0),
            Self::Length(left) => {
                let taken = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                Ok(taken)
            }
            Self::Chunked(scanner) => scanner.feed(bytes),
            Self::UntilClose => Ok(bytes.len()),
            Self::WebSocket(frames) => {
                frames.feed(bytes);
                Ok(bytes.len())
            }
        }
    }

    /// Returns the last fed bytes of the body without chunk extensions and padding
    /// ([`ChunkScanner::canonical`]); `None` = unchanged.
    #[inline]
    pub fn canonical(&self, fed: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Chunked(scanner) => scanner.canonical(fed),
            Self::None | Self::Length(_) | Self::UntilClose | Self::WebSocket(_) => None,
        }
    }

    /// Returns true after the last byte of the body; never true if only the end of the connection ends the
    /// body.
    #[inline]
    pub fn is_done(&self) -> bool {
        match self {
            Self::None => true,
            Self::Length(left) => *left == 0,
            Self::Chunked(scanner) => scanner.is_done(),
            Self::UntilClose | Self::WebSocket(_) => false,
        }
    }

    /// Returns true if the body is complete when the connection ends now.
    pub fn may_end_here(&self) -> bool {
        self.is_done() || matches!(self, Self::UntilClose | Self::WebSocket(_))
    }

    /// Returns the number of remaining bytes, if it is known. The caller may move these without reading them
    /// ([`Self::skip`]).
    #[inline]
    pub fn remaining_exact(&self) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Length(left) => Some(*left),
            Self::Chunked(_) | Self::UntilClose | Self::WebSocket(_) => None,
        }
    }

    /// Returns the number of bytes that the caller may move now without reading them: the rest of the body,
    /// or of the current chunk or frame.
    pub fn unread_max(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Length(left) => *left,
            Self::Chunked(scanner) => scanner.data_left(),
            Self::UntilClose => u64::MAX,
            Self::WebSocket(frames) => frames.unread_max(),
        }
    }

    /// Counts `bytes` that the caller has moved without reading, at most [`Self::unread_max`].
    pub fn skip(&mut self, bytes: u64) {
        match self {
            Self::None | Self::UntilClose => {}
            Self::Length(left) => *left = left.saturating_sub(bytes),
            Self::Chunked(scanner) => scanner.skip(bytes),
            Self::WebSocket(frames) => frames.skip(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scanner_is_two_words_whatever_chunks_need() {
        assert_eq!(size_of::<BodyScanner>(), 16);
    }

    #[test]
    fn frames_are_looked_for_after_an_upgrade_to_websocket_alone() {
        for (protocol, has_frames) in
            [("websocket", true), (" WebSocket ", true), ("h2c", false), ("", false)]
        {
            let scanner = BodyScanner::of_upgrade(protocol.as_bytes());
            assert_eq!(scanner.frames().is_some(), has_frames, "{protocol:?}");
            assert!(!scanner.is_done() && scanner.may_end_here() && scanner.remaining_exact().is_none());
        }
    }
}
