//! Connections of the open loop.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::workshop::HOST;

/// One kept connection with at most one request.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    /// Due time of its request; `None` = free.
    due: Option<Duration>,
    /// Received part of the response's head.
    head: Vec<u8>,
    /// Remaining bytes of the body, once the head is complete.
    body_left: Option<usize>,
    /// Set once a response was received on it.
    kept: bool,
}

/// Result of a read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The response is not complete.
    Waiting,
    /// The response is complete; `due` is its request's due time.
    Answered { due: Duration },
    /// The server closed the connection while no request was on it, as balancers do with idle connections.
    Closed,
    /// The server closed the connection as the request was sent, before any byte of a response. A client on a
    /// kept connection must expect that (RFC 9112 section 9.3.1) and retry.
    Unheard { due: Duration },
}

/// Limit of a head; those of the origin and of balancers have a few hundred bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;

impl Connection {
    pub(super) fn open(address: SocketAddr, path: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).context(format_args!("connect to {address}"))?;
        stream.set_nodelay(true).context("TCP_NODELAY")?;
        stream.set_nonblocking(true).context("a non-blocking socket")?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n").into_bytes();
        Ok(Self { stream, request, due: None, head: Vec::new(), body_left: None, kept: false })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends the request that is due at `due`.
    pub(super) fn ask(&mut self, due: Duration) -> Result<()> {
        self.due = Some(due);
        // A request is far smaller than the send buffer of a free connection, so it is sent as a whole.
        match self.stream.write_all(&self.request) {
            // The next read reports the closed connection.
            Err(error) if self.kept && is_closed(&error) => Ok(()),
            sent => sent.context("sending a request"),
        }
    }

    /// Reads the bytes that have arrived.
    pub(super) fn read(&mut self) -> Result<Progress> {
        let mut buffer = [0; 64 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) if self.due.is_none() => return Ok(Progress::Closed),
                Ok(0) => return self.unheard().ok_or_else(|| Error::new("the balancer closed a connection")),
                Ok(bytes) => {
                    self.take(&buffer[..bytes])?;
                    if self.body_left == Some(0) {
                        self.body_left = None;
                        self.kept = true;
                        let due = self.due.take().ok_or_else(|| Error::new("an answer to no request"))?;
                        return Ok(Progress::Answered { due });
                    }
                    if bytes < buffer.len() {
                        return Ok(Progress::Waiting);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Waiting),
                Err(error) if is_closed(&error) && self.due.is_none() => return Ok(Progress::Closed),
                Err(error) => {
                    let unheard = if is_closed(&error) { self.unheard() } else { None };
                    return unheard.map_or_else(|| Err(error).context("reading an answer"), Ok);
                }
            }
        }
    }

    /// Returns [`Progress::Unheard`] if the server may have closed a kept connection before it received the
    /// request.
    fn unheard(&mut self) -> Option<Progress> {
        let nothing_came = self.kept && self.head.is_empty() && self.body_left.is_none();
        self.due.take_if(|_| nothing_came).map(|due| Progress::Unheard { due })
    }

    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let surplus = |left: usize, got: usize| {
            left.checked_sub(got).ok_or_else(|| Error::new("an answer is longer than it said"))
        };
        if let Some(left) = self.body_left {
            self.body_left = Some(surplus(left, bytes.len())?);
            return Ok(());
        }
        self.head.extend_from_slice(bytes);
        let Some(end) = self.head.windows(4).position(|window| window == b"\r\n\r\n") else {
            let too_long = self.head.len() > HEAD_BYTES_MAX;
            return if too_long { Err(Error::new("an answer's head does not end")) } else { Ok(()) };
        };
        let length = body_length(&self.head[..end])?;
        self.body_left = Some(surplus(length, self.head.len() - end - 4)?);
        self.head.clear();
        Ok(())
    }
}

fn is_closed(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

fn body_length(head: &[u8]) -> Result<usize> {
    let head = String::from_utf8_lossy(head);
    let refused = || Error::new(format!("not the answer that was asked for:\n{head}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    if status != Some("200") {
        return Err(refused());
    }
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    length.ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_the_body_comes_from_the_head() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1024\r\nX: y";
        assert_eq!(body_length(head).unwrap(), 1024);
    }

    #[test]
    fn an_error_or_an_unknown_length_ends_the_run() {
        assert!(body_length(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0").is_err());
        assert!(body_length(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked").is_err());
    }
}
