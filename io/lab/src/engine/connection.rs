//! Connections to servers, without or with TLS.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustls::{AlertDescription, ClientConnection};
use socket2::{Domain, Protocol, Socket, Type};
use weir_dav::digest::Digest;

use super::onward::head_for;
use crate::record::Fault;
use crate::target::{Body, Sending, Target, Upload};
use crate::url::Url;

/// One connection, with at most one HTTP/1 request in progress.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
    pub(super) phase: Phase,
    /// Bytes to send next.
    out: Vec<u8>,
    out_at: usize,
    body: Body,
    body_at: u64,
    sending: Sending,
}

/// Progress of opening a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Connecting,
    Handshaking,
    Ready,
}

/// Result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// Number of bytes in the buffer; `true` = more may be readable.
    Bytes(usize, bool),
    /// Number of bytes that were discarded unread; `true` = more may be readable.
    Discarded(u64, bool),
    /// No bytes are readable now.
    Blocked,
    /// The server has closed its direction.
    End,
    /// The connection broke.
    Failed(Fault),
}

/// Maximum size of a piece of a body that is sent at once.
const PIECE_BYTES: usize = 64 << 10;
/// Minimum number of bytes for which a discard in the kernel is worth the call.
const DISCARD_MIN: u64 = 16 << 10;

impl Connection {
    /// Begins to connect.
    pub(super) fn open(
        address: SocketAddr,
        source: Option<IpAddr>,
        tls: Option<Box<ClientConnection>>,
    ) -> Result<Self, Fault> {
        let begin = || -> std::io::Result<Socket> {
            let socket =
                Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
            socket.set_tcp_nodelay(true)?;
            if let Some(source) = source {
                socket.bind(&SocketAddr::new(source, 0).into())?;
            }
            match socket.connect(&address.into()) {
                Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
                _ => Ok(socket),
            }
        };
        let socket = begin().map_err(|error| connect_fault(&error))?;
        Ok(Self {
            socket: socket.into(),
            tls,
            phase: Phase::Connecting,
            out: Vec::new(),
            out_at: 0,
            body: Body::Empty,
            body_at: 0,
            sending: Sending::Unasked,
        })
    }

    /// Puts a request on the connection; [`Self::flush`] sends it. If `onward` is set, sends the request to
    /// that URL. Returns the size of the head.
    pub(super) fn ask(&mut self, target: &Target, number: u64, onward: Option<&Url>) -> u32 {
        self.out.clear();
        self.out_at = 0;
        target.head.render(number, &mut self.out);
        if let Some(url) = onward {
            self.out = head_for(url, &self.out);
        }
        if !matches!(self.body, Body::Empty) || !matches!(target.body, Body::Empty) {
            self.body = target.body.clone();
        }
        self.body_at = 0;
        let begin = |upload: &Upload| upload.begin(target.body.bytes());
        self.sending = target.upload.as_ref().map_or(Sending::Unasked, begin);
        u32::try_from(self.out.len()).unwrap_or(u32::MAX)
    }

    /// Continues to connect, and the TLS handshake, as far as the socket permits. Returns true when requests
    /// can be sent.
    pub(super) fn poll_ready(&mut self) -> Result<bool, Fault> {
        if self.phase == Phase::Connecting && !self.poll_connect()? {
            return Ok(false);
        }
        Ok(self.phase == Phase::Ready || self.poll_handshake()?)
    }

    /// Returns the socket and TLS for use with another protocol than HTTP/1.
    pub(super) fn into_parts(self) -> (TcpStream, Option<Box<ClientConnection>>) {
        (self.socket, self.tls)
    }

    /// Returns the digests of the body, if it has been sent completely and must be verified.
    pub(super) fn sent(&self) -> &[Digest] {
        self.sending.digests()
    }

