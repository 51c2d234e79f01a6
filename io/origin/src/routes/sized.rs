//! Responses of a given size or status.

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::{Answer, Refusal, number_in_path, ok, with_status};
use crate::body::OriginBody;
use crate::query::Query;

const HEADERS_MAX: usize = 10_000;
const HEADER_BYTES_MAX: usize = 1 << 20;

/// Serves `/bytes/N`: sends N bytes with a Content-Length, or chunked with `?chunked`.
pub(super) fn bytes(path: &str, query: Query<'_>) -> Answer {
    let body = OriginBody::Pattern { left: number_in_path(path)?, sized: !query.flag("chunked") };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    Ok(response)
}

/// Serves `/headers?count=N&size=BYTES`: sends N headers with values of that size.
pub(super) fn headers(query: Query<'_>) -> Answer {
    let count: usize = query.get("count", 10)?;
    let size: usize = query.get("size", 10)?;
    if count > HEADERS_MAX || size.saturating_mul(count) > HEADER_BYTES_MAX {
        return Err(Refusal::TooLarge);
    }
    let mut response = ok("text/plain; charset=utf-8", format!("{count} headers of {size} bytes\n"));
    for number in 0..count {
        let name = HeaderName::from_bytes(format!("x-filler-{number}").as_bytes());
        let value = HeaderValue::from_bytes(&vec![b'v'; size]);
        if let (Ok(name), Ok(value)) = (name, value) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

/// Serves `/status/CODE`: responds with that status.
pub(super) fn status(path: &str) -> Answer {
    let code: u16 = number_in_path(path)?;
    let status = StatusCode::from_u16(code).ok().filter(|_| (200..600).contains(&code));
    let status = status.ok_or_else(|| Refusal::Bad(format!("{code} is not a final status (200 to 599)")))?;
    if matches!(code, 204 | 205 | 304) {
        let mut response = Response::new(OriginBody::Whole(None));
        *response.status_mut() = status;
        return Ok(response);
    }
    Ok(with_status(status, "text/plain; charset=utf-8", format!("{status}\n")))
}
