//! Moves one body, or one direction of a tunnel, from one stream to another, with back pressure and in bounded memory.

mod batch;

use std::fmt;
use std::io;
use std::task::{Context, Poll};

use weir_http::websocket::FrameScanner;
use weir_http::{BodyScanner, ChunkError, Dechunker};
use weir_net::{Pipe, Socket, Stream, poll_splice};

use crate::worker::Worker;
use batch::{NO_BATCH, next_batch};

/// Below this, a copy costs less than the two calls of a splice.
const SPLICE_MIN: u64 = 8 * 1024;
/// One read when copying: large enough to spread the cost of the calls, small enough to stay in the cache.
const COPY_BYTES: usize = 64 * 1024;

/// After so many spliced bytes it is the turn of the worker's other tasks.
const TURN_BYTES: u64 = 512 * 1024;
/// The same for what is copied, and perhaps decrypted and encrypted on the way: a byte of it takes many times as long.
const COPY_TURN_BYTES: u64 = 64 * 1024;
/// The same for reads: one may have decrypted thousands of TLS records with a byte of data each.
const COPY_TURN_READS: u32 = 4;

/// One direction.
#[derive(Debug)]
pub(crate) struct Pump {
    scanner: BodyScanner,
    /// Large, and hardly ever there.
    dechunker: Option<Box<Dechunker>>,
    /// Read, but not yet taken by the sink.
    pending: Vec<u8>,
    pending_at: usize,
    /// More bytes of payload than this are not passed on, framing not counted.
    payload_bytes_max: u64,
    pipe: Option<Pipe>,
    /// No descriptors were left for a pipe: this body is copied.
    splice_denied: bool,
    /// The source tells of nothing less.
    batch: u64,
    /// What was last there to be taken from the source.
    last_read: u64,
    /// Whether batches may be waited for: not once one has taken too long.
    may_batch: bool,
    /// The sink's kernel keeps bytes back that were to go out together with the first spliced ones.
    sink_holds: bool,
    /// Bytes that the sink has taken, and has encrypted, and that its peer has no room for.
    sink_unsent: usize,
    source_ended: bool,
    /// Bytes that came from the source.
    pub(crate) bytes_read: u64,
    /// Bytes that the sink took.
    pub(crate) bytes_written: u64,
    /// Bytes read after the body's end.
    pub(crate) surplus: Vec<u8>,
}

/// Why a pump stopped.
#[derive(Debug)]
pub(crate) enum PumpError {
    /// The source failed.
    Source(io::Error),
    /// The source ended before the body did.
    Truncated,
    /// The body's chunks make no sense.
    Framing(ChunkError),
    /// The body is larger than it may be; its end was not passed on.
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
    /// A pump for a body with this framing; until close for a tunnel.
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

    /// Takes the chunk framing off, for clients that do not know it.
    pub(crate) fn dechunk(&mut self) {
        self.dechunker = Some(Box::new(Dechunker::of_response()));
    }

    /// Stops with [`PumpError::TooLarge`] once there are more bytes than this, before the body's end is passed on: a
    /// sink must not take a body for whole that is refused. What is over the limit from the start is the caller's to see.
    pub(crate) fn limit(&mut self, payload_bytes_max: u64) {
        self.payload_bytes_max = payload_bytes_max;
    }

    /// Whether more was read than may be.
    pub(crate) fn is_too_large(&self) -> bool {
        self.payload_bytes() > self.payload_bytes_max
    }

    /// Whether the source has given all of the body.
    pub(crate) fn is_read(&self) -> bool {
        self.source_ended || self.scanner.is_done()
    }

    /// Whether the end of the source was the end of the body.
    pub(crate) fn ended_with_source(&self) -> bool {
        self.source_ended
    }

    /// Whether bytes wait for the sink: then it is the sink that is slow.
    pub(crate) fn waits_for_sink(&self) -> bool {
        self.has_pending() || self.sink_unsent > 0
    }

    /// Bytes that the sink has taken and its peer has not.
    pub(crate) fn sink_unsent(&self) -> usize {
        self.sink_unsent
    }

