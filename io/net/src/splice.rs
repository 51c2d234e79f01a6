//! Moves bytes between sockets with splice.

use std::io;
use std::task::{Context, Poll};

use rustix::pipe::{SpliceFlags, splice};

use crate::socket::Direction;
use crate::{Pipe, Socket};

/// Result of one round of [`poll_splice`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpliceProgress {
    /// Bytes read from the source.
    pub read: u64,
    /// Bytes written to the sink.
    pub written: u64,
    /// Set when the source ended before `wanted` bytes.
    pub source_ended: bool,
}

/// Moves up to `wanted` bytes from `source` to `sink` through `pipe`, without copying them to user space.
/// Ready once bytes moved, the source ended, or an error occurred; pending if neither side can proceed.
///
/// `wanted` excludes bytes already in the pipe. The caller repeats the call until `wanted` is 0 and the pipe
/// is empty.
pub fn poll_splice(
    cx: &mut Context<'_>,
    source: &Socket,
    sink: &Socket,
    pipe: &mut Pipe,
    wanted: u64,
) -> Poll<io::Result<SpliceProgress>> {
    let mut progress = SpliceProgress { read: 0, written: 0, source_ended: false };
    if pipe.is_empty() && wanted > 0 {
        match poll_fill(cx, source, pipe, wanted) {
            Poll::Ready(Ok(0)) => progress.source_ended = true,
            Poll::Ready(Ok(read)) => progress.read = read as u64,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        }
    }
    while !pipe.is_empty() {
        match poll_empty(cx, sink, pipe) {
            Poll::Ready(Ok(written)) => progress.written += written as u64,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => break,
        }
    }
    if progress == (SpliceProgress { read: 0, written: 0, source_ended: false }) {
        return Poll::Pending;
    }
    Poll::Ready(Ok(progress))
}

fn poll_fill(cx: &mut Context<'_>, source: &Socket, pipe: &mut Pipe, wanted: u64) -> Poll<io::Result<usize>> {
    let length = usize::try_from(wanted).unwrap_or(usize::MAX).min(pipe.capacity);
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    let filled = source.poll_io(cx, Direction::Read, || {
        let read = splice(source, None, &pipe.writer, None, length, flags)?;
        source.took(read);
        Ok(read)
    });
    filled.map_ok(|read| {
        pipe.filled = read;
        read
    })
}

fn poll_empty(cx: &mut Context<'_>, sink: &Socket, pipe: &mut Pipe) -> Poll<io::Result<usize>> {
    // Without MORE: the kernel would hold the last bytes for up to 200 ms, and a server may pause at any
    // byte.
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    let emptied = sink.poll_io(cx, Direction::Write, || {
        splice(&pipe.reader, None, sink, None, pipe.filled, flags).map_err(io::Error::from)
    });
    match emptied {
        Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        Poll::Ready(Ok(written)) => {
            pipe.filled -= written.min(pipe.filled);
            Poll::Ready(Ok(written))
        }
        other => other,
    }
}
