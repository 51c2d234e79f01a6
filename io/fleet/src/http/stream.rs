//! Adapter from Weir's streams to hyper.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use weir_net::Stream;

/// A stream with hyper's read and write traits.
pub(super) struct HyperStream(Stream);

const PORTION: usize = 16 * 1024;

impl HyperStream {
    pub(super) fn new(stream: Stream) -> Self {
        Self(stream)
    }
}

impl Read for HyperStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut portion = [0; PORTION];
        let wanted = buffer.remaining().min(PORTION);
        let read = ready!(self.0.poll_read(cx, &mut portion[..wanted]))?;
        buffer.put_slice(&portion[..read]);
        Poll::Ready(Ok(()))
    }
}

impl Write for HyperStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_end(cx)
    }
}
