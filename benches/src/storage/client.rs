//! A blocking client with one connection, for requests that wrk cannot send.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::workshop::HOST;

/// A connection to a file server.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
}

/// Head of a response.
pub(super) struct Head {
    pub(super) status: u16,
    length: Option<u64>,
    fields: Vec<(String, String)>,
}

impl Head {
    /// Returns the value of the first field with this name.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut named = self.fields.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }
}

impl Client {
    /// Connects.
    pub(super) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).context("connecting to the file server")?;
        let patience = Some(Duration::from_secs(120));
        stream
            .set_read_timeout(patience)
            .and_then(|()| stream.set_write_timeout(patience))
            .context("timeouts")?;
        stream.set_nodelay(true).context("TCP_NODELAY")?;
        Ok(Self { stream: BufReader::with_capacity(256 << 10, stream) })
    }

    /// Sends the head of a request.
    pub(super) fn send_head(&mut self, method: &str, path: &str, fields: &str) -> Result<()> {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n");
        self.stream.get_mut().write_all(head.as_bytes()).context(format_args!("{method} {path}"))
    }

    /// Sends a part of a body.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes).context("sending a body")
    }

    /// Reads the head of a response.
    pub(super) fn head(&mut self) -> Result<Head> {
        let mut head = Head { status: 0, length: None, fields: Vec::new() };
        let mut line = String::new();
        loop {
            line.clear();
            if self.stream.read_line(&mut line).context("reading an answer")? == 0 {
                return Err(Error::new("the server closed the connection instead of answering"));
            }
            let text = line.trim_end();
            if let Some(rest) = text.strip_prefix("HTTP/1.1 ") {
                head.status = rest.get(..3).and_then(|status| status.parse().ok()).unwrap_or(0);
            } else if let Some((name, value)) = text.split_once(':') {
                if name.eq_ignore_ascii_case("content-length") {
                    head.length = value.trim().parse().ok();
                }
                head.fields.push((name.to_owned(), value.trim().to_owned()));
            } else if text.is_empty() {
                // A 204 has no content by definition.
                if head.status == 204 {
                    head.length = Some(0);
                }
                return Ok(head);
            }
        }
    }

    /// Waits for the first bytes of the body.
    pub(super) fn wait_for_body(&mut self) -> Result<()> {
        let some = self.stream.fill_buf().context("reading a body")?;
        if some.is_empty() { Err(Error::new("an empty body")) } else { Ok(()) }
    }

    /// Reads a body to its end and discards it. Returns its length.
    pub(super) fn skip_body(&mut self, head: &Head) -> Result<u64> {
        match head.length {
            Some(length) => self.skip(length),
            None => {
                let mut total = 0;
                loop {
                    let mut line = String::new();
                    self.stream.read_line(&mut line).context("reading a chunk")?;
                    let length = u64::from_str_radix(line.trim(), 16).context("a chunk's length")?;
                    total += self.skip(length + 2)? - 2;
                    if length == 0 {
                        return Ok(total);
                    }
                }
            }
        }
    }

    fn skip(&mut self, length: u64) -> Result<u64> {
        let copied = std::io::copy(&mut self.stream.by_ref().take(length), &mut std::io::sink());
        let copied = copied.context("reading a body")?;
        if copied == length { Ok(length) } else { Err(Error::new("a body broke off")) }
    }
}
