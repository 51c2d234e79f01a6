//! Heads of requests.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

/// Head of a request. All ranges are byte ranges in `head`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Bytes of the head, as received.
    pub head: Vec<u8>,
    /// Method.
    pub method: Range<usize>,
    /// Path of the target, without query, as the client sent it. `*` for an OPTIONS of the whole server;
    /// empty for a target without path.
    pub path: Range<usize>,
    /// Query, without `?`.
    pub query: Option<Range<usize>>,
    /// Effective host, with its port if it has one.
    pub host: Option<Range<usize>>,
    /// Header lines, in the received order.
    pub lines: Vec<HeaderLine>,
    /// Set when the client's version is at most HTTP/1.0.
    pub is_http10: bool,
    /// Set when the request used TLS from the client's point of view.
    pub is_https: bool,
    /// Address of the connection's peer; `None` on a Unix socket.
    pub peer: Option<SocketAddr>,
    /// Address of the client, after PROXY protocol and trusted forwarding headers.
    pub client: Option<IpAddr>,
    /// TLS session of the client; `None` = plaintext.
    pub tls: Option<ClientTls>,
    /// Request id for logs; empty = none.
    pub id: String,
}

/// A header line, as ranges of its name and of its value without surrounding whitespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderLine {
    /// Name.
    pub name: Range<usize>,
    /// Value.
    pub value: Range<usize>,
}

/// TLS session of a client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientTls {
    /// Version, `1.2` or `1.3`.
    pub version: &'static str,
    /// IANA name of the cipher suite.
    pub cipher: &'static str,
    /// Subject of the client's verified certificate; empty = no certificate.
    pub subject: String,
    /// Issuer of that certificate; empty = no certificate.
    pub issuer: String,
    /// End of that certificate's validity, in seconds since 1970.
    pub not_after_unix_secs: Option<u64>,
}

impl Request {
    /// Creates a request with these lines and without a client, for tests and for evaluating sample requests.
    pub fn new(method: &str, target: &str, headers: &[(&str, &str)]) -> Self {
        let mut head = Vec::new();
        let mut put = |text: &str| {
            let start = head.len();
            head.extend_from_slice(text.as_bytes());
            start..head.len()
        };
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let (method, path, query) = (put(method), put(path), query.map(&mut put));
        let lines: Vec<_> =
            headers.iter().map(|(name, value)| HeaderLine { name: put(name), value: put(value) }).collect();
        let mut request = Self { method, path, query, lines, ..Self::default() };
        request.head = head;
        request.host = request.line(b"host").map(|line| line.value.clone());
        request
    }

    /// Returns the method.
    pub fn method(&self) -> &[u8] {
        self.bytes(&self.method)
    }

    /// Returns the path as the client sent it; `/` for a target without path.
    pub fn path(&self) -> &[u8] {
        match self.bytes(&self.path) {
            b"" => b"/",
            path => path,
        }
    }

    /// Returns the query, without `?`.
    pub fn query(&self) -> Option<&[u8]> {
        self.query.as_ref().map(|query| self.bytes(query))
    }

    /// Returns the effective host, with its port if it has one.
    pub fn host(&self) -> Option<&[u8]> {
        self.host.as_ref().map(|host| self.bytes(host))
    }

    /// Returns the value of the first line of this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.line(name.as_bytes()).map(|line| self.bytes(&line.value))
    }

    /// Returns true if the name of a line begins with this letter, ignoring case. If not, no line has a name
    /// with that letter.
    pub fn has_initial(&self, letter: u8) -> bool {
        let is_it = |line: &HeaderLine| {
            self.head.get(line.name.start).is_some_and(|first| first.eq_ignore_ascii_case(&letter))
        };
        self.lines.iter().any(is_it)
    }

    /// Returns the values of all lines of this name, ignoring case.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let named = move |line: &&HeaderLine| self.bytes(&line.name).eq_ignore_ascii_case(name.as_bytes());
        self.lines.iter().filter(named).map(move |line| self.bytes(&line.value))
    }

    /// Returns names and values of all header lines.
    pub fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        self.lines.iter().map(|line| (self.bytes(&line.name), self.bytes(&line.value)))
    }

    /// Returns the value of a list header: all its lines, joined (RFC 9110 section 5.3).
    pub fn list<'a>(&'a self, name: &'a str) -> Option<Cow<'a, [u8]>> {
        let mut values = self.headers(name);
        let first = values.next()?;
        let rest: Vec<&[u8]> = values.collect();
        if rest.is_empty() {
            return Some(Cow::Borrowed(first));
        }
        let mut joined = first.to_vec();
        for value in rest {
            joined.extend_from_slice(b", ");
            joined.extend_from_slice(value);
        }
        Some(Cow::Owned(joined))
    }

    fn line(&self, name: &[u8]) -> Option<&HeaderLine> {
        self.lines.iter().find(|line| self.bytes(&line.name).eq_ignore_ascii_case(name))
    }

    fn bytes(&self, range: &Range<usize>) -> &[u8] {
        self.head.get(range.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_in_any_case_and_lists_are_joined() {
        let headers = [("Host", "a.org:80"), ("If-None-Match", "\"a\""), ("if-none-match", "\"b\"")];
        let request = Request::new("GET", "/a%20b?c=d", &headers);
        assert_eq!((request.method(), request.path()), (&b"GET"[..], &b"/a%20b"[..]));
        assert_eq!((request.query(), request.host()), (Some(&b"c=d"[..]), Some(&b"a.org:80"[..])));
        assert_eq!(request.header("IF-NONE-MATCH"), Some(&b"\"a\""[..]));
        assert_eq!(request.list("If-None-Match").as_deref(), Some(&b"\"a\", \"b\""[..]));
        assert_eq!((request.header("Range"), request.list("Range")), (None, None));
        assert!(request.has_initial(b'i') && request.has_initial(b'H') && !request.has_initial(b'r'));
    }
}
