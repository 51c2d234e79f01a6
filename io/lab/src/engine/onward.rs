//! Redirects to other servers.

use crate::url::{Origin, Url};

/// Maximum number of redirects of one request.
pub(super) const HOPS_MAX: u8 = 5;

/// Returns true if the status redirects a request with the same method.
pub(super) fn is_onward(status: u16) -> bool {
    matches!(status, 301 | 302 | 307 | 308)
}

/// Resolves a Location header relative to the server that sent it; `None` = it cannot be followed.
pub(super) fn follow(location: &[u8], from: &Origin) -> Option<Url> {
    let location = std::str::from_utf8(location).ok()?;
    match location.strip_prefix('/') {
        Some(rest) if !rest.starts_with('/') => format!("{from}{location}").parse().ok(),
        _ => location.parse().ok(),
    }
}

/// Returns the head of a request for another URL.
pub(super) fn head_for(url: &Url, head: &[u8]) -> Vec<u8> {
    let mut lines = head.split(|byte| *byte == b'\n');
    let method = lines.next().and_then(|line| line.split(|byte| *byte == b' ').next()).unwrap_or(b"GET");
    let mut out = [method, b" ", url.path.as_bytes(), b" HTTP/1.1\r\nHost: "].concat();
    out.extend_from_slice(url.origin.authority().as_bytes());
    out.extend_from_slice(b"\r\n");
    let is_host = |line: &[u8]| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"host:"));
    for line in lines.filter(|line| !line.is_empty() && !is_host(line)) {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_another_place_keeps_all_but_path_and_host() {
        let url: Url = "http://b:81/x?ticket=1".parse().unwrap();
        let head = b"GET /y HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n";
        let out = String::from_utf8(head_for(&url, head)).unwrap();
        assert_eq!(out, "GET /x?ticket=1 HTTP/1.1\r\nHost: b:81\r\nX-A: 1\r\n\r\n");
    }

    #[test]
    fn locations_are_seen_from_the_server_that_gave_them() {
        let from: Url = "http://a:81/".parse().unwrap();
        let to = |location: &[u8]| follow(location, &from.origin).map(|url| url.to_string());
        assert_eq!(to(b"/x?y").as_deref(), Some("http://a:81/x?y"));
        assert_eq!(to(b"https://b/z").as_deref(), Some("https://b/z"));
        assert_eq!((to(b"//b/z"), to(b"x"), to(b"\xff")), (None, None, None));
        assert!(is_onward(307) && !is_onward(304) && !is_onward(303));
    }
}
