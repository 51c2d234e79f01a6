//! Sends a service's response to the client.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use weir_net::service::{Answer, ChunkSource, Content, FileSource, LocalFuture, Part};
use weir_net::{PageBuffer, Stream};

use super::head;
use super::pace::WaitsFor;
use super::rate::Rate;
use crate::http::connection::Connection;
use crate::http::exchange::Offloaded;
use crate::http::request::RequestFacts;
use crate::worker::Worker;

/// Maximum size of file contents that are copied behind the bytes sent before them: one call instead of two.
const COPY_BYTES_MAX: u64 = 32 * 1024;
/// Maximum number of bytes that one call gives to the kernel, because no other task runs meanwhile. At the
/// end of a call the kernel sends an incomplete segment, so small portions cost extra segments. Checks for
/// residence in memory use portions of the same size, counted from the file's start.
const SEND_BYTES: u64 = 2 * 1024 * 1024;
/// Time without movement after which the kernel is asked again for room: no event reports that a file has
/// become shorter. It is slightly less than the second after which [`Pace`](super::pace::Pace) checks the
/// client.
const DOUBT_AFTER: Duration = Duration::from_millis(900);
/// Time for which a portion found in memory is assumed to stay there, even if the client's room runs out
/// repeatedly.
const RESIDENT_FOR: Duration = Duration::from_millis(50);
/// Size of one file read for TLS: TLS takes that much at once, so that nothing is read twice.
const ENCRYPT_BYTES: usize = 64 * 1024;
/// Size of one file read from the disk.
const DISK_BYTES: u64 = 256 * 1024;
/// Number of bytes after which the worker's other tasks run.
const TURN_BYTES: u64 = 512 * 1024;

/// A response in transit to the client.
pub(super) struct Sending {
    /// Status of the response.
    pub(super) status: u16,
    /// Bytes to send before anything else: the head, or a piece.
    pending: Vec<u8>,
    pending_at: usize,
    source: Source,
    /// Read of file contents by another thread.
    reading: Option<LocalFuture<io::Result<PageBuffer>>>,
    /// Part of the present file known to be in memory: its end, and when it was checked.
    resident: Option<(u64, Instant)>,
    /// Time at which the kernel last took bytes of a file.
    moved_at: Instant,
    /// True while the kernel holds back bytes to send them together with the next ones.
    held: bool,
    head_bytes: u64,
    /// Rate limit of the body; `None` = no limit.
    rate: Option<Rate>,
    /// Number of bytes that the rate limit permits now.
    allowed: u64,
    /// Bytes that the client's kernel, or TLS, has taken.
    pub(super) written: u64,
    /// Side that is at fault while nothing moves.
    pub(super) waits_for: WaitsFor,
    /// True if the head announced that the connection stays open.
    pub(super) keep_alive: bool,
}

enum Source {
    Parts(VecDeque<Part>),
    Pieces { pieces: Box<dyn ChunkSource>, chunked: bool, left: Option<u64> },
    Done,
}

/// Reason why a response is incomplete.
#[derive(Debug)]
pub(super) enum SendError {
    /// The client does not take it.
    Client,
    /// The source of the body failed.
    Source(io::Error),
}

impl Sending {
    /// Creates the sending and writes the head. Returns `None` if the response cannot be sent.
    pub(super) fn new(
        connection: &Connection,
        facts: &RequestFacts,
        answer: Answer,
        keep_alive: bool,
        offloaded: Option<&mut Offloaded>,
    ) -> Option<Self> {
        let mut pending = connection.worker.buffers.take();
        let offloaded = offloaded.map(|it| {
            pending.append(&mut it.unsent);
            &*it
        });
        let said = head::write(&mut pending, connection, facts, &answer, keep_alive, offloaded)?;
        let rate = offloaded.and_then(|it| it.bytes_per_second_max);
        let rate = rate.map(|rate| Rate::new(rate, connection.worker.now()));
        let (status, length) = (answer.status, answer.content.length());
        let source = match answer.content {
            _ if said.is_bodiless => Source::Done,
            Content::Empty => Source::Done,
            Content::Bytes(bytes) => Source::Parts([Part::Bytes(bytes)].into()),
            // Only a response to HEAD may lack the content that it announces.
            Content::Length(0) => Source::Done,
            Content::Length(_) => return None,
            Content::Parts(parts) => Source::Parts(parts.into()),
            Content::Stream { source, .. } => {
                Source::Pieces { pieces: source, chunked: said.chunked, left: length }
            }
        };
        let mut sending = Self {
            status,
            head_bytes: pending.len() as u64,
            pending,
            pending_at: 0,
            source,
            reading: None,
            resident: None,
            moved_at: connection.worker.now(),
            held: false,
            written: 0,
            rate,
            allowed: u64::MAX,
            waits_for: WaitsFor::Client,
            keep_alive: said.keep_alive,
        };
        sending.append_what_is_short();
        Some(sending)
    }

