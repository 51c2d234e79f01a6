use super::{ChunkError, ChunkScanner, TrailerRules};

/// Takes the data out of a chunked body, for clients that speak only HTTP/1.0. Trailers are dropped.
#[derive(Debug, Clone, Default)]
pub struct Dechunker {
    scanner: ChunkScanner,
}

impl Dechunker {
    /// At the start of a body.
    pub const fn new() -> Self {
        Self { scanner: ChunkScanner::new() }
    }

    /// At the start of a request's body whose trailers must keep to these rules.
    pub fn with_trailers(rules: &TrailerRules) -> Self {
        Self { scanner: ChunkScanner::with_trailers(rules) }
    }

    /// At the start of a response's body, whose chunks may have extensions ([`ChunkScanner::of_response`]).
    pub const fn of_response() -> Self {
        Self { scanner: ChunkScanner::of_response() }
    }

    /// Reads on, hands out the pieces of data in `bytes`, and returns how many of `bytes` belong to the body, framing
    /// included.
    pub fn feed<'a>(&mut self, bytes: &'a [u8], data: impl FnMut(&'a [u8])) -> Result<usize, ChunkError> {
        self.scanner.advance(bytes, data)
    }

    /// The last byte of the body has been read.
    pub fn is_done(&self) -> bool {
        self.scanner.is_done()
    }
}
