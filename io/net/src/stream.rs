use std::io;
use std::task::{Context, Poll, ready};

use crate::Socket;
use crate::tls::TlsStream;

/// A byte stream to a peer: a bare socket, or TLS over one.
pub enum Stream {
    /// Plaintext.
    Plain(Socket),
    /// TLS.
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// Whether it is a bare socket.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Reads into `buffer`; 0 = the peer has ended its direction cleanly. A TLS stream that ends without saying so is
    /// an error (`UnexpectedEof`).
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_read(cx, buffer),
            Self::Tls(tls) => tls.poll_read(cx, buffer),
        }
    }

    /// As [`Self::poll_read`]; a bare socket then knows by itself when what was left is read, too
    /// ([`Socket::poll_read_counting`]).
    pub fn poll_read_counting(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_read_counting(cx, buffer),
            Self::Tls(tls) => tls.poll_read(cx, buffer),
        }
    }

    /// Writes as much of `bytes` as the peer has room for; pending only if none.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_write(cx, bytes),
            Self::Tls(tls) => tls.poll_write(cx, bytes),
        }
    }

    /// As [`Self::poll_write`], with more to follow at once ([`Socket::poll_write_more`]).
    pub fn poll_write_more(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => socket.poll_write_more(cx, bytes),
            Self::Tls(tls) => tls.poll_write(cx, bytes),
        }
    }

    /// Ready when nothing written is left in this process.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(tls) => tls.poll_flush(cx),
        }
    }

    /// Bytes that were written and are still in this process, because the peer has no room for them.
    pub fn unsent_bytes(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            Self::Tls(tls) => tls.unsent_bytes(),
        }
    }

    /// Ends the own direction, in TLS with a close_notify.
    pub fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Self::Tls(tls) = self {
            ready!(tls.poll_close(cx))?;
        }
        Poll::Ready(self.socket().shutdown_write())
    }

    /// The socket beneath.
    pub fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.socket(),
        }
    }

    /// The socket, if bytes may be moved around this process's memory by splice.
    pub fn splice_end(&self) -> Option<&Socket> {
        match self {
            Self::Plain(socket) if socket.is_spliceable() => Some(socket),
            _ => None,
        }
    }

    /// Whether an idle stream has something to read, its end included.
    pub fn has_pending_input(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.has_pending_input(),
            Self::Tls(tls) => tls.has_unread_input() || tls.socket().has_pending_input(),
        }
    }
}