    /// Returns the number of body bytes sent.
    pub(super) fn body_bytes(&self) -> u64 {
        self.written.saturating_sub(self.head_bytes)
    }

    /// Returns the buffer to the worker.
    pub(super) fn release(&mut self, worker: &Worker) {
        worker.buffers.give(std::mem::take(&mut self.pending));
    }

    /// Appends short pieces to the head, so that one call sends both.
    fn append_what_is_short(&mut self) {
        let Source::Parts(parts) = &mut self.source else { return };
        if self.rate.is_some() {
            return;
        }
        while let Some(part) = parts.front() {
            // A file at the end is sent together with the bytes before it without being copied here.
            let is_last_file = parts.len() == 1 && matches!(part, Part::File { .. });
            if is_last_file || part.length() > COPY_BYTES_MAX || self.pending.len() as u64 > COPY_BYTES_MAX {
                return;
            }
            let Some(part) = parts.front_mut() else { return };
            match part {
                Part::Bytes(bytes) => self.pending.extend_from_slice(bytes),
                Part::File { file, offset, length } => {
                    let start = self.pending.len();
                    self.pending.resize(start + *length as usize, 0);
                    let read = file.read_now(*offset, &mut self.pending[start..]).unwrap_or(0);
                    self.pending.truncate(start + read);
                    *offset += read as u64;
                    *length -= read as u64;
                    if *length > 0 {
                        return;
                    }
                }
            }
            parts.pop_front();
        }
    }

