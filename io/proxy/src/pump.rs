//! Moves one body, or one direction of a tunnel, from one stream to another, with back pressure and bounded
//! memory.

mod batch;

use std::fmt;
use std::io;
use std::task::{Context, Poll};

use weir_http::websocket::FrameScanner;
use weir_http::{BodyScanner, ChunkError, Dechunker};
use weir_net::{Pipe, Socket, Stream, poll_splice};

use crate::worker::Worker;
use batch::{NO_BATCH, next_batch};

/// Minimum size for splicing; below it, a copy costs less than the two calls of a splice.
const SPLICE_MIN: u64 = 8 * 1024;
/// Size of one read when copying: large enough to spread the cost of the calls, small enough to stay in the
/// cache.
const COPY_BYTES: usize = 64 * 1024;

/// Number of spliced bytes after which the worker's other tasks run.
const TURN_BYTES: u64 = 512 * 1024;
/// The same limit for copied bytes, which may also be decrypted and encrypted: each takes many times as long.
const COPY_TURN_BYTES: u64 = 64 * 1024;
/// The same limit for the number of reads: one may have decrypted thousands of TLS records with a byte of
/// data each.
const COPY_TURN_READS: u32 = 4;

/// One body, or one direction of a tunnel.
#[derive(Debug)]
pub(crate) struct Pump {
    scanner: BodyScanner,
    /// Boxed, because it is large and rarely used.
    dechunker: Option<Box<Dechunker>>,
    /// Bytes read, but not yet taken by the sink.
    pending: Vec<u8>,
    pending_at: usize,
    /// Maximum number of payload bytes, framing not counted.
    payload_bytes_max: u64,
    pipe: Option<Pipe>,
    /// True if no descriptors were left for a pipe; this body is then copied.
    splice_denied: bool,
    /// Number of bytes from which the source reports input.
    batch: u64,
    /// Number of bytes of the last read from the source.
    last_read: u64,
    /// True if the pump may wait for batches; false once a batch has taken too long.
    may_batch: bool,
    /// True while the sink's kernel holds back bytes to send them together with the first spliced ones.
    sink_holds: bool,
    /// Bytes that the sink has taken and encrypted, and for which its peer has no room yet.
    sink_unsent: usize,
    source_ended: bool,
    /// Bytes read from the source.
    pub(crate) bytes_read: u64,
    /// Bytes that the sink has taken.
    pub(crate) bytes_written: u64,
    /// Bytes read after the end of the body.
    pub(crate) surplus: Vec<u8>,
}

/// Reason why a pump stopped.
#[derive(Debug)]
pub(crate) enum PumpError {
    /// The source failed.
    Source(io::Error),
    /// The source ended before the end of the body.
    Truncated,
    /// The chunked framing of the body is invalid.
    Framing(ChunkError),
    /// The body exceeds its limit; its end was not forwarded.
    TooLarge,
    /// The sink failed.
    Sink(io::Error),
}

impl fmt::Display for PumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(cause) => write!(f, "broken off: {cause}"),
            Self::Truncated => f.write_str("ended before its end"),
            Self::Framing(cause) => write!(f, "malformed: {cause}"),
            Self::TooLarge => f.write_str("larger than it may be"),
            Self::Sink(cause) => write!(f, "not taken: {cause}"),
        }
    }
}

impl Pump {
    /// Creates a pump for a body with this framing; a tunnel uses a scanner that runs until close.
    pub(crate) fn new(scanner: BodyScanner) -> Self {
        Self {
            scanner,
            dechunker: None,
            pending: Vec::new(),
            pending_at: 0,
            payload_bytes_max: u64::MAX,
            pipe: None,
            splice_denied: false,
            batch: NO_BATCH,
            last_read: 0,
            may_batch: false,
            sink_holds: false,
            sink_unsent: 0,
            source_ended: false,
            bytes_read: 0,
            bytes_written: 0,
            surplus: Vec::new(),
        }
    }

    /// Removes the chunked framing, for clients that do not support it.
    pub(crate) fn dechunk(&mut self) {
        self.dechunker = Some(Box::new(Dechunker::of_response()));
    }

    /// Limits the payload. The pump stops with [`PumpError::TooLarge`] before it forwards the end of the
    /// body, so that a sink cannot take a refused body for complete. The caller must check a length that is
    /// too large from the start.
    pub(crate) fn limit(&mut self, payload_bytes_max: u64) {
        self.payload_bytes_max = payload_bytes_max;
    }

