//! A client with full control of the bytes that it sends.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::path::Path;
use std::thread;
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use crate::response::{
    BodyFraming, Response, ResponseError, head_length, parse_head, take_body, take_what_came,
};
use crate::stream::{Ending, Stream, is_reset, is_timeout};
use crate::wait::PATIENCE;

/// A client that sends exactly the given bytes and checks responses strictly.
#[derive(Debug)]
pub struct RawClient {
    stream: Stream,
    /// Bytes that have arrived but were not yet returned.
    buffer: Vec<u8>,
    /// Set once the other side has ended the connection.
    ended: Option<Ending>,
    /// Set when a write has met a reset. The kernel reports it only once; reads then end as after a FIN.
    reset: bool,
}

impl RawClient {
    /// Connects.
    ///
    /// # Panics
    /// If the connection fails.
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap_or_else(|cause| panic!("connect to {address}: {cause}"))
    }

    /// Connects, for tests that expect a refusal.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn try_connect(address: SocketAddr) -> io::Result<Self> {
        Self::with_stream(Stream::connect(address, PATIENCE)?)
    }

    /// Connects from a given local address, such as 127.0.0.2.
    ///
    /// # Panics
    /// If the connection fails.
    #[track_caller]
    pub fn connect_from(source: IpAddr, address: SocketAddr) -> Self {
        let connect = || {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            socket.bind(&SocketAddr::new(source, 0).into())?;
            socket.connect_timeout(&address.into(), PATIENCE)?;
            socket.set_tcp_nodelay(true)?;
            Self::with_stream(Stream::Tcp(socket.into()))
        };
        connect().unwrap_or_else(|cause: io::Error| panic!("connect to {address} from {source}: {cause}"))
    }

    /// Connects to a Unix socket.
    ///
    /// # Panics
    /// If the connection fails.
    #[track_caller]
    pub fn connect_unix(path: &Path) -> Self {
        let client = Stream::connect_unix(path).and_then(Self::with_stream);
        client.unwrap_or_else(|cause| panic!("connect to {}: {cause}", path.display()))
    }

    fn with_stream(stream: Stream) -> io::Result<Self> {
        stream.set_timeout(PATIENCE)?;
        Ok(Self { stream, buffer: Vec::new(), ended: None, reset: false })
    }

    /// Sets the timeout of reads and writes.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.stream.set_timeout(timeout).expect("SO_RCVTIMEO");
        self
    }

    /// Reduces the kernel's receive buffer, so that the sender soon notices a client that does not read.
    pub fn receive_buffer(self, bytes: usize) -> Self {
        SockRef::from(&self.stream).set_recv_buffer_size(bytes).expect("SO_RCVBUF");
        self
    }

    /// Returns the client's own address.
    ///
    /// # Panics
    /// If it is a Unix socket.
    pub fn local_addr(&self) -> SocketAddr {
        match &self.stream {
            Stream::Tcp(stream) => stream.local_addr().expect("bound"),
            Stream::Unix(_) => panic!("a Unix socket has no IP address"),
        }
    }

    /// Sends these bytes.
    ///
    /// # Panics
    /// If they cannot be sent.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.try_send(bytes).unwrap_or_else(|cause| panic!("send: {cause}"));
        self
    }

    /// Sends these bytes, for tests that expect a failure.
    ///
    /// # Errors
    /// If the connection is gone, or the kernel has no room within the timeout.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let sent = self.stream.write_all(bytes.as_ref());
        self.reset |= sent.as_ref().is_err_and(is_reset);
        sent
    }

    /// Sends these bytes one by one, `interval` apart. Stops when the connection ends. Returns the number of
    /// bytes sent.
    pub fn send_slowly(&mut self, bytes: impl AsRef<[u8]>, interval: Duration) -> usize {
        for (sent, byte) in bytes.as_ref().iter().enumerate() {
            if self.try_send([*byte]).is_err() {
                return sent;
            }
            thread::sleep(interval);
        }
        bytes.as_ref().len()
    }

    /// Sends a FIN. The connection can still be read.
    pub fn half_close(&mut self) -> &mut Self {
        // This fails only if the other side has ended the connection; the next read reports that.
        let _ = self.stream.shutdown(Shutdown::Write);
        self
    }

    /// Ends the connection with a reset.
    pub fn reset(self) {
        self.stream.reset_on_close();
    }

    /// Reads the next response, which may be 1xx, to a request other than HEAD.
    ///
    /// # Errors
    /// If there is no complete response, or it is invalid.
    pub fn try_response(&mut self) -> Result<Response, ResponseError> {
        self.read_message(false)
    }

    /// Reads the next response, which may be 1xx, to a request other than HEAD.
    ///
    /// # Panics
    /// If there is no complete response, or it is invalid.
    #[track_caller]
    pub fn response(&mut self) -> Response {
        self.try_response().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads the response to a HEAD request.
    ///
    /// # Panics
    /// If there is no complete response, or it is invalid.
    #[track_caller]
    pub fn response_to_head(&mut self) -> Response {
        self.read_message(true).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends one request and reads its final response.
    ///
    /// # Panics
    /// As [`Self::send`] and [`Self::response`].
    #[track_caller]
    pub fn exchange(&mut self, request: impl AsRef<[u8]>) -> Response {
        self.send(request).final_response()
    }

    /// Reads the next response that is not 1xx (101 counts as final).
    ///
    /// # Panics
    /// As [`Self::response`].
    #[track_caller]
    pub fn final_response(&mut self) -> Response {
        loop {
            let response = self.response();
            if response.status >= 200 || response.status == 101 {
                return response;
            }
        }
    }

    /// Reads the head of a response; its body can be read afterwards.
    ///
    /// # Panics
    /// If there is no head, or it is invalid.
    #[track_caller]
    pub fn response_head(&mut self) -> Response {
        self.read_head(false).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads exactly `count` bytes.
    ///
    /// # Panics
    /// If they do not arrive.
    #[track_caller]
    pub fn read_exact(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            let got = self.fill().unwrap_or_else(|cause| panic!("read: {cause}"));
            assert!(got, "{:?} after {} of {count} bytes", self.ended, self.buffer.len());
        }
        self.buffer.drain(..count).collect()
    }

    /// Reads `count` bytes in pieces of at most `piece` bytes, `interval` apart; the rest stays in the
    /// kernel. Returns fewer if the connection ends.
    ///
    /// # Panics
    /// If no byte arrives within the timeout.
    #[track_caller]
    pub fn read_slowly(&mut self, count: usize, piece: usize, interval: Duration) -> Vec<u8> {
        let (mut bytes, mut room) = (Vec::new(), vec![0; piece]);
        while bytes.len() < count {
            if self.buffer.is_empty()
                && !self.fill_with(&mut room).unwrap_or_else(|cause| panic!("read: {cause}"))
            {
                break;
            }
            let taken = self.buffer.len().min(piece).min(count - bytes.len());
            bytes.extend(self.buffer.drain(..taken));
            thread::sleep(interval);
        }
        bytes
    }

    /// Reads everything up to the end of the connection. Returns it with the way in which the connection
    /// ended.
    ///
    /// # Panics
    /// If the connection does not end within the timeout.
    #[track_caller]
    pub fn read_to_end(&mut self) -> (Vec<u8>, Ending) {
        while self.fill().unwrap_or_else(|cause| panic!("the connection does not end: {cause}")) {}
        (std::mem::take(&mut self.buffer), self.ended.expect("ended"))
    }

    /// Returns how the connection ended, for a connection on which no more bytes are expected.
    ///
    /// # Panics
    /// If more bytes arrive, or the connection does not end within the timeout.
    #[track_caller]
    pub fn ending(&mut self) -> Ending {
        let (surplus, ending) = self.read_to_end();
        assert!(surplus.is_empty(), "more than expected: {:?}", String::from_utf8_lossy(&surplus));
        ending
    }

    /// Returns whether the connection stays open and silent for that time.
    pub fn is_quiet(&mut self, time: Duration) -> bool {
        self.stream.set_timeout(time).expect("SO_RCVTIMEO");
        let quiet = self.buffer.is_empty() && self.fill().is_err_and(|error| is_timeout(&error));
        self.stream.set_timeout(PATIENCE).expect("SO_RCVTIMEO");
        quiet
    }

    fn read_message(&mut self, to_head: bool) -> Result<Response, ResponseError> {
        let mut response = self.read_head(to_head)?;
        loop {
            match take_body(&mut response, &self.buffer) {
                Ok(Some(taken)) => {
                    self.buffer.drain(..taken);
                    return Ok(response);
                }
                Ok(None) => {}
                Err(why) => return Err(ResponseError::Malformed(why, std::mem::take(&mut self.buffer))),
            }
            if !self.fill().map_err(|_| ResponseError::Timeout(self.buffer.clone()))? {
                take_what_came(&mut response, &std::mem::take(&mut self.buffer));
                return match (response.framing, self.ended) {
                    (BodyFraming::Close, Some(Ending::Fin)) => Ok(response),
                    (_, ended) => {
                        Err(ResponseError::InBody(ended.unwrap_or(Ending::Fin), Box::new(response)))
                    }
                };
            }
        }
    }

    fn read_head(&mut self, to_head: bool) -> Result<Response, ResponseError> {
        loop {
            if let Some(length) = head_length(&self.buffer) {
                let head: Vec<u8> = self.buffer.drain(..length).collect();
                return parse_head(&head, to_head).map_err(|why| ResponseError::Malformed(why, head));
            }
            if !self.fill().map_err(|_| ResponseError::Timeout(self.buffer.clone()))? {
                let ending = self.ended.unwrap_or(Ending::Fin);
                let bytes = std::mem::take(&mut self.buffer);
                return Err(match bytes.is_empty() {
                    true => ResponseError::Nothing(ending),
                    false => ResponseError::InHead(ending, bytes),
                });
            }
        }
    }

    /// Reads once. Returns false when the connection has ended. The only errors are timeouts.
    fn fill(&mut self) -> io::Result<bool> {
        self.fill_with(&mut [0; 64 * 1024])
    }

    /// Reads like [`Self::fill`], at most the size of `piece`.
    fn fill_with(&mut self, piece: &mut [u8]) -> io::Result<bool> {
        if self.ended.is_some() {
            return Ok(false);
        }
        match self.stream.read(piece) {
            Ok(0) => self.ended = Some(if self.reset { Ending::Reset } else { Ending::Fin }),
            Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
            Err(error) if is_reset(&error) => self.ended = Some(Ending::Reset),
            // A read with a timeout fails with EINTR when a stopped process continues (signal(7)).
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(self.ended.is_none())
    }
}
