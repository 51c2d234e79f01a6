//! The body of a request to a service.

use std::io;
use std::task::{Context, Poll};

use weir_http::{ChunkError, Dechunker, Framing, TrailerRules};

use super::pace::Halt;
use crate::http::connection::Connection;
use crate::http::outcome::Fault;

/// Size of one read of a body of unknown length.
const READ_BYTES: usize = 64 * 1024;

/// Number of body bytes, framing included, after which the worker's other tasks run.
const TURN_BYTES: u64 = 512 * 1024;
/// The same limit for a chunked body, every byte of which is examined: the data may be a small part of it.
const CHUNKED_TURN_BYTES: u64 = 64 * 1024;

/// The same limit for the number of successful reads: one may have decrypted thousands of TLS records with a
/// byte of data each.
const TURN_READS: u32 = 8;

/// Maximum size of an unwanted rest that is read and discarded; with a longer one, the connection ends.
const DRAIN_BYTES_MAX: u64 = 64 * 1024;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A request body in progress. Bytes that were read and not taken yet are in the connection, followed by
/// pipelined requests.
#[derive(Debug)]
pub(super) struct Incoming {
    left: Left,
    length: Option<u64>,
    /// Interim responses to send before the next read, and the number of their bytes already sent.
    interim: Vec<u8>,
    interim_sent: usize,
    /// Number of bytes of [`CONTINUE`] still to send before the first read.
    continue_left: usize,
    payload_bytes_max: u64,
    payload_bytes: u64,
    /// Bytes received, framing included.
    pub(super) bytes_read: u64,
    /// Bytes received when the turn began.
    turn_began_at: u64,
    turn_reads: u32,
    /// Reason why the body ended early.
    pub(super) fault: Option<Halt>,
    /// True if the rest of the body cannot be read.
    is_broken: bool,
    /// True while a reader waits for more of it.
    pub(super) waits: bool,
}

/// Part of the body that is still to come.
#[derive(Debug)]
enum Left {
    Length(u64),
    Chunked(Dechunker),
}

impl Incoming {
    pub(super) fn new(framing: Framing, expects_continue: bool, payload_bytes_max: Option<u64>) -> Self {
        let (left, length) = match framing {
            Framing::Length(length) => (Left::Length(length), Some(length)),
            Framing::Chunked => (Left::Chunked(Dechunker::with_trailers(&TrailerRules::no_digests())), None),
            // A request body never ends with the connection.
            Framing::None | Framing::UntilClose => (Left::Length(0), Some(0)),
        };
        Self {
            left,
            length,
            interim: Vec::new(),
            interim_sent: 0,
            continue_left: if expects_continue { CONTINUE.len() } else { 0 },
            payload_bytes_max: payload_bytes_max.unwrap_or(u64::MAX),
            payload_bytes: 0,
            bytes_read: 0,
            turn_began_at: 0,
            turn_reads: 0,
            fault: None,
            is_broken: false,
            waits: false,
        }
    }

    /// Creates a body that was already read elsewhere. If it was not read to its end, its rest is not
    /// available.
    pub(super) fn read_already(bytes_read: u64, is_whole: bool) -> Self {
        let left = if is_whole { 0 } else { 1 };
        Self { bytes_read, is_broken: !is_whole, ..Self::new(Framing::Length(left), false, None) }
    }

    /// Returns the length that the request declares; `None` = not known before its end.
    pub(super) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Queues an interim response to be sent before the next read.
    pub(super) fn inform(&mut self, head: &[u8]) {
        self.interim.extend_from_slice(head);
    }

    /// Returns true if an interim response has been sent in part; nothing else may follow it.
    pub(super) fn is_informing(&self) -> bool {
        self.interim_sent > 0
    }

    /// Returns true if the whole body was read.
    pub(super) fn is_done(&self) -> bool {
        match &self.left {
            Left::Length(left) => *left == 0,
            Left::Chunked(chunks) => chunks.is_done(),
        }
    }

    /// Returns true if the rest is certainly in transit and so short that reading it costs less than a new
    /// connection.
    pub(super) fn is_drainable(&self) -> bool {
        let is_short = matches!(self.left, Left::Length(left) if left <= DRAIN_BYTES_MAX);
        // A client that still waits for 100 may or may not send its body after another response.
        is_short && self.continue_left == 0 && !self.is_broken
    }

    /// Begins a turn of the task that reads the body; the limits of a turn start again.
    pub(super) fn begin_turn(&mut self) {
        (self.turn_began_at, self.turn_reads) = (self.bytes_read, 0);
    }

    fn is_turn_over(&self) -> bool {
        let turn_bytes = match self.left {
            Left::Length(_) => TURN_BYTES,
            Left::Chunked(_) => CHUNKED_TURN_BYTES,
        };
        self.bytes_read - self.turn_began_at >= turn_bytes || self.turn_reads >= TURN_READS
    }

