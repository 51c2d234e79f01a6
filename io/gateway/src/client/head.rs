//! Request and response heads of the HTTP client.

use weir_http::{Framing, HeaderTable, ResponseHead};

/// Head of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestHead<'a> {
    pub(crate) method: &'a str,
    /// Request target: path and query.
    pub(crate) target: &'a str,
    /// Value of the Host header.
    pub(crate) authority: &'a str,
    /// Further header lines.
    pub(crate) lines: &'a [(String, Vec<u8>)],
}

impl RequestHead<'_> {
    /// Serializes the head. Requests that the connection is closed after the response.
    pub(crate) fn write(&self) -> Vec<u8> {
        let Self { method, target, authority, lines } = self;
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {authority}\r\n").into_bytes();
        if !lines.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
            head.extend_from_slice(
                concat!("User-Agent: weir/", env!("CARGO_PKG_VERSION"), "\r\n").as_bytes(),
            );
        }
        for (name, value) in *lines {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"Connection: close\r\n\r\n");
        head
    }
}

/// Head of a final response.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    /// Status code, 200 to 999.
    pub(crate) status: u16,
    /// Framing of the body.
    pub(crate) framing: Framing,
    lines: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Head {
    /// Copies a parsed head out of its buffer.
    pub(super) fn new(head: &ResponseHead, buf: &[u8], table: &HeaderTable) -> Self {
        let lines = table.entries().iter();
        let lines = lines.map(|entry| (entry.name().of(buf).to_vec(), entry.value().of(buf).to_vec()));
        Self { status: head.status, framing: head.framing, lines: lines.collect() }
    }

    /// Returns the value of the first header line with this name, ignoring case.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// Returns the value of a list header: all of its lines, joined. Empty if there is none.
    pub(crate) fn list(&self, name: &str) -> Vec<u8> {
        self.all(name).collect::<Vec<_>>().join(&b", "[..])
    }

    fn all<'h: 'n, 'n>(&'h self, name: &'n str) -> impl Iterator<Item = &'h [u8]> + use<'h, 'n> {
        let named = move |(there, _): &&(Vec<u8>, Vec<u8>)| there.eq_ignore_ascii_case(name.as_bytes());
        self.lines.iter().filter(named).map(|(_, value)| value.as_slice())
    }
}
