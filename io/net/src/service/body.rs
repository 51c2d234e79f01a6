//! The body of a request.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

/// Body of a request, without its framing.
///
/// It can be read until the service returns its response. The first read sends `100 Continue` if the client
/// expects it. A service that responds without a read saves the client the transfer.
pub struct Body {
    source: Box<dyn BodySource>,
    length: Option<u64>,
}

/// Source of a request's body.
pub trait BodySource {
    /// Reads into `buffer`, which is not empty; 0 = the body is complete. After an error the body will never
    /// be complete.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Sends an interim response (RFC 9110 section 15.2) with this head, before the next read waits.
    fn inform(&mut self, head: Vec<u8>) {
        drop(head);
    }
}

impl Body {
    /// Creates a body of `length` bytes; `None` = unknown before its end.
    pub fn new(source: Box<dyn BodySource>, length: Option<u64>) -> Self {
        Self { source, length }
    }

    /// Creates the body of a request without one.
    pub fn empty() -> Self {
        // A zero-sized type needs no allocation.
        Self { source: Box::new(Nothing), length: Some(0) }
    }

    /// Creates a body from bytes, for tests.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        let length = Some(bytes.len() as u64);
        Self { source: Box::new(Bytes { bytes, at: 0 }), length }
    }

    /// Returns the length; `None` = unknown before the end. 0 if there is no body.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Returns true if the body is known to be empty.
    pub fn is_empty(&self) -> bool {
        self.length == Some(0)
    }

    /// Sends the client an interim response of this status (100 to 199) before the next wait for the body.
    /// Omits lines whose value contains control characters. HTTP/1.0 clients do not know interim responses,
    /// so the caller must check the version.
    pub fn inform(&mut self, status: u16, reason: &str, lines: &[(&str, &str)]) {
        let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
        for (name, value) in lines {
            if !value.bytes().any(|byte| byte.is_ascii_control()) {
                head.extend([name, ": ", value, "\r\n"]);
            }
        }
        head.push_str("\r\n");
        self.source.inform(head.into_bytes());
    }

    /// Reads into `buffer`; 0 = the body is complete.
    ///
    /// # Errors
    /// If the body will never be complete: the client is gone, too slow, or violates the framing. The proxy
    /// then answers the client, whatever the service returns.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, buffer)).await
    }

    /// Polls a read, as [`Self::read`] does.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        if buffer.is_empty() { Poll::Ready(Ok(0)) } else { self.source.poll_read(cx, buffer) }
    }

    /// Reads the whole body; `None` = it has more than `bytes_max` bytes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_all(&mut self, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        if self.length.is_some_and(|length| length > bytes_max as u64) {
            return Ok(None);
        }
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match self.read(&mut buffer).await? {
                0 => return Ok(Some(all)),
                read if all.len() + read > bytes_max => return Ok(None),
                read => all.extend_from_slice(&buffer[..read]),
            }
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("length", &self.length).finish_non_exhaustive()
    }
}

struct Nothing;

impl BodySource for Nothing {
    fn poll_read(&mut self, _: &mut Context<'_>, _: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(0))
    }
}

struct Bytes {
    bytes: Vec<u8>,
    at: usize,
}

impl BodySource for Bytes {
    fn poll_read(&mut self, _: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let rest = &self.bytes[self.at..];
        let taken = rest.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&rest[..taken]);
        self.at += taken;
        Poll::Ready(Ok(taken))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_body_that_is_none_ends_where_it_begins() {
        let mut body = Body::empty();
        assert!(body.is_empty());
        let read = body.poll_read(&mut Context::from_waker(Waker::noop()), &mut [0]);
        assert!(matches!(read, Poll::Ready(Ok(0))));
    }
}
