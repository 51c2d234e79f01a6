use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

/// A request's head. What is a range is one of bytes in `head`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The head as it came.
    pub head: Vec<u8>,
    /// The method.
    pub method: Range<usize>,
    /// The path of the target, without query, as the client wrote it; `*` for an OPTIONS of the whole server; empty for a
    /// target that stops after its authority.
    pub path: Range<usize>,
    /// The query, without `?`.
    pub query: Option<Range<usize>>,
    /// The host that counts, with its port if it has one.
    pub host: Option<Range<usize>>,
    /// The header lines in the order they came.
    pub lines: Vec<HeaderLine>,
    /// The client speaks no more than HTTP/1.0.
    pub is_http10: bool,
    /// It came, as far as the client can see, over TLS.
    pub is_https: bool,
    /// Who has connected; `None` on a Unix socket.
    pub peer: Option<SocketAddr>,
    /// The client, after PROXY protocol and trusted forwarding headers.
    pub client: Option<IpAddr>,
    /// The client's TLS session; `None` = plaintext.
    pub tls: Option<ClientTls>,
    /// Its id, for logs; empty = none.
    pub id: String,
}

/// A header line: where its name and its value are, the value without whitespace around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderLine {
    /// The name.
    pub name: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}

/// A client's TLS session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientTls {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// IANA name of the cipher suite.
    pub cipher: &'static str,
    /// The subject of the client's verified certificate; empty = there is none.
    pub subject: String,
    /// Who has issued it; empty = there is none.
    pub issuer: String,
    /// The end of that certificate, in seconds since 1970.
    pub not_after_unix_secs: Option<u64>,
}

impl Request {
    /// A request with these lines, of no client in particular: for tests, and for questions about requests.
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

    /// The method.
    pub fn method(&self) -> &[u8] {
        self.bytes(&self.method)
    }

    /// The path, as the client wrote it; `/` for a target that stops after its authority.
    pub fn path(&self) -> &[u8] {
        match self.bytes(&self.path) {
            b"" => b"/",
            path => path,
        }
    }

    /// The query, without `?`.
    pub fn query(&self) -> Option<&[u8]> {
        self.query.as_ref().map(|query| self.bytes(query))
    }

    /// The host that counts, with its port if it has one.
    pub fn host(&self) -> Option<&[u8]> {
        self.host.as_ref().map(|host| self.bytes(host))
    }

    /// The value of the first line of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.line(name.as_bytes()).map(|line| self.bytes(&line.value))
    }

    /// Whether the name of a line begins with this letter, in any case. If none does, there is no line of any such name.
    pub fn has_initial(&self, letter: u8) -> bool {
        let is_it = |line: &HeaderLine| {
            self.head.get(line.name.start).is_some_and(|first| first.eq_ignore_ascii_case(&letter))
        };
        self.lines.iter().any(is_it)
    }

    /// The values of all lines of this name, in any case.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let named = move |line: &&HeaderLine| self.bytes(&line.name).eq_ignore_ascii_case(name.as_bytes());
        self.lines.iter().filter(named).map(move |line| self.bytes(&line.value))
    }

    /// All header lines: names and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        self.lines.iter().map(|line| (self.bytes(&line.name), self.bytes(&line.value)))
    }

    /// The value of a header that is a list: all of its lines, joined (RFC 9110 section 5.3).
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