    /// Returns true if more payload was read than the limit permits.
    pub(crate) fn is_too_large(&self) -> bool {
        self.payload_bytes() > self.payload_bytes_max
    }

    /// Returns true if the source has delivered the whole body.
    pub(crate) fn is_read(&self) -> bool {
        self.source_ended || self.scanner.is_done()
    }

    /// Returns true if the end of the source was the end of the body.
    pub(crate) fn ended_with_source(&self) -> bool {
        self.source_ended
    }

    /// Returns true if bytes wait for the sink; then the sink is the slow side.
    pub(crate) fn waits_for_sink(&self) -> bool {
        self.has_pending() || self.sink_unsent > 0
    }

    /// Returns the number of bytes that the sink has taken and its peer has not.
    pub(crate) fn sink_unsent(&self) -> usize {
        self.sink_unsent
    }

    /// Returns the WebSocket frames of the bytes from the source, if it sends any.
    pub(crate) fn frames(&self) -> Option<&FrameScanner> {
        self.scanner.frames()
    }

    /// Returns the scanner for the other direction of a tunnel.
    pub(crate) fn other_direction(&self) -> BodyScanner {
        match self.frames() {
            Some(_) => BodyScanner::WebSocket(Box::default()),
            None => BodyScanner::UntilClose,
        }
    }

    /// Returns true if a WebSocket Close may follow the bytes that the sink has taken.
    pub(crate) fn may_close(&self) -> bool {
        !self.has_pending() && self.frames().is_some_and(FrameScanner::may_close)
    }

    fn has_pending(&self) -> bool {
        self.pending_at < self.pending.len() || self.pipe.as_ref().is_some_and(|pipe| !pipe.is_empty())
    }

    /// Returns the number of payload bytes of the body so far, framing not counted.
    pub(crate) fn payload_bytes(&self) -> u64 {
        match &self.scanner {
            BodyScanner::Chunked(chunks) => chunks.payload_bytes(),
            _ => self.bytes_read,
        }
    }

