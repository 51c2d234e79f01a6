//! The server's side of a connection in tests.

use std::io;
use std::net::Shutdown;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::bodies::{field, line, parse_chunked};
use crate::response::head_length;
use crate::stream::{Ending, Stream, is_reset};

/// The server's side of one connection. When its handler returns, the connection closes: with a FIN if all
/// received bytes were read, else the kernel sends a reset.
#[derive(Debug)]
pub struct Peer {
    stream: Arc<Stream>,
    number: usize,
    /// Bytes that were read from the socket but not yet returned.
    buffer: Vec<u8>,
    record: Arc<Mutex<Vec<u8>>>,
}

/// A request that a [`Peer`] received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Request line and headers, up to and including the empty line.
    pub head: Vec<u8>,
    /// Content without chunk framing.
    pub body: Vec<u8>,
    /// Trailer lines of a chunked body.
    pub trailers: Vec<(String, String)>,
}

impl Peer {
    pub(crate) fn new(stream: Arc<Stream>, number: usize, record: Arc<Mutex<Vec<u8>>>) -> Self {
        Self { stream, number, buffer: Vec::new(), record }
    }

    /// Returns the number of this connection on its server, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Reads the next request, with the body that its head announces.
    ///
    /// # Errors
    /// `UnexpectedEof` if the connection ends first (also between requests); `InvalidData` if the framing is
    /// invalid.
    pub fn request(&mut self) -> io::Result<Message> {
        let head = self.head()?;
        self.message(head)
    }

    /// Reads the body of a request whose head was read by [`Self::head`].
    ///
    /// # Errors
    /// As [`Self::request`].
    pub fn body_of(&mut self, head: &[u8]) -> io::Result<Vec<u8>> {
        self.message(head.to_vec()).map(|message| message.body)
    }

    fn message(&mut self, head: Vec<u8>) -> io::Result<Message> {
        let mut message = Message { head, body: Vec::new(), trailers: Vec::new() };
        if let Some(length) = message.header("content-length") {
            let length = length.parse().map_err(|_| bad(format!("Content-Length {length:?}")))?;
            message.body = self.take(length)?;
        } else if message.header("transfer-encoding").is_some() {
            loop {
                if let Some(chunked) = parse_chunked(&self.buffer).map_err(bad)? {
                    self.buffer.drain(..chunked.wire_bytes);
                    message.body = chunked.body;
                    message.trailers = chunked.trailers;
                    break;
                }
                self.fill_or_eof()?;
            }
        }
        Ok(message)
    }

    /// Reads up to and including an empty line.
    ///
    /// # Errors
    /// If the connection ends first.
    pub fn head(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(length) = head_length(&self.buffer) {
                return Ok(self.buffer.drain(..length).collect());
            }
            self.fill_or_eof()?;
        }
    }

    /// Reads exactly `count` bytes.
    ///
    /// # Errors
    /// If the connection ends first.
    pub fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < count {
            self.fill_or_eof()?;
        }
        Ok(self.buffer.drain(..count).collect())
    }

    /// Reads everything up to the end of the connection. Returns it with the way in which the connection
    /// ended.
    ///
    /// # Errors
    /// If the connection does not end within the timeout.
    pub fn take_to_end(&mut self) -> io::Result<(Vec<u8>, Ending)> {
        let ending = loop {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => break Ending::Fin,
                Err(error) if is_reset(&error) => break Ending::Reset,
                Err(error) => return Err(error),
            }
        };
        Ok((std::mem::take(&mut self.buffer), ending))
    }

    /// Sends these bytes.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends these bytes one by one, `interval` apart.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn send_slowly(&mut self, bytes: impl AsRef<[u8]>, interval: Duration) -> io::Result<()> {
        for byte in bytes.as_ref() {
            self.stream.write_all(&[*byte])?;
            thread::sleep(interval);
        }
        Ok(())
    }

    /// Sends a 200 with this body and a Content-Length.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn respond(&mut self, body: impl AsRef<[u8]>) -> io::Result<()> {
        let body = body.as_ref();
        let mut response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        response.extend_from_slice(body);
        self.send(response)
    }

    /// Sends a FIN. The connection can still be read.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn half_close(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Makes the connection end with a reset when the handler returns.
    pub fn reset(&mut self) {
        self.stream.reset_on_close();
    }

    /// Reads without a response until the other side, or the server, ends the connection.
    pub fn hold(&mut self) {
        // A read timeout ends the loop, too.
        while !matches!(self.fill(), Ok(false) | Err(_)) {}
    }

    fn fill_or_eof(&mut self) -> io::Result<()> {
        if self.fill()? { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Reads once. Returns false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let mut piece = [0; 64 * 1024];
        let count = self.stream.read(&mut piece)?;
        self.buffer.extend_from_slice(&piece[..count]);
        self.record.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..count]);
        Ok(count > 0)
    }
}

impl Message {
    /// Returns the request line.
    pub fn request_line(&self) -> String {
        String::from_utf8_lossy(line(&self.head).unwrap_or_default()).into_owned()
    }

    /// Returns the value of the first header line with that name.
    pub fn header(&self, name: &str) -> Option<String> {
        self.header_values(name).into_iter().next()
    }

    /// Returns the values of all header lines with that name.
    pub fn header_values(&self, name: &str) -> Vec<String> {
        let named = self.headers().into_iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value).collect()
    }

    /// Returns the header lines in their order, as written.
    ///
    /// # Panics
    /// If a line is invalid: no such line may ever reach a server.
    pub fn headers(&self) -> Vec<(String, String)> {
        let text = self.head.strip_suffix(b"\r\n\r\n").unwrap_or(&self.head);
        let mut lines = Vec::new();
        let mut at = line(text).map_or(text.len(), |first| first.len() + 2);
        while at < text.len() {
            let text = line(&text[at..]).unwrap_or(&text[at..]);
            lines.push(field(text).unwrap_or_else(|why| panic!("the server received a {why}")));
            at += text.len() + 2;
        }
        lines
    }
}

fn bad(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
