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

/// A read takes at least so many bytes from the socket, however few the caller asks for.
const READ_MIN: usize = 4 * 1024;
/// Unsent handshake messages up to this size go out together with the data that follows; more must leave first.
const RIDE_ALONG_MAX: usize = 4 * 1024;
/// A record's header, and the first bytes of a message that tell HTTP from TLS.
const HEADER: usize = 5;

/// TLS over a socket. Decrypts and encrypts in the thread's scratch buffers and owns memory only for what waits: the
/// start of a record, plaintext that did not fit the caller's buffer, ciphertext that did not fit the socket.
pub struct TlsStream<S> {
    socket: S,
    pub(super) session: Session,
    /// Ciphertext that is not a whole message yet, as [`Session::drive`] left it.
    received: ByteQueue,
    /// Plaintext that nobody has read yet.
    plaintext: ByteQueue,
    /// Ciphertext to be sent.
    outgoing: ByteQueue,
    /// All of `outgoing` is session tickets, for which nobody waits.
    only_tickets: bool,
    /// The peer's close_notify has come.
    peer_ended: bool,
    /// The own close_notify is sent, or in `outgoing`.
    ended: bool,
    /// What broke the connection. Nothing passes any more.
    failed: Option<Box<TlsFailure>>,
    /// What the client asked for.
    pub(super) server_name: Option<Box<str>>,
    /// The client asked for a name that rustls does not see: see [`odd_name`].
    has_odd_name: bool,
    /// Judges an optional client certificate at the end of the handshake.
    optional: Option<Arc<ClientVerifier>>,
    /// Why the client's certificate counts as none.
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

    /// Ready when application data can pass. The last handshake message may still wait, so that it can share a packet
    /// with what is written next; reading or flushing sends it, too.
    ///
    /// On an error the peer has been told by an alert, if the socket took it, and the connection is of no more use.
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_handshaking() {
            return Poll::Ready(self.check());
        }
        self.check()?;
        if self.received.is_empty() && self.outgoing.is_empty() {
            // A client speaks first; a server has nothing to say yet.
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
        // What a server says last is awaited in TLS 1.2, but in TLS 1.3 it is only tickets.
        self.only_tickets = matches!(self.session, Session::Server(_)) && self.is_tls13();
        if !self.only_tickets && matches!(self.session, Session::Server(_)) {
            return self.poll_flush(cx);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads plaintext into `buffer`; 0 = the peer has sent its close_notify. A connection that ends without one is an
    /// error of kind `UnexpectedEof`.
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
                // The peer may wait for it before it sends what is to be read. An error comes back when writing.
                let _ = self.poll_flush(cx);
            }
            let read = ready!(self.poll_fill(cx, buffer))?;
            if read > 0 {
                return Poll::Ready(Ok(read));
            }
        }
    }

    /// Encrypts and writes. Pending when ciphertext still waits for room in the socket; otherwise takes at least some
    /// of `bytes`, of which at most one portion then waits in this process: see [`poll_flush`](Self::poll_flush).
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

    /// Ready when nothing waits to be sent.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.send(cx, &[]) {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Sends a close_notify and everything before it. The socket stays open, and the peer's data can still be read.
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

    /// Whether the next [`poll_read`](Self::poll_read) is ready whatever the socket holds.
    pub fn has_buffered_plaintext(&self) -> bool {
        !self.plaintext.is_empty() || self.peer_ended || self.failed.is_some()
    }

    /// Whether the peer has sent anything that was not read: plaintext, its end, or a part of a record. A connection
    /// on which nothing is expected must not be used again then.
    pub fn has_unread_input(&self) -> bool {
        self.has_buffered_plaintext() || !self.received.is_empty()
    }

    /// Whether ciphertext waits to be sent, session tickets aside.
    pub fn wants_write(&self) -> bool {
        !self.outgoing.is_empty() && !self.only_tickets
    }

    /// Bytes of ciphertext that wait to be sent, session tickets aside.
    pub fn unsent_bytes(&self) -> usize {
        if self.only_tickets { 0 } else { self.outgoing.len() }
    }

    /// The socket beneath.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Reads once from the socket and decrypts into `buffer`. Ready with 0 when nothing for it has come, or the end.
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

    /// How much to ask of the socket, in bytes: what fills `wanted` bytes of plaintext, so that little spills, but at
    /// least the rest of a record whose start is there. Always a little more than needed: a read that is not filled
    /// tells the reactor that the socket is empty.
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

    /// Hands `received` to the session; what it leaves over is kept. Returns the bytes of plaintext put in `buffer`.
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
            // What was sent before it went wrong is genuine: the caller gets it first, and then the error.
            return if filled > 0 { Ok(filled) } else { Err(error) };
        }
        // What follows a close_notify does not count (RFC 8446, 6.1).
        if !self.peer_ended {
            if rest.len() > UNPROCESSED_MAX {
                return Err(self.fail(TlsFailure::TooLarge));
            }
            self.received.push(rest);
        }
        Ok(filled)
    }

    /// Has the session encrypt; returns the length of the ciphertext.
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

    /// Sends what waits, then `fresh`; what does not fit waits. Returns whether all is sent.
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

    /// An optional certificate that is not accepted counts as none. Resumed sessions are judged like new ones.
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

    /// Notes what broke the connection, and tells the peer if the socket takes the alert at once.
    fn fail(&mut self, failure: TlsFailure) -> io::Error {
        self.received.clear();
        let mut nobody = Context::from_waker(std::task::Waker::noop());
        // An alert is a courtesy; the failure itself is what the caller must learn.
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
        // Neither keys nor what passes belongs in a log.
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
