//! A client connection whose end a route can choose. `/reset` and similar routes use it to act below hyper's
//! framing.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::state::State;

/// End of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum End {
    /// As HTTP specifies.
    Normal = 0,
    /// With a TCP reset.
    Reset = 1,
    /// With bytes that are not HTTP.
    Garbage = 2,
}

/// Control that a route has over its connection.
#[derive(Debug)]
pub(crate) struct Control {
    end: AtomicU8,
    /// Number of flushes, and the task that waits for the next one.
    unflushed: Mutex<Unflushed>,
}

#[derive(Debug, Default)]
struct Unflushed {
    flushes: u64,
    waiting: Option<Waker>,
}

impl Control {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { end: AtomicU8::new(End::Normal as u8), unflushed: Mutex::default() })
    }

    /// Chooses how the connection will end.
    pub(crate) fn end_with(&self, end: End) {
        self.end.store(end as u8, Ordering::SeqCst);
    }

    /// Returns the number of flushes so far (see [`Self::poll_flushed_since`]).
    pub(crate) fn flushes(&self) -> u64 {
        self.lock().flushes
    }

    /// Waits until the socket has taken everything that was written when `flushes` was read. A fault that
    /// follows waits for this, so that those bytes are sent first.
    pub(crate) fn poll_flushed_since(&self, flushes: u64, context: &Context<'_>) -> Poll<()> {
        let mut unflushed = self.lock();
        if unflushed.flushes > flushes {
            return Poll::Ready(());
        }
        unflushed.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    fn flushed(&self) {
        let mut unflushed = self.lock();
        unflushed.flushes += 1;
        if let Some(waker) = unflushed.waiting.take() {
            waker.wake();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Unflushed> {
        self.unflushed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The socket that hyper reads and writes.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    control: Arc<Control>,
    state: Arc<State>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, control: Arc<Control>, state: Arc<State>) -> Self {
        state.counters.accepted.add_one();
        Self { stream, control, state }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let end = self.control.end.load(Ordering::SeqCst);
        if end == End::Reset as u8 {
            // Closing with a linger time of zero sends a reset instead of a FIN (socket(7)).
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        } else if end == End::Garbage as u8 {
            let _ = self.stream.try_write(b"\x16\x03\x01 220 this is not HTTP\x00\xff\r\n\r\n");
        }
        self.state.counters.closed.add_one();
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper calls this once its own buffer is empty.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if let Poll::Ready(Ok(())) = flushed {
            self.control.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.control.end.load(Ordering::SeqCst) != End::Normal as u8 {
            // Dropping the connection sends the reset or the garbage instead of the FIN.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
