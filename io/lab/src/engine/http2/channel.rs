//! The byte stream below an HTTP/2 connection.

use std::cell::Cell;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use rustix::event::epoll::EventFlags;
use rustls::ClientConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::super::connection::{broken, receive_tls};
use crate::record::Fault;

/// State of a connection's socket that its reader and its owner share.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// Set when the socket may have unread bytes since the last event.
    is_readable: Cell<bool>,
    has_hung_up: Cell<bool>,
    /// Plaintext bytes that have arrived.
    bytes_in: Cell<u64>,
    /// Reason of the end.
    ended: Cell<Option<Fault>>,
}

impl Traffic {
    pub(super) fn note(&self, flags: EventFlags) {
        let hangup = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if flags.intersects(hangup) {
            self.has_hung_up.set(true);
        }
        if flags.intersects(hangup | EventFlags::IN) {
            self.is_readable.set(true);
        }
    }

    pub(super) fn bytes_in(&self) -> u64 {
        self.bytes_in.get()
    }

    /// Returns the reason why the connection ended. Without other evidence, it was closed.
    pub(super) fn end(&self) -> Fault {
        self.ended.get().unwrap_or(Fault::Closed)
    }

    /// Sets the reason why the connection ended, which takes precedence over errors of its streams.
    pub(super) fn note_end(&self, fault: Fault) {
        self.ended.set(Some(fault));
    }

    /// Maps a protocol error to the fault of a request.
    pub(super) fn fault(&self, error: &h2::Error) -> Fault {
        if error.is_io() {
            self.end()
        } else if !error.is_remote() {
            Fault::Framing
        } else if error.is_go_away() {
            Fault::GoAway
        } else if error.reason() == Some(h2::Reason::REFUSED_STREAM) {
            Fault::StreamRefused
        } else {
            Fault::StreamReset
        }
    }
}

/// Socket, with TLS if it is used. It never registers a waker, because the worker's epoll reports its events.
#[derive(Debug)]
pub(super) struct Channel {
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
    traffic: Rc<Traffic>,
}

/// Maximum number of bytes per read.
const READ_BYTES: usize = 256 << 10;

impl Channel {
    pub(super) fn new(socket: TcpStream, tls: Option<Box<ClientConnection>>, traffic: Rc<Traffic>) -> Self {
        // Bytes that arrived with the end of the handshake cause no further event.
        traffic.is_readable.set(true);
        Self { socket, tls, traffic }
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => receive_tls(tls, &mut self.socket, room).map(|(bytes, _)| bytes),
            None => {
                let bytes = self.socket.read(room)?;
                // The socket is empty, and an event will report the next bytes. A hangup that has been
                // reported causes no further event.
                if bytes < room.len() && !self.traffic.has_hung_up.get() {
                    self.traffic.is_readable.set(false);
                }
                Ok(bytes)
            }
        }
    }

    fn send(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.write_vectored(pieces) };
        drain(tls, &mut self.socket)?;
        let taken = tls.writer().write_vectored(pieces)?;
        match drain(tls, &mut self.socket) {
            // TLS has accepted these bytes. The next call sends the rest.
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| drain(tls, &mut self.socket))
    }

    /// Converts a result to a poll. WouldBlock is not an error, because an event will follow.
    fn polled<T>(&self, done: io::Result<T>) -> Poll<io::Result<T>> {
        match done {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => {
                let fault = match error.kind() {
                    ErrorKind::InvalidData => Fault::Tls,
                    ErrorKind::UnexpectedEof => Fault::Closed,
                    _ => broken(&error),
                };
                self.traffic.ended.set(Some(fault));
                Poll::Ready(Err(error))
            }
            done => Poll::Ready(done),
        }
    }
}

/// Sends the encrypted bytes.
fn drain(tls: &mut ClientConnection, socket: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(socket)?;
    }
    Ok(())
}

impl AsyncRead for Channel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.traffic.is_readable.get() {
            return Poll::Pending;
        }
        let room = buffer.remaining().min(READ_BYTES);
        let received = loop {
            match self.receive(buffer.initialize_unfilled_to(room)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received,
            }
        };
        if let Ok(bytes) = received {
            buffer.advance(bytes);
            self.traffic.bytes_in.set(self.traffic.bytes_in.get() + bytes as u64);
            if bytes == 0 {
                self.traffic.ended.set(Some(Fault::Closed));
            }
        } else {
            self.traffic.is_readable.set(false);
        }
        self.polled(received.map(drop))
    }
}

impl AsyncWrite for Channel {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = loop {
            match self.send(pieces) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => break sent,
            }
        };
        self.polled(sent)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.flush();
        self.polled(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        let done = self.flush().and_then(|()| self.socket.shutdown(Shutdown::Write));
        self.polled(done)
    }
}
