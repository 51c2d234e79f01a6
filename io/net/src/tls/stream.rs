//! TLS streams.

use std::fmt;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::UnixTime;
use rustls::server::UnbufferedServerConnection;

use super::client_verifier::ClientVerifier;
use super::failure::TlsFailure;
use super::odd_name;
use super::queue::ByteQueue;
use super::raw_io::RawIo;
use super::scratch::{self, READ_MAX, UNPROCESSED_MAX, WRITE_PORTION};
use super::session::{Effects, Sending, Session};
use super::sni;
use super::transcript::Restoring;

/// Minimum size of a read from the socket, even if the caller requests fewer bytes.
const READ_MIN: usize = 4 * 1024;
/// Maximum size of unsent handshake messages that are sent together with the next data; more are sent first.
const RIDE_ALONG_MAX: usize = 4 * 1024;
/// Length of a record header, and of the bytes that distinguish HTTP from TLS.
const HEADER: usize = 5;

/// A TLS stream over a socket. It encrypts and decrypts in the thread's scratch buffers. It owns memory only
/// for the start of a record, for plaintext that did not fit the caller's buffer, and for ciphertext that did
/// not fit the socket.
pub struct TlsStream<S> {
    socket: S,
    pub(super) session: Session,
    /// Incomplete message in ciphertext, as [`Session::drive`] left it.
    received: ByteQueue,
    /// Decrypted bytes that the caller has not read yet.
    plaintext: ByteQueue,
    /// Ciphertext to send.
    outgoing: ByteQueue,
    /// Set when `outgoing` holds session tickets only, which are not urgent.
    only_tickets: bool,
    /// Set when the peer's close_notify has arrived.
    peer_ended: bool,
    /// Set when the own close_notify is sent or in `outgoing`.
    ended: bool,
    /// Failure of the connection. Nothing can be sent or received afterwards.
    failed: Option<Box<TlsFailure>>,
    /// Server name that the client requested.
    pub(super) server_name: Option<Box<str>>,
    /// Set when the client requested a name that is hidden from rustls: see [`odd_name`].
    has_odd_name: bool,
    /// Verifier for an optional client certificate, used at the end of the handshake.
    optional: Option<Arc<ClientVerifier>>,
    /// Reason why the client's certificate was rejected.
    pub(super) rejected: Option<Box<rustls::Error>>,
}

impl<S: RawIo> TlsStream<S> {
    pub(super) fn server(
        socket: S,
        connection: UnbufferedServerConnection,
        optional: Option<Arc<ClientVerifier>>,
    ) -> Self {
        Self { optional, ..Self::new(socket, Session::Server(connection)) }
    }

    pub(super) fn client(socket: S, connection: UnbufferedClientConnection) -> Self {
        Self::new(socket, Session::Client(connection))
    }

    fn new(socket: S, session: Session) -> Self {
        Self {
            socket,
            session,
            received: ByteQueue::default(),
            plaintext: ByteQueue::default(),
            outgoing: ByteQueue::default(),
            only_tickets: false,
            peer_ended: false,
            ended: false,
            failed: None,
            server_name: None,
            has_odd_name: false,
            optional: None,
            rejected: None,
        }
    }