    /// Reads more of the body; 0 = the end.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_broken {
            return Poll::Ready(Err(broken()));
        }
        if self.is_done() {
            return Poll::Ready(Ok(0));
        }
        match self.poll_next(cx, connection, buffer) {
            Poll::Pending => {
                self.waits = true;
                Poll::Pending
            }
            Poll::Ready(Ok(read)) => {
                self.waits = false;
                Poll::Ready(Ok(read))
            }
            Poll::Ready(Err(halt)) => {
                self.waits = false;
                self.is_broken = true;
                self.fault = Some(halt);
                Poll::Ready(Err(broken()))
            }
        }
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        buffer: &mut [u8],
    ) -> Poll<Result<usize, Halt>> {
        if self.poll_inform(cx, connection)?.is_pending() {
            return Poll::Pending;
        }
        if self.poll_continue(cx, connection)?.is_pending() {
            return Poll::Pending;
        }
        loop {
            if self.is_turn_over() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !connection.received.is_empty() {
                let filled = self.take(connection, buffer)?;
                if filled > 0 || self.is_done() {
                    return Poll::Ready(Ok(filled));
                }
            }
            let read = match &self.left {
                Left::Length(left) => {
                    // Reads directly into the target buffer, and never more than belongs to the body.
                    let window = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    connection.stream.poll_read(cx, &mut buffer[..window])
                }
                Left::Chunked(_) => {
                    let mut scratch = connection.worker.scratch.borrow_mut();
                    let read = connection.stream.poll_read(cx, &mut scratch.body()[..READ_BYTES]);
                    if let Poll::Ready(Ok(read)) = read {
                        connection.received.extend_from_slice(&scratch.body()[..read]);
                    }
                    read
                }
            };
            match read {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Poll::Ready(Err(Halt::ClientGone)),
                Poll::Ready(Ok(read)) => {
                    self.turn_reads += 1;
                    if let Left::Length(left) = &mut self.left {
                        *left -= read as u64;
                        self.count(read, read)?;
                        return Poll::Ready(Ok(read));
                    }
                }
            }
        }
    }

    /// Sends the queued interim responses.
    fn poll_inform(&mut self, cx: &mut Context<'_>, connection: &mut Connection) -> Result<Poll<()>, Halt> {
        while let Some(rest) = self.interim.get(self.interim_sent..).filter(|rest| !rest.is_empty()) {
            match connection.stream.poll_write(cx, rest) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Ok(written)) if written > 0 => self.interim_sent += written,
                Poll::Ready(_) => return Err(Halt::ClientGone),
            }
            if let Poll::Ready(Err(_)) = connection.stream.poll_flush(cx) {
                return Err(Halt::ClientGone);
            }
        }
        (self.interim, self.interim_sent) = (Vec::new(), 0);
        Ok(Poll::Ready(()))
    }

    /// Sends 100 Continue to a client that waits for it.
    fn poll_continue(&mut self, cx: &mut Context<'_>, connection: &mut Connection) -> Result<Poll<()>, Halt> {
        if self.continue_left == CONTINUE.len() && !connection.received.is_empty() {
            // The client did not wait for it.
            self.continue_left = 0;
        }
        while self.continue_left > 0 {
            match connection.stream.poll_write(cx, &CONTINUE[CONTINUE.len() - self.continue_left..]) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Ok(written)) if written > 0 => self.continue_left -= written,
                Poll::Ready(_) => return Err(Halt::ClientGone),
            }
            if let Poll::Ready(Err(_)) = connection.stream.poll_flush(cx) {
                return Err(Halt::ClientGone);
            }
        }
        Ok(Poll::Ready(()))
    }

    /// Moves received bytes to `buffer`, without their framing. Returns their number.
    fn take(&mut self, connection: &mut Connection, buffer: &mut [u8]) -> Result<usize, Halt> {
        let (taken, filled) = self.decode(&connection.received, buffer).map_err(|error| {
            self.is_broken = true;
            Halt::Fault(Fault::BodyFraming(error))
        })?;
        if taken == connection.received.len() {
            connection.worker.buffers.give(std::mem::take(&mut connection.received));
        } else {
            connection.received.drain(..taken);
        }
        self.count(taken, filled)?;
        Ok(filled)
    }

    /// Returns how many bytes were consumed and how many were produced. If none were produced, all received
    /// bytes were consumed or the body is done, so the caller can wait for more.
    fn decode(&mut self, received: &[u8], buffer: &mut [u8]) -> Result<(usize, usize), ChunkError> {
        match &mut self.left {
            Left::Length(left) => {
                let window = received.len().min(buffer.len());
                let taken = window.min(usize::try_from(*left).unwrap_or(usize::MAX));
                buffer[..taken].copy_from_slice(&received[..taken]);
                *left -= taken as u64;
                Ok((taken, taken))
            }
            Left::Chunked(chunks) => {
                let (mut taken, mut filled) = (0, 0);
                // Framing takes no room in the buffer, so a small buffer may need several rounds for one byte
                // of data.
                while filled < buffer.len() && taken < received.len() && !chunks.is_done() {
                    let rest = &received[taken..];
                    let window = &rest[..rest.len().min(buffer.len() - filled)];
                    taken += chunks.feed(window, |data| {
                        buffer[filled..filled + data.len()].copy_from_slice(data);
                        filled += data.len();
                    })?;
                }
                Ok((taken, filled))
            }
        }
    }

    fn count(&mut self, read: usize, payload: usize) -> Result<(), Halt> {
        self.bytes_read += read as u64;
        self.payload_bytes += payload as u64;
        if self.payload_bytes > self.payload_bytes_max {
            return Err(Halt::Fault(Fault::BodyTooLarge));
        }
        Ok(())
    }

    /// Discards received bytes of a body that was not read to its end.
    pub(super) fn skip_received(&mut self, connection: &mut Connection) {
        if self.is_done() || connection.received.is_empty() {
            // Most requests have no body and must not pay for the buffer below.
            return;
        }
        let mut nowhere = [0; 4096];
        while !self.is_done() && !self.is_broken && !connection.received.is_empty() {
            if self.take(connection, &mut nowhere).is_err() {
                self.is_broken = true;
            }
        }
    }
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the rest of the body will not come")
}

#[cfg(test)]
mod tests;