    /// The WebSocket frames of what came from the source, if it sends any.
    pub(crate) fn frames(&self) -> Option<&FrameScanner> {
        self.scanner.frames()
    }

    /// What the other direction of a tunnel is read by.
    pub(crate) fn other_direction(&self) -> BodyScanner {
        match self.frames() {
            Some(_) => BodyScanner::WebSocket(Box::default()),
            None => BodyScanner::UntilClose,
        }
    }

    /// Whether a WebSocket Close may follow the bytes that the sink has taken.
    pub(crate) fn may_close(&self) -> bool {
        !self.has_pending() && self.frames().is_some_and(FrameScanner::may_close)
    }

    fn has_pending(&self) -> bool {
        self.pending_at < self.pending.len() || self.pipe.as_ref().is_some_and(|pipe| !pipe.is_empty())
    }

    /// Payload bytes of the body so far, framing not counted.
    pub(crate) fn payload_bytes(&self) -> u64 {
        match &self.scanner {
            BodyScanner::Chunked(chunks) => chunks.payload_bytes(),
            _ => self.bytes_read,
        }
    }

    /// Takes what came with the head: the first `bytes_read` of `bytes` belong to the body, and are the caller's to
    /// send; what follows them is surplus. If the body is dechunked, or has chunk extensions, returns what to send instead.
    pub(crate) fn take_first(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, ChunkError> {
        let fed = self.scanner.feed(bytes);
        // What breaks the rules was read, too.
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

    /// Reads at most `room` bytes, and appends what of them belongs to the body to `out`: they are the caller's to send. Pending only
    /// if there are none.
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

    /// Bytes of the body that are still to come, where that is known.
    pub(crate) fn remaining_exact(&self) -> Option<u64> {
        self.scanner.remaining_exact()
    }

    /// Keeps bytes that the sink had no room for; they go first.
    pub(crate) fn keep(&mut self, worker: &Worker, bytes: &[u8]) {
        if self.pending.capacity() == 0 {
            self.pending = worker.buffers.take();
        }
        self.pending.extend_from_slice(bytes);
    }

    /// Takes over bytes that the caller has read itself: they go first.
    pub(crate) fn take_over(&mut self, worker: &Worker, bytes: &[u8]) {
        // That a direction of a tunnel ends is not in its bytes.
        let _ = self.scanner.feed(bytes);
        self.bytes_read += bytes.len() as u64;
        self.keep(worker, bytes);
    }

    /// Whether most of the body can be spliced, if both streams can.
    pub(crate) fn is_spliceable(&self) -> bool {
        self.dechunker.is_none() && self.scanner.unread_max() >= SPLICE_MIN
    }

    /// The caller has sent the body's start with more to follow at once.
    pub(crate) fn sink_holds(&mut self) {
        self.sink_holds = true;
    }

    /// Lets a large body's source wake us for batches only; the caller watches [`Pump::is_in_bulk`].
    pub(crate) fn batch(&mut self) {
        self.may_batch = true;
    }

    /// Whether its source may be waited for until a batch is there, if it is fast and the body large.
    #[cfg(test)]
    pub(crate) fn may_batch(&self) -> bool {
        self.may_batch
    }

    /// Whether bytes may be kept waiting in the source's kernel until a batch is complete: not for long, then call
    /// [`Pump::leave_bulk`].
    pub(crate) fn is_in_bulk(&self) -> bool {
        self.batch != NO_BATCH
    }

    /// A batch is not complete in time: `source` is slow or has paused. From now on it is passed on as it comes.
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

    /// Counts what the caller has sent itself.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes_written += bytes as u64;
    }

    /// Moves what can be moved. Ready when the whole body has gone to the sink.
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
                // What TLS has encrypted must go out while this side waits for more.
                if let Poll::Ready(Err(error)) = sink.poll_flush(cx) {
                    return Poll::Ready(Err(PumpError::Sink(error)));
                }
                return Poll::Pending;
            }
        }
    }

    /// Gives buffers back; a pipe that still holds bytes is closed with them.
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

    /// How many bytes may be spliced now; `None` = copy.
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
