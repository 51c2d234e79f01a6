//! Streams in plaintext or TLS.

use std::io;
use std::task::{Context, Poll, ready};

use crate::Socket;
use crate::tls::TlsStream;

/// A byte stream to a peer: a socket, or TLS on a socket.
pub enum Stream {
    /// Plaintext.
    Plain(Socket),
    /// TLS.
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// Returns true if the stream is plaintext.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Reads into `buffer`; 0 = the peer has ended its direction cleanly. A TLS stream that ends without
    /// close_notify is an error (`UnexpectedEof`).
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_read(cx, buffer),
            Self::Tls(tls) => tls.poll_read(cx, buffer),
        }
    }

    /// Reads as [`Self::poll_read`] does; a plaintext socket also counts the remaining bytes
    /// ([`Socket::poll_read_counting`]).
    pub fn poll_read_counting(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_read_counting(cx, buffer),
            Self::Tls(tls) => tls.poll_read(cx, buffer),
        }
    }

    /// Writes as much of `bytes` as there is room for; pending only if there is none.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_write(cx, bytes),
            Self::Tls(tls) => tls.poll_write(cx, bytes),
        }
    }

    /// Writes as [`Self::poll_write`] does, with more to follow at once ([`Socket::poll_write_more`]).
    pub fn poll_write_more(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_write_more(cx, bytes),
            Self::Tls(tls) => tls.poll_write(cx, bytes),
        }
    }

    /// Waits until all written bytes have left this process.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(tls) => tls.poll_flush(cx),
        }
    }

    /// Returns the number of written bytes that are still in this process, because the socket has no room.
    pub fn unsent_bytes(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            Self::Tls(tls) => tls.unsent_bytes(),
        }
    }

    /// Ends the own direction; in TLS sends a close_notify.
    pub fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Self::Tls(tls) = self {
            ready!(tls.poll_close(cx))?;
        }
        Poll::Ready(self.socket().shutdown_write())
    }

    /// Returns the underlying socket.
    pub fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.socket(),
        }
    }

    /// Returns the socket if splice can move its bytes.
    pub fn splice_end(&self) -> Option<&Socket> {
        match self {
            Self::Plain(socket) if socket.is_spliceable() => Some(socket),
            _ => None,
        }
    }

    /// Returns true if an idle stream has input, including its end.
    pub fn has_pending_input(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.has_pending_input(),
            Self::Tls(tls) => tls.has_unread_input() || tls.socket().has_pending_input(),
        }
    }
}
