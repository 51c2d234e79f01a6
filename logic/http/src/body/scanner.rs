use super::{ChunkError, ChunkScanner, TrailerRules};
use crate::Framing;
use crate::websocket::FrameScanner;

/// Finds the end of a body, whatever its framing. Small, for each request has two of them; what chunks need is large, and is elsewhere.
#[derive(Debug, Clone)]
pub enum BodyScanner {
    /// No body, or no more of it.
    None,
    /// So many bytes are still to come.
    Length(u64),
    /// Chunks.
    Chunked(Box<ChunkScanner>),
    /// Until the connection ends.
    UntilClose,
    /// The same, and it is known where WebSocket frames end.
    WebSocket(Box<FrameScanner>),
}

impl BodyScanner {
    /// At the start of a body.
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::None => Self::None,
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Box::default()),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    /// At the start of a response's body, whose chunks may have extensions ([`ChunkScanner::of_response`]).
    pub fn of_response(framing: Framing) -> Self {
        match framing {
            Framing::Chunked => Self::Chunked(Box::new(ChunkScanner::of_response())),
            framing => Self::new(framing),
        }
    }

    /// At the start of a body that goes to a server; `rules` say which trailers it must not have.
    pub fn with_trailers(framing: Framing, rules: &TrailerRules) -> Self {
        match framing {
            Framing::Chunked => Self::Chunked(Box::new(ChunkScanner::with_trailers(rules))),
            framing => Self::new(framing),
        }
    }

    /// At the start of one direction of a connection that has changed to this protocol.
    pub fn of_upgrade(protocol: &[u8]) -> Self {
        match protocol.trim_ascii().eq_ignore_ascii_case(b"websocket") {
            true => Self::WebSocket(Box::default()),
            false => Self::UntilClose,
        }
    }

    /// The frames of the direction, where it has any.
    pub fn frames(&self) -> Option<&FrameScanner> {
        match self {
            Self::WebSocket(frames) => Some(frames),
            _ => None,
        }
    }

    /// Reads on. Returns how many of `bytes` belong to the body, framing included.
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

    /// What is left of `fed`, the bytes of the body that were fed last, without chunk extensions and padding
    /// ([`ChunkScanner::canonical`]); `None` = all of it.
    #[inline]
    pub fn canonical(&self, fed: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Chunked(scanner) => scanner.canonical(fed),
            Self::None | Self::Length(_) | Self::UntilClose | Self::WebSocket(_) => None,
        }
    }

    /// The last byte of the body has been read. Never, if only the connection's end tells.
    #[inline]
    pub fn is_done(&self) -> bool {
        match self {
            Self::None => true,
            Self::Length(left) => *left == 0,
            Self::Chunked(scanner) => scanner.is_done(),
            Self::UntilClose | Self::WebSocket(_) => false,
        }
    }

    /// Whether the body is whole if the connection ends now.
    pub fn may_end_here(&self) -> bool {
        self.is_done() || matches!(self, Self::UntilClose | Self::WebSocket(_))
    }

    /// Bytes still to come, where that is known: they can be moved unread ([`Self::skip`]).
    #[inline]
    pub fn remaining_exact(&self) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Length(left) => Some(*left),
            Self::Chunked(_) | Self::UntilClose | Self::WebSocket(_) => None,
        }
    }

    /// Bytes that can be moved unread now: the rest of the body, or of the chunk or frame that is being read.
    pub fn unread_max(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Length(left) => *left,
            Self::Chunked(scanner) => scanner.data_left(),
            Self::UntilClose => u64::MAX,
            Self::WebSocket(frames) => frames.unread_max(),
        }
    }

    /// Counts `bytes` as read that were moved unread, at most [`Self::unread_max`].
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