    /// Completes the handshake, after which application data can pass. The last handshake message may still
    /// be queued, so that it shares a packet with the next write; a read or a flush also sends it.
    ///
    /// On an error the peer gets an alert if the socket takes it, and the connection is unusable.
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_handshaking() {
            return Poll::Ready(self.check());
        }
        self.check()?;
        if self.received.is_empty() && self.outgoing.is_empty() {
            // A client sends first; a server has nothing to send yet.
            self.drive(&mut [], &mut [])?;
        }
        while self.is_handshaking() {
            ready!(self.poll_flush(cx))?;
            ready!(self.poll_fill(cx, &mut []))?;
            if self.peer_ended && self.is_handshaking() {
                return Poll::Ready(Err(self.fail(TlsFailure::EndInHandshake)));
            }
        }
        self.judge_certificate();
        // In TLS 1.2 the client waits for the server's last message. In TLS 1.3 that message contains only
        // tickets.
        self.only_tickets = matches!(self.session, Session::Server(_)) && self.is_tls13();
        if !self.only_tickets && matches!(self.session, Session::Server(_)) {
            return self.poll_flush(cx);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads plaintext into `buffer`; 0 = the peer has sent its close_notify. A connection that ends without
    /// one returns an error of kind `UnexpectedEof`.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        if !self.plaintext.is_empty() || buffer.is_empty() {
            return Poll::Ready(Ok(self.plaintext.read(buffer)));
        }
        loop {
            if self.peer_ended {
                return Poll::Ready(Ok(0));
            }
            self.check()?;
            if !self.only_tickets && !self.outgoing.is_empty() {
                // The peer may need these bytes before it sends its own. The next write returns the error.
                let _ = self.poll_flush(cx);
            }
            let read = ready!(self.poll_fill(cx, buffer))?;
            if read > 0 {
                return Poll::Ready(Ok(read));
            }
        }
    }

    /// Encrypts and writes. Pending while earlier ciphertext waits for room in the socket. Otherwise takes at
    /// least some of `bytes`; at most one portion of them then waits in this process: see
    /// [`poll_flush`](Self::poll_flush).
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check_writable()?;
        if self.outgoing.len() > RIDE_ALONG_MAX {
            ready!(self.poll_flush(cx))?;
        }
        self.only_tickets = false;
        let mut taken = 0;
        while taken < bytes.len() {
            let portion = &bytes[taken..bytes.len().min(taken + WRITE_PORTION)];
            let sent = scratch::with(|scratch| {
                let length = self.encrypt(Sending::Data(portion, &mut scratch.outgoing))?;
                self.send(cx, &scratch.outgoing[..length])
            })?;
            taken += portion.len();
            if !sent {
                break;
            }
        }
        Poll::Ready(Ok(taken))
    }

    /// Waits until all ciphertext is sent.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.send(cx, &[]) {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Sends a close_notify after all queued data. The socket stays open, and the peer's data can still be
    /// read.
    pub fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.ended && !self.is_handshaking() && self.failed.is_none() {
            self.only_tickets = false;
            self.ended = true;
            scratch::with(|scratch| {
                let length = self.encrypt(Sending::End(&mut scratch.outgoing))?;
                self.outgoing.push(&scratch.outgoing[..length]);
                Ok::<_, io::Error>(())
            })?;
        }
        self.poll_flush(cx)
    }

    /// Returns true if the next [`poll_read`](Self::poll_read) is ready whatever the socket holds.
    pub fn has_buffered_plaintext(&self) -> bool {
        !self.plaintext.is_empty() || self.peer_ended || self.failed.is_some()
    }

    /// Returns true if the peer has sent unread input: plaintext, its end, or a part of a record. An idle
    /// connection with such input must not be reused.
    pub fn has_unread_input(&self) -> bool {
        self.has_buffered_plaintext() || !self.received.is_empty()
    }

    /// Returns true if ciphertext besides session tickets waits to be sent.
    pub fn wants_write(&self) -> bool {
        !self.outgoing.is_empty() && !self.only_tickets
    }

    /// Returns the bytes of ciphertext that wait to be sent, without session tickets.
    pub fn unsent_bytes(&self) -> usize {
        if self.only_tickets { 0 } else { self.outgoing.len() }
    }

    /// Returns the underlying socket.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Reads once from the socket and decrypts into `buffer`. Ready with 0 if no plaintext arrived, or at the
    /// end.
    fn poll_fill(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        scratch::with(|scratch| {
            let kept = self.received.len();
            let end = kept + self.read_size(buffer.len());
            let read = ready!(self.socket.poll_read(cx, &mut scratch.incoming[kept..end]))?;
            if read == 0 {
                let failure =
                    if self.is_handshaking() { TlsFailure::EndInHandshake } else { TlsFailure::Truncated };
                return Poll::Ready(Err(self.fail(failure)));
            }
            scratch.incoming[..kept].copy_from_slice(self.received.bytes());
            self.received.clear();
            Poll::Ready(self.drive(&mut scratch.incoming[..kept + read], buffer))
        })
    }

    /// Returns the size of the next read, in bytes. It covers `wanted` bytes of plaintext, so that little
    /// spills over, and at least the rest of a started record. It is always slightly larger: a short read
    /// shows that the socket is empty.
    fn read_size(&self, wanted: usize) -> usize {
        let overhead = wanted / 256 + 64;
        let rest = match *self.received.bytes() {
            [_, _, _, high, low, ..] => {
                (HEADER + usize::from(u16::from_be_bytes([high, low]))).saturating_sub(self.received.len())
            }
            _ => 0,
        };
        wanted.max(rest).saturating_add(overhead).clamp(READ_MIN, READ_MAX)
    }

    /// Passes `received` to the session and keeps the rest. Returns the bytes of plaintext in `buffer`.
    fn drive(&mut self, received: &mut [u8], buffer: &mut [u8]) -> io::Result<usize> {
        let handshaking = self.is_handshaking();
        let is_accepting = handshaking && matches!(self.session, Session::Server(_));
        if is_accepting && odd_name::hide(received) {
            self.has_odd_name = true;
        }
        let _restoring = is_accepting.then(|| Restoring::start(self.has_odd_name));
        let mut effects = Effects {
            target: buffer,
            filled: 0,
            spill: &mut self.plaintext,
            outgoing: &mut self.outgoing,
            peer_ended: &mut self.peer_ended,
        };
        let waited = effects.outgoing.len();
        let progress = self.session.drive(received, Sending::Nothing, &mut effects);
        let filled = effects.filled;
        if effects.outgoing.len() > waited {
            self.only_tickets = false;
        }
        if is_accepting {
            self.server_name = sni::take().or(self.server_name.take());
        }
        let rest = &received[progress.consumed..];
        if let Err(error) = progress.sent {
            let failure = if handshaking && is_http(rest) {
                TlsFailure::PlainHttp
            } else {
                TlsFailure::Protocol(error)
            };
            let error = self.fail(failure);
            // Data before the error is authentic: the caller gets it first, and then the error.
            return if filled > 0 { Ok(filled) } else { Err(error) };
        }
        // Data after a close_notify is ignored (RFC 8446 section 6.1).
        if !self.peer_ended {
            if rest.len() > UNPROCESSED_MAX {
                return Err(self.fail(TlsFailure::TooLarge));
            }
            self.received.push(rest);
        }
        Ok(filled)
    }

    /// Encrypts `sending`; returns the length of the ciphertext.
    fn encrypt(&mut self, sending: Sending<'_>) -> io::Result<usize> {
        let mut effects = Effects {
            target: &mut [],
            filled: 0,
            spill: &mut self.plaintext,
            outgoing: &mut self.outgoing,
            peer_ended: &mut self.peer_ended,
        };
        let progress = self.session.drive(self.received.bytes_mut(), sending, &mut effects);
        self.received.consume(progress.consumed);
        match progress.sent {
            Ok(Some(length)) => Ok(length),
            Ok(None) => Err(TlsFailure::Ended.into()),
            Err(error) => Err(self.fail(TlsFailure::Protocol(error))),
        }
    }

    /// Sends the queued bytes, then `fresh`, and queues the rest. Returns true if everything is sent.
    fn send(&mut self, cx: &mut Context<'_>, fresh: &[u8]) -> io::Result<bool> {
        let mut fresh = fresh;
        while !self.outgoing.is_empty() || !fresh.is_empty() {
            let waiting = self.outgoing.bytes();
            let written = match (waiting.is_empty(), fresh.is_empty()) {
                (true, _) => self.socket.poll_write(cx, fresh),
                (false, true) => self.socket.poll_write(cx, waiting),
                (false, false) => {
                    self.socket.poll_write_vectored(cx, &[IoSlice::new(waiting), IoSlice::new(fresh)])
                }
            };
            match written? {
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(count) => {
                    let from_waiting = count.min(waiting.len());
                    self.outgoing.consume(from_waiting);
                    fresh = &fresh[count - from_waiting..];
                }
                Poll::Pending => {
                    self.outgoing.push(fresh);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Judges an optional certificate; a rejected one counts as absent. Applies to resumed sessions, too.
    fn judge_certificate(&mut self) {
        let Some(verifier) = self.optional.take() else { return };
        if let Some(chain) = self.session.common().peer_certificates() {
            self.rejected = verifier.judge(chain, UnixTime::now()).err().map(Box::new);
        }
    }

    fn check_writable(&self) -> io::Result<()> {
        self.check()?;
        match () {
            () if self.ended => Err(TlsFailure::Ended.into()),
            () if self.is_handshaking() => Err(TlsFailure::Handshaking.into()),
            () => Ok(()),
        }
    }

    fn check(&self) -> io::Result<()> {
        match &self.failed {
            Some(failure) => Err(TlsFailure::clone(failure).into()),
            None => Ok(()),
        }
    }

    /// Records the failure, and sends the alert if the socket takes it at once.
    fn fail(&mut self, failure: TlsFailure) -> io::Error {
        self.received.clear();
        let mut nobody = Context::from_waker(std::task::Waker::noop());
        // The alert is optional; the caller needs the failure itself.
        let _ = self.send(&mut nobody, &[]);
        self.failed = Some(Box::new(failure.clone()));
        failure.into()
    }

    fn is_handshaking(&self) -> bool {
        self.session.common().is_handshaking()
    }

    fn is_tls13(&self) -> bool {
        self.session.common().protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3)
    }
}

impl<S: fmt::Debug> fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys and data must not appear in logs.
        f.debug_struct("TlsStream")
            .field("socket", &self.socket)
            .field("received", &self.received.len())
            .field("plaintext", &self.plaintext.len())
            .field("outgoing", &self.outgoing.len())
            .field("peer_ended", &self.peer_ended)
            .field("ended", &self.ended)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

fn is_http(first: &[u8]) -> bool {
    const STARTS: &[&[u8]] =
        &[b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO", b"DELET", b"PROPF", b"CONNE", b"PATCH"];
    first.get(..HEADER).is_some_and(|first| STARTS.contains(&first))
}
