use std::io;
use std::task::{Context, Poll};

use weir_http::{ChunkError, Dechunker, Framing, TrailerRules};

use super::pace::Halt;
use crate::http::connection::Connection;
use crate::http::outcome::Fault;

/// A body of unknown length is read so much at a time.
const READ_BYTES: usize = 64 * 1024;

/// After so many bytes of a body, framing included, it is the turn of the worker's other tasks.
const TURN_BYTES: u64 = 512 * 1024;
/// The same for a chunked body, each byte of which is looked at: its data may be a small part of it.
const CHUNKED_TURN_BYTES: u64 = 64 * 1024;

/// The same for reads that bring something: one may have decrypted thousands of TLS records with a byte of data each.
const TURN_READS: u32 = 8;

/// The rest of a body that nobody wants is read and thrown away if it is no longer than this; else the connection ends.
const DRAIN_BYTES_MAX: u64 = 64 * 1024;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A request's body on its way in. What was read and not yet taken is in the connection, pipelined requests behind it.
#[derive(Debug)]
pub(super) struct Incoming {
    left: Left,
    length: Option<u64>,
    /// Interim answers that are to be sent before the next read, and how much of them went out.
    interim: Vec<u8>,
    interim_sent: usize,
    /// So much of [`CONTINUE`] is still to be sent before the first read.
    continue_left: usize,
    payload_bytes_max: u64,
    payload_bytes: u64,
    /// Bytes that have come, framing included.
    pub(super) bytes_read: u64,
    /// How many had come when the turn began.
    turn_began_at: u64,
    turn_reads: u32,
    /// What has ended it before its end.
    pub(super) fault: Option<Halt>,
    /// It is broken; `fault` has been told.
    is_broken: bool,
    /// Somebody waits for more of it.
    pub(super) waits: bool,
}

/// What is still to come.
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
            // Requests never end with the connection.
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

    /// One that somebody else has read, so far; the rest of it, if there is one, cannot be had any more.
    pub(super) fn read_already(bytes_read: u64, is_whole: bool) -> Self {
        let left = if is_whole { 0 } else { 1 };
        Self { bytes_read, is_broken: !is_whole, ..Self::new(Framing::Length(left), false, None) }
    }

    /// As the request declares it; `None` = not known before its end.
    pub(super) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Has an interim answer sent before the next read.
    pub(super) fn inform(&mut self, head: &[u8]) {
        self.interim.extend_from_slice(head);
    }

    /// Whether an interim answer has gone out in part: nothing else may follow it.
    pub(super) fn is_informing(&self) -> bool {
        self.interim_sent > 0
    }

    /// Whether all of it was read.
    pub(super) fn is_done(&self) -> bool {
        match &self.left {
            Left::Length(left) => *left == 0,
            Left::Chunked(chunks) => chunks.is_done(),
        }
    }

    /// Whether the rest is surely on its way and so short that reading it costs less than a new connection.
    pub(super) fn is_drainable(&self) -> bool {
        let is_short = matches!(self.left, Left::Length(left) if left <= DRAIN_BYTES_MAX);
        // A client that still waits for 100 may or may not send its body after another answer.
        is_short && self.continue_left == 0 && !self.is_broken
    }

    /// The task that reads the body has its turn: some of it may be read.
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

    /// Reads on; 0 = that was all.
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
                    // Straight to where it is wanted, and never more than is the body's.
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

    /// Sends interim answers.
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

    /// Tells a client that waits for it to go on.
    fn poll_continue(&mut self, cx: &mut Context<'_>, connection: &mut Connection) -> Result<Poll<()>, Halt> {
        if self.continue_left == CONTINUE.len() && !connection.received.is_empty() {
            // It has not waited.
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

    /// Moves what was received to `buffer`, its framing taken off; returns how much that is.
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

    /// How many bytes were used up, and how many came out. When none did, all that was received is used up, or it is done:
    /// only then is there something to wait for.
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
                // Framing takes up no room in the buffer: a small one may need several turns for one byte of data.
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

    /// Throws away what has come of a body that nobody read to its end.
    pub(super) fn skip_received(&mut self, connection: &mut Connection) {
        if self.is_done() || connection.received.is_empty() {
            // Most requests have no body: not even the room to throw it away is to be prepared for them.
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