    /// Takes the bytes that came with the head. Those that `bytes_read` counts belong to the body, and the
    /// caller sends them; the rest is surplus. If the body is dechunked or has chunk extensions, returns the
    /// bytes to send instead.
    pub(crate) fn take_first(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, ChunkError> {
        let fed = self.scanner.feed(bytes);
        // The bytes that broke the rules were read, too.
        let taken = fed.inspect_err(|_| self.bytes_read += bytes.len() as u64)?;
        self.bytes_read += taken as u64;
        if taken < bytes.len() {
            self.surplus.extend_from_slice(&bytes[taken..]);
        }
        let Some(dechunker) = &mut self.dechunker else {
            return Ok(self.scanner.canonical(&bytes[..taken]));
        };
        let mut plain = Vec::new();
        dechunker.feed(&bytes[..taken], |data| plain.extend_from_slice(data))?;
        Ok(Some(plain))
    }

    /// Reads at most `room` bytes and appends the part that belongs to the body to `out`; the caller sends
    /// it. Returns `Pending` only if there are no bytes.
    pub(crate) fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Stream,
        worker: &Worker,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<(), PumpError>> {
        let mut scratch = worker.scratch.borrow_mut();
        let window = &mut scratch.body()[..room];
        let bytes = match source.poll_read(cx, window) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(PumpError::Source(error))),
            Poll::Ready(Ok(0)) => return Poll::Ready(self.end_of_source()),
            Poll::Ready(Ok(read)) => &window[..read],
        };
        let before = self.bytes_read;
        let changed = self.take_first(bytes).map_err(PumpError::Framing)?;
        if self.is_too_large() {
            return Poll::Ready(Err(PumpError::TooLarge));
        }
        out.extend_from_slice(changed.as_deref().unwrap_or(&bytes[..(self.bytes_read - before) as usize]));
        Poll::Ready(Ok(()))
    }

    /// Returns the number of bytes still to come, if known.
    pub(crate) fn remaining_exact(&self) -> Option<u64> {
        self.scanner.remaining_exact()
    }

    /// Keeps bytes that the sink had no room for; they are sent first.
    pub(crate) fn keep(&mut self, worker: &Worker, bytes: &[u8]) {
        if self.pending.capacity() == 0 {
            self.pending = worker.buffers.take();
        }
        self.pending.extend_from_slice(bytes);
    }

    /// Takes over bytes that the caller has read; they are sent first.
    pub(crate) fn take_over(&mut self, worker: &Worker, bytes: &[u8]) {
        // A tunnel's bytes do not contain its end, so the result does not matter.
        let _ = self.scanner.feed(bytes);
        self.bytes_read += bytes.len() as u64;
        self.keep(worker, bytes);
    }

    /// Returns true if most of the body can be spliced, provided that both streams can.
    pub(crate) fn is_spliceable(&self) -> bool {
        self.dechunker.is_none() && self.scanner.unread_max() >= SPLICE_MIN
    }

    /// Records that the caller has sent the start of the body with a hint that more follows at once.
    pub(crate) fn sink_holds(&mut self) {
        self.sink_holds = true;
    }

    /// Permits that the source of a large body wakes the task for batches only. The caller must check
    /// [`Pump::is_in_bulk`].
    pub(crate) fn batch(&mut self) {
        self.may_batch = true;
    }

    /// Returns true if the pump may wait for batches from a fast source with a large body.
    #[cfg(test)]
    pub(crate) fn may_batch(&self) -> bool {
        self.may_batch
    }

    /// Returns true while bytes may stay in the source's kernel until a batch is complete. This must not last
    /// long: then call [`Pump::leave_bulk`].
    pub(crate) fn is_in_bulk(&self) -> bool {
        self.batch != NO_BATCH
    }

    /// Stops batching, because a batch was not complete in time: `source` is slow or has paused. From now on
    /// bytes are forwarded as they arrive.
    pub(crate) fn leave_bulk(&mut self, source: &Stream) {
        self.may_batch = false;
        self.choose_batch(source.socket());
    }

    fn choose_batch(&mut self, source: &Socket) {
        let left = self.scanner.remaining_exact().filter(|_| self.may_batch);
        let batch = next_batch(left, self.last_read, self.batch);
        if batch != self.batch {
            self.batch = batch;
            source.tell_of_input_from(u32::try_from(batch).unwrap_or(u32::MAX));
        }
    }

    /// Counts bytes that the caller has sent itself.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes_written += bytes as u64;
    }

    /// Moves as many bytes as possible. Becomes ready when the whole body has gone to the sink.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Stream,
        sink: &mut Stream,
        worker: &Worker,
    ) -> Poll<Result<(), PumpError>> {
        let polled = self.poll_moves(cx, source, sink, worker);
        self.sink_unsent = if polled.is_pending() { sink.unsent_bytes() } else { 0 };
        if std::mem::take(&mut self.sink_holds) {
            sink.socket().push();
        }
        polled
    }

    fn poll_moves(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Stream,
        sink: &mut Stream,
        worker: &Worker,
    ) -> Poll<Result<(), PumpError>> {
        let (turn_began_at, mut reads) = (self.bytes_read, 0);
        loop {
            if self.poll_pending(cx, sink)?.is_pending() {
                return Poll::Pending;
            }
            if self.is_read() && !self.has_pending() {
                return match sink.poll_flush(cx) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(flushed) => {
                        self.release(worker);
                        Poll::Ready(flushed.map_err(PumpError::Sink))
                    }
                };
            }
            let wanted = self.splice_wanted(source, sink);
            let turn_bytes = if wanted.is_some() { TURN_BYTES } else { COPY_TURN_BYTES };
            if self.bytes_read - turn_began_at >= turn_bytes || reads >= COPY_TURN_READS {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let moved = match wanted {
                Some(wanted) => self.poll_splice(cx, source, sink, wanted, worker)?,
                None => {
                    reads += 1;
                    self.poll_copy(cx, source, sink, worker)?
                }
            };
            if moved.is_pending() {
                // Bytes that TLS has encrypted must be sent while this side waits for more.
                if let Poll::Ready(Err(error)) = sink.poll_flush(cx) {
                    return Poll::Ready(Err(PumpError::Sink(error)));
                }
                return Poll::Pending;
            }
        }
    }

    /// Returns the buffers to the worker; a pipe that still holds bytes is closed with them.
    pub(crate) fn release(&mut self, worker: &Worker) {
        worker.buffers.give(std::mem::take(&mut self.pending));
        self.pending_at = 0;
        if let Some(pipe) = self.pipe.take() {
            worker.pipes.give(pipe);
        }
    }

    fn poll_pending(&mut self, cx: &mut Context<'_>, sink: &mut Stream) -> Result<Poll<()>, PumpError> {
        while self.pending_at < self.pending.len() {
            match sink.poll_write(cx, &self.pending[self.pending_at..]) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Ok(0)) => return Err(PumpError::Sink(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => {
                    self.pending_at += written;
                    self.bytes_written += written as u64;
                }
                Poll::Ready(Err(error)) => return Err(PumpError::Sink(error)),
            }
        }
        self.pending.clear();
        self.pending_at = 0;
        Ok(Poll::Ready(()))
    }

    /// Returns the number of bytes that may be spliced now; `None` = copy.
    fn splice_wanted(&self, source: &Stream, sink: &Stream) -> Option<u64> {
        let (_, _) = (source.splice_end()?, sink.splice_end()?);
        if self.splice_denied || self.dechunker.is_some() {
            return None;
        }
        let unread = if self.source_ended { 0 } else { self.scanner.unread_max() };
        let in_flight = self.pipe.as_ref().is_some_and(|pipe| !pipe.is_empty());
        (in_flight || unread >= SPLICE_MIN).then_some(unread)
    }

    fn poll_splice(
        &mut self,
        cx: &mut Context<'_>,
        source: &Stream,
        sink: &Stream,
        wanted: u64,
        worker: &Worker,
    ) -> Result<Poll<()>, PumpError> {
        let (Some(from), Some(to)) = (source.splice_end(), sink.splice_end()) else {
            return Ok(Poll::Pending);
        };
        if self.pipe.is_none() {
            match worker.pipes.take() {
                Ok(pipe) => self.pipe = Some(pipe),
                Err(_) => {
                    self.splice_denied = true;
                    return Ok(Poll::Ready(()));
                }
            }
        }
        let Some(pipe) = self.pipe.as_mut() else { return Ok(Poll::Pending) };
        match poll_splice(cx, from, to, pipe, wanted) {
            Poll::Pending => Ok(Poll::Pending),
            Poll::Ready(Err(error)) if pipe.is_empty() => Err(PumpError::Source(error)),
            Poll::Ready(Err(error)) => Err(PumpError::Sink(error)),
            Poll::Ready(Ok(progress)) => {
                self.scanner.skip(progress.read);
                self.bytes_read += progress.read;
                self.bytes_written += progress.written;
                self.sink_holds &= progress.written == 0;
                if self.is_too_large() {
                    return Err(PumpError::TooLarge);
                }
                if progress.source_ended {
                    self.end_of_source()?;
                }
                if progress.read > 0 {
                    self.last_read = progress.read;
                }
                self.choose_batch(from);
                Ok(Poll::Ready(()))
            }
        }
    }

    fn poll_copy(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Stream,
        sink: &mut Stream,
        worker: &Worker,
    ) -> Result<Poll<()>, PumpError> {
        let mut scratch = worker.scratch.borrow_mut();
        let window = &mut scratch.body()[..COPY_BYTES];
        let read = match source.poll_read(cx, window) {
            Poll::Pending => return Ok(Poll::Pending),
            Poll::Ready(Err(error)) => return Err(PumpError::Source(error)),
            Poll::Ready(Ok(0)) => return self.end_of_source().map(Poll::Ready),
            Poll::Ready(Ok(read)) => &window[..read],
        };
        let taken = self.scanner.feed(read).map_err(PumpError::Framing)?;
        self.bytes_read += taken as u64;
        if self.is_too_large() {
            return Err(PumpError::TooLarge);
        }
        if taken < read.len() {
            self.surplus.extend_from_slice(&read[taken..]);
        }
        let mut rest = &read[..taken];
        let mut changed = Vec::new();
        if let Some(dechunker) = &mut self.dechunker {
            dechunker.feed(rest, |data| changed.extend_from_slice(data)).map_err(PumpError::Framing)?;
            rest = &changed;
        } else if let Some(left) = self.scanner.canonical(rest) {
            changed = left;
            rest = &changed;
        }
        while !rest.is_empty() {
            match sink.poll_write(cx, rest) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    self.bytes_written += written as u64;
                    rest = &rest[written..];
                }
                Poll::Ready(Ok(_)) => return Err(PumpError::Sink(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Err(error)) => return Err(PumpError::Sink(error)),
                Poll::Pending => {
                    self.keep(worker, rest);
                    break;
                }
            }
        }
        Ok(Poll::Ready(()))
    }

    fn end_of_source(&mut self) -> Result<(), PumpError> {
        self.source_ended = true;
        if self.scanner.may_end_here() { Ok(()) } else { Err(PumpError::Truncated) }
    }
}

#[cfg(test)]
mod tests;