    /// Becomes ready when everything was written.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> Poll<Result<(), SendError>> {
        let polled = self.poll_all(cx, connection);
        if std::mem::take(&mut self.held) {
            connection.stream.socket().push();
        }
        if polled.is_pending() && connection.stream.poll_flush(cx).is_pending() {
            // Bytes that TLS has encrypted wait for the client too.
            self.waits_for = WaitsFor::Client;
        }
        polled
    }

    fn poll_all(&mut self, cx: &mut Context<'_>, connection: &mut Connection) -> Poll<Result<(), SendError>> {
        let turn_ends_at = self.written + TURN_BYTES;
        loop {
            ready!(self.poll_pending(cx, connection))?;
            // If only the end is left to report, no further turn is needed.
            if self.written >= turn_ends_at && !self.is_all_taken() {
                if !self.waits_for_room(cx, connection) {
                    cx.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
            let is_parts = match &self.source {
                Source::Done => {
                    self.waits_for = WaitsFor::Client;
                    return connection.stream.poll_flush(cx).map_err(|_| SendError::Client);
                }
                Source::Parts(_) => true,
                Source::Pieces { .. } => false,
            };
            if let Some(rate) = &mut self.rate {
                match rate.allows(self.written.saturating_sub(self.head_bytes), connection.worker.now()) {
                    Ok(allowed) => self.allowed = allowed,
                    Err(until) => {
                        self.waits_for = WaitsFor::Clock(until);
                        return Poll::Pending;
                    }
                }
            }
            match is_parts {
                true => ready!(self.poll_part(cx, connection))?,
                false => ready!(self.poll_piece(cx))?,
            }
        }
    }

    /// Returns true if the next step would write to a full socket. The turn then ends by itself, and the next
    /// one begins when there is room.
    fn waits_for_room(&self, cx: &mut Context<'_>, connection: &Connection) -> bool {
        match (&self.source, &connection.stream) {
            (Source::Parts(_), Stream::Plain(socket)) if self.rate.is_none() => {
                socket.poll_room(cx).is_pending()
            }
            _ => false,
        }
    }

    /// Returns true if nothing follows the pending bytes.
    fn is_all_taken(&self) -> bool {
        match &self.source {
            Source::Done => true,
            Source::Parts(parts) => parts.iter().all(|part| part.length() == 0),
            Source::Pieces { .. } => false,
        }
    }

    fn poll_pending(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> Poll<Result<(), SendError>> {
        self.waits_for = WaitsFor::Client;
        let more = match &self.source {
            Source::Done => false,
            Source::Parts(parts) => !parts.is_empty(),
            Source::Pieces { .. } => true,
        };
        while self.pending_at < self.pending.len() {
            if ready!(self.poll_pending_with_file(cx, connection))? {
                continue;
            }
            let rest = &self.pending[self.pending_at..];
            let written = match more {
                true => connection.stream.poll_write_more(cx, rest),
                false => connection.stream.poll_write(cx, rest),
            };
            match ready!(written) {
                Ok(written) if written > 0 => {
                    self.pending_at += written;
                    self.written += written as u64;
                    self.held = more;
                }
                _ => return Poll::Ready(Err(SendError::Client)),
            }
        }
        self.pending.clear();
        self.pending_at = 0;
        Poll::Ready(Ok(()))
    }

    /// Sends the pending bytes and a short file after them with one call. Returns `false` if there is no such
    /// file, or if it must be read from the disk.
    fn poll_pending_with_file(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> Poll<Result<bool, SendError>> {
        let Source::Parts(parts) = &mut self.source else { return Poll::Ready(Ok(false)) };
        let (1, Some(Part::File { file, offset, length })) = (parts.len(), parts.front_mut()) else {
            return Poll::Ready(Ok(false));
        };
        if *length == 0 || *length > COPY_BYTES_MAX || self.rate.is_some() {
            return Poll::Ready(Ok(false));
        }
        let mut scratch = connection.worker.scratch.borrow_mut();
        let read = file.read_now(*offset, &mut scratch.body()[..*length as usize]).unwrap_or(0);
        let head = &self.pending[self.pending_at..];
        let Some(both) = scratch.splice_head(head, 0, read).filter(|_| read > 0) else {
            return Poll::Ready(Ok(false));
        };
        match ready!(connection.stream.poll_write(cx, both)) {
            Ok(written) if written > 0 => {
                let of_head = written.min(head.len());
                let of_file = (written - of_head) as u64;
                self.pending_at += of_head;
                self.written += written as u64;
                self.held = false;
                *offset += of_file;
                *length -= of_file;
                Poll::Ready(Ok(true))
            }
            _ => Poll::Ready(Err(SendError::Client)),
        }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let Source::Pieces { pieces, chunked, left } = &mut self.source else { return Poll::Ready(Ok(())) };
        self.waits_for = WaitsFor::Service;
        let piece = ready!(pieces.poll_chunk(cx)).map_err(SendError::Source)?;
        let has_length = left.is_some();
        if let (Some(left), Some(piece)) = (left.as_mut(), &piece) {
            *left = left.checked_sub(piece.len() as u64).ok_or_else(|| wrong_length("more"))?;
        }
        match piece {
            Some(piece) if *chunked && !piece.is_empty() => {
                // Writing to a vector does not fail.
                let _ = write!(self.pending, "{:x}\r\n", piece.len());
                self.pending.extend_from_slice(&piece);
                self.pending.extend_from_slice(b"\r\n");
            }
            Some(piece) => self.pending.extend_from_slice(&piece),
            None => {
                if has_length && *left != Some(0) {
                    return Poll::Ready(Err(wrong_length("fewer")));
                }
                if *chunked {
                    self.pending.extend_from_slice(b"0\r\n\r\n");
                }
                self.source = Source::Done;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_part(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> Poll<Result<(), SendError>> {
        let Source::Parts(parts) = &mut self.source else { return Poll::Ready(Ok(())) };
        match parts.front_mut() {
            None => self.source = Source::Done,
            Some(Part::File { length: 0, .. }) => {
                self.resident = None;
                parts.pop_front();
            }
            Some(Part::Bytes(bytes)) => {
                self.pending = std::mem::take(bytes);
                parts.pop_front();
            }
            Some(Part::File { file, offset, length }) => {
                let (file, at, left) = (Rc::clone(file), *offset, *length);
                let moved = ready!(self.poll_file(cx, connection, &*file, at, left))?;
                if let Source::Parts(parts) = &mut self.source
                    && let Some(Part::File { offset, length, .. }) = parts.front_mut()
                {
                    *offset += moved;
                    *length -= moved;
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Returns up to which position a file is in memory from `offset`, as far as the next call could send it.
    /// The checked portions are the same for every start.
    fn in_memory_until(&mut self, file: &dyn FileSource, offset: u64, left: u64, now: Instant) -> u64 {
        let is_fresh = |(until, since): &(u64, Instant)| {
            *until > offset && now.saturating_duration_since(*since) < RESIDENT_FOR
        };
        let (mut until, since) = self.resident.filter(is_fresh).unwrap_or((offset, now));
        let wanted = offset + left.min(SEND_BYTES);
        while until < wanted {
            let portion = (offset + left - until).min(SEND_BYTES - until % SEND_BYTES);
            if !file.is_resident(until, portion, now) {
                break;
            }
            until += portion;
        }
        self.resident = Some((until, since));
        until
    }

    /// Sends a part of a file, or starts reading a part. Returns how many of its bytes are done.
    fn poll_file(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        file: &dyn FileSource,
        offset: u64,
        left: u64,
    ) -> Poll<Result<u64, SendError>> {
        if let Some(reading) = &mut self.reading {
            self.waits_for = WaitsFor::Service;
            let read = ready!(reading.as_mut().poll(cx));
            self.reading = None;
            let mut bytes = read.map_err(SendError::Source)?;
            bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            if bytes.is_empty() {
                return Poll::Ready(Err(shorter()));
            }
            let moved = bytes.len() as u64;
            (self.pending, self.pending_at) = bytes.into_parts();
            return Poll::Ready(Ok(moved));
        }
        let from_disk = |sending: &mut Self| {
            let window = left.min(DISK_BYTES).min(sending.allowed);
            sending.reading = Some(file.read(offset, window as usize));
            Poll::Ready(Ok(0))
        };
        if let Stream::Plain(socket) = &connection.stream
            && left > COPY_BYTES_MAX
        {
            let now = connection.worker.now();
            let until = self.in_memory_until(file, offset, left, now);
            if until == offset {
                return from_disk(self);
            }
            if now.saturating_duration_since(self.moved_at) >= DOUBT_AFTER {
                self.moved_at = now;
                socket.ask_again();
            }
            let window = (until - offset).min(SEND_BYTES).min(self.allowed);
            let sent = ready!(socket.poll_send_file(cx, file.descriptor(), offset, window as usize));
            return Poll::Ready(match sent {
                Ok(0) => Err(shorter()),
                Ok(sent) => {
                    self.held = false;
                    self.moved_at = now;
                    self.written += sent as u64;
                    Ok(sent as u64)
                }
                Err(_) => Err(SendError::Client),
            });
        }
        // Nothing is read for a client that has no room for it.
        if ready!(connection.stream.poll_flush(cx)).is_err() {
            return Poll::Ready(Err(SendError::Client));
        }
        let mut scratch = connection.worker.scratch.borrow_mut();
        let window = ENCRYPT_BYTES.min(usize::try_from(left.min(self.allowed)).unwrap_or(usize::MAX));
        let bytes = match file.read_now(offset, &mut scratch.body()[..window]) {
            Ok(0) => return Poll::Ready(Err(shorter())),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return from_disk(self),
            Err(error) => return Poll::Ready(Err(SendError::Source(error))),
        };
        match ready!(connection.stream.poll_write(cx, &scratch.body()[..bytes])) {
            Ok(written) if written > 0 => {
                self.held = false;
                self.written += written as u64;
                Poll::Ready(Ok(written as u64))
            }
            _ => Poll::Ready(Err(SendError::Client)),
        }
    }
}

fn shorter() -> SendError {
    SendError::Source(io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "a file has become shorter while it was sent",
    ))
}

fn wrong_length(than: &str) -> SendError {
    SendError::Source(io::Error::other(format!("an answer has {than} bytes than its length says")))
}
