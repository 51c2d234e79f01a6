//! Decoder of chunked bodies.

use super::{ChunkError, ChunkScanner, TrailerRules};

/// Extracts the data of a chunked body for clients that support only HTTP/1.0. Drops trailers.
#[derive(Debug, Clone, Default)]
pub struct Dechunker {
    scanner: ChunkScanner,
}

impl Dechunker {
    /// Creates a decoder for the start of a body.
    pub const fn new() -> Self {
        Self { scanner: ChunkScanner::new() }
    }

    /// Creates a decoder for the start of a request body; `rules` forbid additional trailers.
    pub fn with_trailers(rules: &TrailerRules) -> Self {
        Self { scanner: ChunkScanner::with_trailers(rules) }
    }

    /// Creates a decoder for the start of a response body, whose chunks may have extensions
    /// ([`ChunkScanner::of_response`]).
    pub const fn of_response() -> Self {
        Self { scanner: ChunkScanner::of_response() }
    }

    /// Scans the next bytes and passes their pieces of data to `data`. Returns the number of `bytes` that
    /// belong to the body, with the framing.
    pub fn feed<'a>(&mut self, bytes: &'a [u8], data: impl FnMut(&'a [u8])) -> Result<usize, ChunkError> {
        self.scanner.advance(bytes, data)
    }

    /// Returns true after the last byte of the body.
    pub fn is_done(&self) -> bool {
        self.scanner.is_done()
    }
}
