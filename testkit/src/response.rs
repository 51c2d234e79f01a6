//! Strict parsing of responses.

use std::fmt;

use crate::bodies::{chunked_so_far, field, line, parse_chunked};
use crate::stream::Ending;

/// A response as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// `HTTP/1.1`.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// Reason phrase; may be empty.
    pub reason: String,
    /// Header lines in their order, as written.
    pub headers: Vec<(String, String)>,
    /// Status line and headers, up to and including the empty line.
    pub head: Vec<u8>,
    /// Content without chunk framing.
    pub body: Vec<u8>,
    /// Trailer lines of a chunked body.
    pub trailers: Vec<(String, String)>,
    /// Framing of the body.
    pub framing: BodyFraming,
}

/// Framing of a body: the way in which its end is determined (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// No body: the response to HEAD, 1xx, 204, 304.
    None,
    /// Content-Length.
    Length(u64),
    /// Transfer-Encoding: chunked.
    Chunked,
    /// The end of the connection.
    Close,
}

/// Error that kept a response from being complete.
#[derive(Debug)]
pub enum ResponseError {
    /// The connection ended before the first byte.
    Nothing(Ending),
    /// The connection ended in the head, after these bytes.
    InHead(Ending, Vec<u8>),
    /// The connection ended in the body. The response contains what was received of it.
    InBody(Ending, Box<Response>),
    /// No more bytes arrived within the client's timeout, after these.
    Timeout(Vec<u8>),
    /// The response is invalid: a description, and the bytes.
    Malformed(String, Vec<u8>),
}

impl Response {
    /// Returns the value of the only header line with that name; `None` if there is none.
    ///
    /// # Panics
    /// If there are several.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let values = self.header_values(name);
        assert!(values.len() < 2, "several {name} headers: {values:?}");
        values.first().copied()
    }

    /// Returns the values of all header lines with that name.
    pub fn header_values(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns whether the response has `Connection: close`.
    pub fn says_close(&self) -> bool {
        self.header_values("connection").iter().any(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Returns the length of the head at the start of `bytes`, with its empty line; `None` if it has not arrived
/// completely.
pub(crate) fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Parses a response head strictly. `to_head`: true if the request's method was HEAD.
pub(crate) fn parse_head(head: &[u8], to_head: bool) -> Result<Response, String> {
    let start = line(head).unwrap_or_default();
    let start = std::str::from_utf8(start).map_err(|_| "status line: not UTF-8".to_owned())?;
    let (version, rest) = start.split_once(' ').ok_or_else(|| format!("status line {start:?}"))?;
    let (status, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let status_fits = status.len() == 3 && status.bytes().all(|digit| digit.is_ascii_digit());
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || !status_fits {
        return Err(format!("status line {start:?}"));
    }
    let mut headers = Vec::new();
    let mut at = start.len() + 2;
    while let Some(text) = line(&head[at..]).filter(|text| !text.is_empty()) {
        headers.push(field(text)?);
        at += text.len() + 2;
    }
    let mut response = Response {
        version: version.to_owned(),
        status: status.parse().map_err(|_| format!("status line {start:?}"))?,
        reason: reason.to_owned(),
        headers,
        head: head.to_vec(),
        body: Vec::new(),
        trailers: Vec::new(),
        framing: BodyFraming::None,
    };
    response.framing = framing(&response, to_head)?;
    Ok(response)
}

/// Determines the framing (RFC 9112 section 6.3). Anything ambiguous is an error.
fn framing(response: &Response, to_head: bool) -> Result<BodyFraming, String> {
    let lengths = response.header_values("content-length");
    let codings = response.header_values("transfer-encoding");
    if lengths.len() + codings.len() > 1 {
        return Err(format!("framing told twice: Content-Length {lengths:?}, Transfer-Encoding {codings:?}"));
    }
    let bodiless = to_head || response.status < 200 || matches!(response.status, 204 | 304);
    if let Some(coding) = codings.first() {
        if !coding.eq_ignore_ascii_case("chunked") || response.version == "HTTP/1.0" {
            return Err(format!("Transfer-Encoding {coding:?} in {}", response.version));
        }
        if response.status < 200 || response.status == 204 {
            return Err(format!("Transfer-Encoding in a {}", response.status));
        }
        return Ok(if bodiless { BodyFraming::None } else { BodyFraming::Chunked });
    }
    let Some(length) = lengths.first() else {
        return Ok(if bodiless { BodyFraming::None } else { BodyFraming::Close });
    };
    let digits = !length.is_empty() && length.bytes().all(|digit| digit.is_ascii_digit());
    let length =
        length.parse().ok().filter(|_| digits).ok_or_else(|| format!("Content-Length {length:?}"))?;
    Ok(if bodiless { BodyFraming::None } else { BodyFraming::Length(length) })
}

/// Takes the body from the start of `bytes`, which may contain more. Returns the number of bytes taken, or
/// `None` if the end of the body has not arrived.
pub(crate) fn take_body(response: &mut Response, bytes: &[u8]) -> Result<Option<usize>, String> {
    match response.framing {
        BodyFraming::None => Ok(Some(0)),
        BodyFraming::Length(length) => {
            let length = usize::try_from(length).map_err(|_| "Content-Length over memory".to_owned())?;
            let Some(body) = bytes.get(..length) else { return Ok(None) };
            response.body = body.to_vec();
            Ok(Some(length))
        }
        BodyFraming::Chunked => {
            let Some(chunked) = parse_chunked(bytes)? else { return Ok(None) };
            response.body = chunked.body;
            response.trailers = chunked.trailers;
            Ok(Some(chunked.wire_bytes))
        }
        BodyFraming::Close => Ok(None),
    }
}

/// Puts the received part of an incomplete body into the response.
pub(crate) fn take_what_came(response: &mut Response, bytes: &[u8]) {
    response.body =
        if response.framing == BodyFraming::Chunked { chunked_so_far(bytes) } else { bytes.to_vec() };
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = String::from_utf8_lossy;
        match self {
            Self::Nothing(ending) => write!(f, "{ending:?} and no response"),
            Self::InHead(ending, bytes) => write!(f, "{ending:?} in the head, after {:?}", show(bytes)),
            Self::InBody(ending, response) => {
                write!(f, "{ending:?} in the body, after {} bytes of it", response.body.len())
            }
            Self::Timeout(bytes) => {
                let start = &bytes[..bytes.len().min(500)];
                write!(f, "timeout after {} bytes: {:?}", bytes.len(), show(start))
            }
            Self::Malformed(why, bytes) => write!(f, "{why}, in {:?}", show(&bytes[..bytes.len().min(2000)])),
        }
    }
}

impl std::error::Error for ResponseError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_that_is_told_twice_is_refused() {
        let heads = [
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
        ];
        for head in heads {
            assert!(parse_head(head.as_bytes(), false).is_err(), "{head:?}");
        }
    }

    #[test]
    fn the_answer_to_head_has_no_body_whatever_its_length_says() {
        let response = parse_head(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", true).unwrap();
        assert_eq!(response.framing, BodyFraming::None);
    }
}
