//! Responses that Weir generates itself.

use crate::number;

/// A response that Weir generates itself: an error, a redirect or a fixed response.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Status, 100 to 599.
    pub status: u16,
    /// Content-Type header; empty = none.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a [u8],
    /// Additional header lines; names and values must be valid.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// True if the client's connection stays open.
    pub keep_alive: bool,
    /// True for a HEAD request: the response has Content-Length but no body.
    pub is_head: bool,
    /// True for an HTTP/1.0 client, which needs an explicit `Connection: keep-alive`.
    pub is_http10: bool,
    /// Value of the Date header (RFC 9110 section 5.6.7); empty = none.
    pub date: &'a str,
}

impl<'a> Answer<'a> {
    /// Creates a response without a body that closes the connection.
    pub const fn new(status: u16) -> Self {
        Self {
            status,
            content_type: "",
            body: b"",
            headers: &[],
            keep_alive: false,
            is_head: false,
            is_http10: false,
            date: "",
        }
    }

    /// Appends the head and the body to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.reserve(256 + self.body.len());
        append_status_line(out, self.status);
        if !self.date.is_empty() {
            append_line(out, "Date", self.date.as_bytes());
        }
        if !self.content_type.is_empty() {
            append_line(out, "Content-Type", self.content_type.as_bytes());
        }
        for (name, value) in self.headers {
            append_line(out, name, value);
        }
        let bodiless = self.status < 200 || self.status == 204 || self.status == 304;
        if !bodiless {
            append_content_length(out, self.body.len() as u64);
        }
        if self.status >= 200 {
            match (self.keep_alive, self.is_http10) {
                (false, _) => append_line(out, "Connection", b"close"),
                (true, true) => append_line(out, "Connection", b"keep-alive"),
                (true, false) => {}
            }
        }
        out.extend_from_slice(b"\r\n");
        if !bodiless && !self.is_head {
            out.extend_from_slice(self.body);
        }
    }
}

/// Appends the status line of an HTTP/1.1 response.
pub fn append_status_line(out: &mut Vec<u8>, status: u16) {
    out.extend_from_slice(b"HTTP/1.1 ");
    number::append(out, u64::from(status));
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends a Content-Length line.
pub fn append_content_length(out: &mut Vec<u8>, bytes: u64) {
    out.extend_from_slice(b"Content-Length: ");
    number::append(out, bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends a Content-Length line from digits of a received message, without leading zeros.
pub(crate) fn append_length(out: &mut Vec<u8>, digits: &[u8]) {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let plain = digits.get(zeros.min(digits.len().saturating_sub(1))..).unwrap_or_default();
    append_line(out, "Content-Length", plain);
}

/// Appends a header line; name and value must be valid.
pub fn append_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Returns the reason phrase of a status (RFC 9110 section 15, RFC 4918, RFC 6585); empty if unknown.
pub const fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: &Answer<'_>) -> String {
        let mut out = Vec::new();
        answer.write(&mut out);
        String::from_utf8(out).unwrap().replace("\r\n", "\n")
    }

    #[test]
    fn an_error_closes_the_connection() {
        let answer = Answer {
            content_type: "text/plain",
            body: b"no\n",
            date: "Tue, 07 May 2024 10:00:00 GMT",
            headers: &[("Retry-After", b"5")],
            ..Answer::new(503)
        };
        assert_eq!(
            text(&answer),
            "HTTP/1.1 503 Service Unavailable\nDate: Tue, 07 May 2024 10:00:00 GMT\nContent-Type: text/plain\n\
            Retry-After: 5\nContent-Length: 3\nConnection: close\n\nno\n"
        );
    }

    #[test]
    fn a_connection_that_stays_is_told_so_only_in_http10() {
        let answer = Answer { keep_alive: true, ..Answer::new(200) };
        assert_eq!(text(&answer), "HTTP/1.1 200 OK\nContent-Length: 0\n\n");
        let answer = Answer { is_http10: true, ..answer };
        assert_eq!(text(&answer), "HTTP/1.1 200 OK\nContent-Length: 0\nConnection: keep-alive\n\n");
    }

    #[test]
    fn head_gets_the_length_without_the_body() {
        let answer = Answer { body: b"abc", is_head: true, keep_alive: true, ..Answer::new(404) };
        assert_eq!(text(&answer), "HTTP/1.1 404 Not Found\nContent-Length: 3\n\n");
    }

    #[test]
    fn an_answer_that_can_have_no_body_has_none() {
        for status in [204, 304] {
            let answer = Answer { body: b"abc", keep_alive: true, ..Answer::new(status) };
            assert!(text(&answer).ends_with(&format!("{}\n\n", reason(status))), "{status}");
        }
        assert_eq!(text(&Answer::new(100)), "HTTP/1.1 100 Continue\n\n");
        assert_eq!(
            text(&Answer { keep_alive: true, ..Answer::new(599) }),
            "HTTP/1.1 599 \nContent-Length: 0\n\n"
        );
    }
}