    /// Returns true if the request has not been sent completely.
    pub(super) fn is_sending(&self) -> bool {
        self.out_at < self.out.len()
            || self.body_at < self.body.bytes()
            || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Returns true if the socket has connected. Called when the socket is writable or broken.
    fn poll_connect(&mut self) -> Result<bool, Fault> {
        match self.socket.take_error() {
            Ok(Some(error)) | Err(error) => return Err(connect_fault(&error)),
            Ok(None) => {}
        }
        match self.socket.peer_addr() {
            Ok(_) => {
                self.phase = if self.tls.is_some() { Phase::Handshaking } else { Phase::Ready };
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(connect_fault(&error)),
        }
    }

    /// Continues the handshake as far as the socket permits. Returns true when it is complete.
    fn poll_handshake(&mut self) -> Result<bool, Fault> {
        let Some(tls) = &mut self.tls else {
            self.phase = Phase::Ready;
            return Ok(true);
        };
        loop {
            while tls.wants_write() {
                match tls.write_tls(&mut self.socket) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(broken(&error)),
                }
            }
            if !tls.is_handshaking() {
                self.phase = Phase::Ready;
                return Ok(true);
            }
            match tls.read_tls(&mut self.socket) {
                Ok(0) => return Err(Fault::Tls),
                Ok(_) => {
                    tls.process_new_packets().map_err(|error| handshake_fault(&error))?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(broken(&error)),
            }
        }
    }

    /// Sends as much as the socket accepts, and adds the number of bytes to `sent`.
    pub(super) fn flush(&mut self, pattern: &[u8], sent: &mut u64) -> Result<(), Fault> {
        loop {
            if self.out_at == self.out.len() {
                self.out.clear();
                self.out_at = 0;
            }
            // The head and the first piece of the body leave together.
            let is_head = self.body_at == 0 && self.out_at == 0;
            if (self.out.is_empty() || is_head) && self.body_at < self.body.bytes() {
                let head = self.out.len();
                self.out.resize(head + PIECE_BYTES, 0);
                let read = self.body.read_at(self.body_at, &mut self.out[head..], pattern);
                let bytes = read.map_err(|_| Fault::Body)?;
                self.out.truncate(head + bytes);
                self.body_at += bytes as u64;
                self.sending.add(&self.out[head..], self.body_at == self.body.bytes());
            }
            if !self.is_sending() {
                return Ok(());
            }
            let rest = &self.out[self.out_at..];
            let taken = match &mut self.tls {
                None => self.socket.write(rest),
                Some(tls) => send_tls(tls, &mut self.socket, rest),
            };
            match taken {
                Ok(bytes) => {
                    self.out_at += bytes;
                    *sent += bytes as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
        }
    }

    /// Reads once. Up to `discardable` bytes need not be copied. Requests one byte more, to detect a body
    /// that is too long.
    pub(super) fn receive(&mut self, buffer: &mut [u8], discardable: u64) -> Received {
        let received = match &mut self.tls {
            Some(tls) => receive_tls(tls, &mut self.socket, buffer),
            None if discardable >= DISCARD_MIN => {
                // The kernel counts the bytes and copies nothing (MSG_TRUNC, tcp(7)).
                let wanted = usize::try_from(discardable).unwrap_or(usize::MAX).saturating_add(1);
                let wanted = buffer.len().min(wanted);
                return match rustix::net::recv(&self.socket, &mut buffer[..wanted], RecvFlags::TRUNC) {
                    Ok((_, 0)) => Received::End,
                    Ok((_, bytes)) => Received::Discarded(bytes as u64, bytes == wanted),
                    Err(Errno::AGAIN | Errno::INTR) => Received::Blocked,
                    Err(error) => Received::Failed(broken(&error.into())),
                };
            }
            None => self.socket.read(buffer).map(|bytes| (bytes, bytes == buffer.len())),
        };
        match received {
            Ok((0, _)) => Received::End,
            Ok((bytes, more)) => Received::Bytes(bytes, more),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Received::Blocked,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Received::End,
            Err(error) if error.kind() == ErrorKind::InvalidData => Received::Failed(Fault::Tls),
            Err(error) => Received::Failed(broken(&error)),
        }
    }
}

/// Encrypts and sends. Counts plaintext bytes as sent when the encryption has accepted them.
fn send_tls(tls: &mut ClientConnection, socket: &mut TcpStream, bytes: &[u8]) -> std::io::Result<usize> {
    while tls.wants_write() {
        tls.write_tls(socket)?;
    }
    let taken = if bytes.is_empty() { 0 } else { tls.writer().write(bytes)? };
    while tls.wants_write() {
        match tls.write_tls(socket) {
            Ok(_) => {}
            // TLS has accepted these bytes. The next call sends the rest.
            Err(error) if error.kind() == ErrorKind::WouldBlock && taken > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}

/// Reads plaintext; `true` = more may be readable.
pub(super) fn receive_tls(
    tls: &mut ClientConnection,
    socket: &mut TcpStream,
    buffer: &mut [u8],
) -> std::io::Result<(usize, bool)> {
    loop {
        match tls.reader().read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            other => return other.map(|bytes| (bytes, true)),
        }
        // The next read from TLS reports the end of the connection, with or without close_notify.
        tls.read_tls(socket)?;
        tls.process_new_packets().map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))?;
    }
}

fn handshake_fault(error: &rustls::Error) -> Fault {
    match error {
        // The client offers protocols only if it requires HTTP/2, so this alert has one meaning.
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => Fault::NoHttp2,
        _ => Fault::Tls,
    }
}

fn connect_fault(error: &std::io::Error) -> Fault {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::CONNREFUSED) => Fault::Refused,
        Some(Errno::CONNRESET) => Fault::Reset,
        Some(Errno::MFILE | Errno::NFILE) => Fault::Descriptors,
        Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE | Errno::AGAIN) => Fault::Ports,
        Some(Errno::NOMEM | Errno::NOBUFS) => Fault::Memory,
        _ => Fault::Unreachable,
    }
}

pub(super) fn broken(error: &std::io::Error) -> Fault {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Fault::Reset,
        ErrorKind::OutOfMemory => Fault::Memory,
        _ => Fault::Closed,
    }
}
