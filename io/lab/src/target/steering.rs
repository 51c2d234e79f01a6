//! Checks methods and headers that control the use of a connection. Refuses those that the generator does not
//! support.

use super::TargetSpec;

/// Returns true if the request itself says that the connection closes after the response.
///
/// # Errors
/// If the generator does not support the method or a header.
pub(super) fn closes(spec: &TargetSpec, keep_alive: bool) -> Result<bool, String> {
    if spec.method.eq_ignore_ascii_case("connect") {
        return Err("CONNECT cannot be played: a tunnel has no further answers".to_owned());
    }
    let is = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    if spec.headers.iter().filter(|(name, _)| is(name, "host")).count() > 1 {
        return Err("Host is given twice: a request has one (RFC 9112 section 3.2)".to_owned());
    }
    let mut closes = false;
    for (name, value) in &spec.headers {
        let said = || format!("{name}: {value}");
        if is(name, "transfer-encoding") {
            return Err("Transfer-Encoding cannot be given: bodies are sent with their length".to_owned());
        } else if is(name, "upgrade") || is(name, "http2-settings") {
            return Err(format!(
                "{}: an upgrade cannot be played: behind it there are no further answers",
                said()
            ));
        } else if is(name, "expect") {
            return Err(format!("{}: cannot be played: bodies are sent without waiting for leave", said()));
        } else if is(name, "content-length") {
            let bytes = spec.body.bytes();
            if value.trim().parse() != Ok(bytes) {
                return Err(format!(
                    "{}: the body has {bytes} bytes; leave the header out, it is written by itself",
                    said()
                ));
            }
        } else if is(name, "connection") {
            for option in value.split(',').map(str::trim) {
                if is(option, "upgrade") {
                    return Err(format!("{}: an upgrade cannot be played", said()));
                }
                if is(option, "keep-alive") && !keep_alive {
                    return Err(format!("{}: the opposite of --no-keep-alive", said()));
                }
                closes |= is(option, "close");
            }
        }
    }
    Ok(closes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::target::Body;

    fn of(method: &str, headers: &[(&str, &str)]) -> Result<bool, String> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let body = Body::Bytes(Arc::from(&b"hello"[..]));
        closes(&TargetSpec { method: method.to_owned(), headers, body, ..TargetSpec::default() }, true)
    }

    #[test]
    fn what_the_generator_cannot_do_is_refused_with_the_reason() {
        for (headers, reason) in [
            (&[("Upgrade", "websocket")][..], "Upgrade: websocket: an upgrade cannot be played"),
            (&[("connection", "keep-alive, Upgrade")], "an upgrade cannot be played"),
            (&[("Expect", "100-continue")], "without waiting"),
            (&[("Content-Length", "6")], "the body has 5 bytes"),
            (&[("Content-Length", "five")], "the body has 5 bytes"),
            (&[("Host", "a"), ("host", "b")], "given twice"),
            (&[("Transfer-Encoding", "chunked")], "with their length"),
        ] {
            let error = of("PUT", headers).unwrap_err();
            assert!(error.contains(reason), "{headers:?}: {error}");
        }
        assert!(of("CONNECT", &[]).unwrap_err().contains("tunnel"));
    }

    #[test]
    fn what_it_can_do_it_does() {
        assert_eq!(of("GET", &[("Host", "a"), ("Content-Length", " 5"), ("X-A", "b")]), Ok(false));
        assert_eq!(of("GET", &[("Connection", "keep-alive, X-A")]), Ok(false));
        assert_eq!(of("GET", &[("connection", "X-A, Close")]), Ok(true));
    }
}
