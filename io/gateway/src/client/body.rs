//! Bodies of responses from other servers.

use tokio::task::yield_now;
use weir_http::{Dechunker, Framing};

use super::{Connection, Fault, Head};

/// Number of bytes of a chunked body that are read at a time.
const READ_BYTES: usize = 64 * 1024;

/// Bytes of a body, including framing, after which the task yields to other tasks of the worker.
const TURN_BYTES: usize = 512 * 1024;
/// The same limit for a chunked body, because each of its bytes is parsed.
const CHUNKED_TURN_BYTES: usize = READ_BYTES;
/// Minimum cost of one read. It may have decrypted thousands of TLS records with one byte each.
const READ_COST_BYTES: usize = READ_BYTES;

/// Incoming response body without its framing.
pub(crate) struct Incoming {
    connection: Connection,
    left: Left,
    /// Bytes received since the task last yielded.
    turn_bytes: usize,
}

enum Left {
    Length(u64),
    Chunked {
        chunks: Dechunker,
        /// Decoded data.
        data: Vec<u8>,
        at: usize,
    },
    /// Reads until the server ends TLS.
    UntilClose,
    /// The body is complete.
    Nothing,
}

impl Incoming {
    /// Creates the body of a response. Refuses a body that ends with its connection, except over TLS. Without
    /// TLS, a truncated body cannot be detected.
    pub(crate) fn new(connection: Connection, head: &Head) -> Result<Self, Fault> {
        let left = match head.framing {
            Framing::None => Left::Nothing,
            Framing::Length(length) => Left::Length(length),
            Framing::Chunked => Left::Chunked { chunks: Dechunker::of_response(), data: Vec::new(), at: 0 },
            Framing::UntilClose if connection.is_tls() => Left::UntilClose,
            Framing::UntilClose => return Err(Fault::lasting("the answer does not say where it ends")),
        };
        Ok(Self { connection, left, turn_bytes: 0 })
    }

    /// Returns the number of remaining bytes, if known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.left {
            Left::Length(left) => Some(left),
            Left::Nothing => Some(0),
            Left::Chunked { .. } | Left::UntilClose => None,
        }
    }

    /// Reads into `buffer`, which must not be empty. Returns 0 at the end of the body.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let Self { connection, left, turn_bytes } = self;
        let turn_bytes_max = match left {
            Left::Chunked { .. } => CHUNKED_TURN_BYTES,
            _ => TURN_BYTES,
        };
        if *turn_bytes >= turn_bytes_max {
            *turn_bytes = 0;
            yield_now().await;
        }
        match left {
            Left::Length(0) | Left::Nothing => Ok(0),
            Left::UntilClose => {
                let read = connection.read(buffer).await?;
                if read == 0 {
                    self.left = Left::Nothing;
                }
                *turn_bytes += read.max(READ_COST_BYTES);
                Ok(read)
            }
            Left::Length(left) => {
                let room = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                let read = connection.read(&mut buffer[..room]).await?;
                if read == 0 {
                    return Err(Fault::passing(format!("broken off {left} bytes before the end")));
                }
                *left -= read as u64;
                *turn_bytes += read.max(READ_COST_BYTES);
                Ok(read)
            }
            Left::Chunked { chunks, data, at } => {
                while *at == data.len() {
                    if chunks.is_done() {
                        return Ok(0);
                    }
                    data.clear();
                    *at = 0;
                    let mut raw = vec![0; READ_BYTES];
                    if *turn_bytes >= CHUNKED_TURN_BYTES {
                        *turn_bytes = 0;
                        yield_now().await;
                    }
                    let read = connection.read(&mut raw).await?;
                    *turn_bytes += read.max(READ_COST_BYTES);
                    if read == 0 {
                        return Err(Fault::passing("broken off before the last chunk"));
                    }
                    chunks
                        .feed(&raw[..read], |piece| data.extend_from_slice(piece))
                        .map_err(Fault::lasting)?;
                }
                let taken = (data.len() - *at).min(buffer.len());
                buffer[..taken].copy_from_slice(&data[*at..*at + taken]);
                *at += taken;
                Ok(taken)
            }
        }
    }

    /// Reads the whole body, of at most `bytes_max` bytes.
    pub(crate) async fn read_all(&mut self, bytes_max: usize) -> Result<Vec<u8>, Fault> {
        let mut all = Vec::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match self.read(&mut buffer).await? {
                0 => return Ok(all),
                read if all.len() + read > bytes_max => return Err(Fault::lasting("too long")),
                read => all.extend_from_slice(&buffer[..read]),
            }
        }
    }
}
