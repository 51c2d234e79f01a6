//! One HTTP/1.1 connection to another server.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use weir_http::{HeadLimits, HeaderTable, ResponseTo, is_worth_parsing, parse_response};
use weir_net::Stream;

use super::floor::Floor;
use super::{Fault, Head};

const LIMITS: HeadLimits = HeadLimits { head_bytes_max: 32 * 1024, headers_max: 128, target_bytes_max: 0 };

/// Maximum number of interim responses to one request.
const INTERIM_MAX: u32 = 20;

/// Number of bytes of a head that are read at a time.
const READ_BYTES: usize = 8 * 1024;

/// A connection to a server, for one request.
pub(crate) struct Connection {
    stream: Stream,
    /// Received bytes that are not consumed yet.
    received: Vec<u8>,
    address: SocketAddr,
    idle_timeout: Duration,
    floor: Floor,
}

impl Connection {
    pub(super) fn new(stream: Stream, address: SocketAddr, idle_timeout: Duration, floor: Floor) -> Self {
        Self { stream, received: Vec::new(), address, idle_timeout, floor }
    }

    /// Returns the server's address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Sends all bytes. Data that TLS buffers is sent by [`Self::flush`] at the latest.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        while !bytes.is_empty() {
            let stream = &mut self.stream;
            let begun = Instant::now();
            let written = timeout(self.idle_timeout, poll_fn(|cx| stream.poll_write(cx, bytes))).await;
            match written.map_err(|_| self.silent())? {
                Ok(0) => return Err(Fault::passing(io::Error::from(io::ErrorKind::WriteZero))),
                Ok(written) => {
                    self.floor.moved(begun.elapsed(), written)?;
                    bytes = &bytes[written..];
                }
                Err(error) => return Err(Fault::passing(error)),
            }
        }
        Ok(())
    }

    /// Waits until all sent data has left this process.
    pub(crate) async fn flush(&mut self) -> Result<(), Fault> {
        let stream = &mut self.stream;
        let flushed = timeout(self.idle_timeout, poll_fn(|cx| stream.poll_flush(cx))).await;
        flushed.map_err(|_| self.silent())?.map_err(Fault::passing)
    }

    /// Waits for the head of the final response. `patience` limits the time for each head.
    pub(crate) async fn response(&mut self, is_head: bool, patience: Duration) -> Result<Head, Fault> {
        for _ in 0..=INTERIM_MAX {
            let next = timeout(patience, self.next_head(is_head)).await;
            let late = || Fault::passing(format!("no answer within {} ms", patience.as_millis()));
            if let Next::Final(head) = next.map_err(|_| late())?? {
                return Ok(head);
            }
        }
        Err(Fault::lasting("too many interim responses"))
    }

    /// Waits until `patience` is over for a final response or a 100. Returns `None` if there is no final
    /// response yet.
    pub(crate) async fn response_or_continue(&mut self, patience: Duration) -> Result<Option<Head>, Fault> {
        let patience = patience.min(self.idle_timeout / 2);
        let waiting = async {
            for _ in 0..=INTERIM_MAX {
                match self.next_head(false).await? {
                    Next::Final(head) => return Ok(Some(head)),
                    Next::Interim(100) => return Ok(None),
                    Next::Interim(_) => {}
                }
            }
            Err(Fault::lasting("too many interim responses"))
        };
        // A timeout is no error here.
        timeout(patience, waiting).await.unwrap_or(Ok(None))
    }

    /// Returns a final response that has already come while the request is still being sent. Does not wait.
    pub(crate) async fn early_response(&mut self) -> Result<Option<Head>, Fault> {
        let mut buffer = [0; READ_BYTES];
        let stream = &mut self.stream;
        let polled = poll_fn(|cx| match stream.poll_read(cx, &mut buffer) {
            Poll::Ready(read) => Poll::Ready(Some(read)),
            Poll::Pending => Poll::Ready(None),
        });
        match polled.await {
            None => {}
            Some(Ok(0)) => return Err(Fault::passing("the server has ended the connection")),
            Some(Ok(read)) => self.received.extend_from_slice(&buffer[..read]),
            Some(Err(error)) => return Err(Fault::passing(error)),
        }
        loop {
            match self.parse(false)? {
                Some(Next::Final(head)) => return Ok(Some(head)),
                Some(Next::Interim(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// Parses the next head from the received bytes.
    fn parse(&mut self, is_head: bool) -> Result<Option<Next>, Fault> {
        let mut table = HeaderTable::new();
        let to = ResponseTo { is_head, ..ResponseTo::default() };
        let parsed = parse_response(&self.received, to, &LIMITS, &mut table).map_err(Fault::lasting)?;
        let Some(head) = parsed else { return Ok(None) };
        let next = match head.is_interim() {
            true => Next::Interim(head.status),
            false => Next::Final(Head::new(&head, &self.received, &table)),
        };
        self.received.drain(..head.head_bytes as usize);
        Ok(Some(next))
    }

    /// Waits for the next head without a timeout; the caller limits the time.
    async fn next_head(&mut self, is_head: bool) -> Result<Next, Fault> {
        let mut before = 0;
        loop {
            if is_worth_parsing(&self.received, before)
                && let Some(next) = self.parse(is_head)?
            {
                return Ok(next);
            }
            before = self.received.len();
            let mut buffer = [0; READ_BYTES];
            // Read from the stream only: bytes received earlier stay where they are.
            let stream = &mut self.stream;
            match poll_fn(|cx| stream.poll_read(cx, &mut buffer)).await.map_err(Fault::passing)? {
                0 => return Err(Fault::passing("broken off before the response")),
                read => self.received.extend_from_slice(&buffer[..read]),
            }
        }
    }

    /// Reads the next bytes. Returns 0 if the server has closed its sending direction.
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        if self.received.is_empty() {
            let stream = &mut self.stream;
            let begun = Instant::now();
            let read = timeout(self.idle_timeout, poll_fn(|cx| stream.poll_read(cx, buffer))).await;
            let read = read.map_err(|_| self.silent())?.map_err(Fault::passing)?;
            // The end of the stream does not count as slow.
            if read > 0 {
                self.floor.moved(begun.elapsed(), read)?;
            }
            return Ok(read);
        }
        let taken = self.received.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&self.received[..taken]);
        self.received.drain(..taken);
        Ok(taken)
    }

    fn silent(&self) -> Fault {
        Fault::passing(format!("nothing has moved for {} ms", self.idle_timeout.as_millis()))
    }
}

enum Next {
    Interim(u16),
    Final(Head),
}
