//! Sends requests over one keep-alive connection.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_http::{BodyScanner, HeadLimits, HeaderTable, ResponseHead, ResponseTo, parse_response};

use super::tally::{Failure, Kind};

/// Bytes per read.
const READ_BYTES: usize = 16 * 1024;

/// Connection that carries one request at a time.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    table: HeaderTable,
}

/// Complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// True if the connection can take another request.
    pub(super) keep_alive: bool,
}

impl Connection {
    pub(super) async fn open(site: SocketAddr) -> Result<Self, Failure> {
        let open = async {
            let stream = TcpStream::connect(site).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let stream = open.await.map_err(|error: io::Error| Failure::new(Kind::Connect, error.to_string()))?;
        Ok(Self { stream, table: HeaderTable::new() })
    }

    /// Returns true if the connection is still open, as far as known, and no unrequested bytes have arrived.
    pub(super) fn is_open(&self) -> bool {
        let mut byte = [0];
        matches!(self.stream.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sends a request without a body and reads the response to its end. The connection must not be used
    /// after an error.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> Result<Answer, Failure> {
        let no_answer = |error: io::Error| Failure::new(Kind::NoAnswer, error.to_string());
        self.stream.write_all(request).await.map_err(no_answer)?;
        let mut received = Vec::with_capacity(READ_BYTES);
        let head = loop {
            if self.stream.read_buf(&mut received).await.map_err(no_answer)? == 0 {
                let kind = if received.is_empty() { Kind::NoAnswer } else { Kind::Broken };
                return Err(Failure::new(kind, "the connection was closed before the answer was there"));
            }
            if let Some(head) = self.final_head(&mut received)? {
                break head;
            }
        };
        received.drain(..head.head_bytes as usize);
        self.body(&head, received).await?;
        Ok(Answer { status: head.status, keep_alive: head.keep_alive })
    }

    /// Returns the head of the final response once it has arrived. Removes interim responses.
    fn final_head(&mut self, received: &mut Vec<u8>) -> Result<Option<ResponseHead>, Failure> {
        loop {
            let to = ResponseTo::default();
            let parsed = parse_response(received, to, &HeadLimits::default(), &mut self.table);
            match parsed.map_err(|error| Failure::new(Kind::Broken, error.to_string()))? {
                Some(head) if head.is_interim() => drop(received.drain(..head.head_bytes as usize)),
                other => return Ok(other),
            }
        }
    }

    async fn body(&mut self, head: &ResponseHead, mut received: Vec<u8>) -> Result<(), Failure> {
        let broken = |error: String| Failure::new(Kind::Broken, error);
        let mut body = BodyScanner::of_response(head.framing);
        loop {
            let taken = body.feed(&received).map_err(|error| broken(error.to_string()))?;
            if body.is_done() {
                let surplus = received.len() - taken;
                return if surplus == 0 { Ok(()) } else { Err(broken(format!("{surplus} bytes too many"))) };
            }
            received.clear();
            match self.stream.read_buf(&mut received).await {
                Ok(0) if body.may_end_here() => return Ok(()),
                Ok(0) => {
                    return Err(broken("the connection was closed in the middle of the body".to_owned()));
                }
                Ok(_) => {}
                Err(error) => return Err(broken(format!("in the middle of the body: {error}"))),
            }
        }
    }
}
