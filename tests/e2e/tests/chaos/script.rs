//! Behaviour of the server for one request, encoded in the request's path. Client and server derive the same
//! expectation from it.

use std::fmt;

use crate::random::Random;

/// Response of a server.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) id: u64,
    pub(crate) framing: Framing,
    pub(crate) body: Vec<u8>,
    /// Number of 103 responses before the final one.
    pub(crate) interim: u64,
    /// Set to respond before reading the request body.
    pub(crate) early: bool,
    pub(crate) fault: Fault,
    /// Seed for splitting the response into writes.
    pub(crate) pieces: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length,
    Chunked,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Closes without a response.
    Silent,
    /// Ends within the response, with a FIN or a reset.
    Cut {
        reset: bool,
    },
    /// Sends data that is not HTTP.
    Garbage,
    /// Sends more data than announced.
    Surplus,
    /// Sends `Connection: close` and closes.
    Close,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, framing, body, interim, early, fault, pieces: _ } = self;
        write!(f, "{id}: {framing:?}, {} bytes, {interim} 103s, early {early}, {fault:?}", body.len())
    }
}

impl Script {
    /// Replaces a reset by a FIN, for servers on Unix sockets, which have no reset.
    pub(crate) fn without_reset(mut self) -> Self {
        if self.fault == (Fault::Cut { reset: true }) {
            self.fault = Fault::Cut { reset: false };
        }
        self
    }

    /// Returns the script of `/ID/SEED`.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let (id, seed) = path.strip_prefix('/')?.split_once('/')?;
        Some(Self::new(id.parse().ok()?, seed.parse().ok()?))
    }

    pub(crate) fn new(id: u64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let framing =
            [Framing::Length, Framing::Length, Framing::Chunked, Framing::Close][random.below(4) as usize];
        let fault = match random.below(24) {
            0 => Fault::Silent,
            1 => Fault::Cut { reset: false },
            2 => Fault::Cut { reset: true },
            3 => Fault::Garbage,
            4 | 5 => Fault::Surplus,
            6..=8 => Fault::Close,
            _ => Fault::None,
        };
        // Seed 0 is an ordinary response.
        let fault = if seed == 0 { Fault::None } else { fault };
        let body = Random::bytes(id, random.size());
        let fault = if fault == Fault::Surplus && body.len() > 30_000 { Fault::None } else { fault };
        Self {
            id,
            framing,
            body,
            interim: if random.once_in(6) { random.below(4) } else { 0 },
            early: random.once_in(8),
            fault,
            pieces: random.next(),
        }
    }

    /// Returns the response as sent over the wire.
    pub(crate) fn wire(&self) -> Vec<u8> {
        let mut wire =
            "HTTP/1.1 103 Early Hints\r\nX-Hint: yes\r\n\r\n".repeat(self.interim as usize).into_bytes();
        wire.extend_from_slice(format!("HTTP/1.1 200 OK\r\nX-Id: {}\r\n", self.id).as_bytes());
        if self.fault == Fault::Close {
            wire.extend_from_slice(b"Connection: close\r\n");
        }
        match self.framing {
            Framing::Length => {
                wire.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
                wire.extend_from_slice(&self.body);
            }
            Framing::Close => {
                wire.extend_from_slice(b"\r\n");
                wire.extend_from_slice(&self.body);
            }
            Framing::Chunked => {
                wire.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                wire.extend_from_slice(&chunked(&self.body, self.pieces));
            }
        }
        wire
    }
}

/// Encodes a body in chunks of random sizes.
pub(crate) fn chunked(body: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut chunks = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let count = (1 + random.size()).min(rest.len());
        let (chunk, behind) = rest.split_at(count);
        chunks.push(chunk);
        rest = behind;
    }
    weir_testkit::chunked(&chunks)
}
