//! File offload: a server's response names a file, and Weir sends that file to the client (X-Accel-Redirect
//! and related headers, as in NGINX; X-Sendfile).

use crate::{HeaderTable, KnownHeader, ResponseHead};

/// A response whose body Weir takes from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadOrder {
    /// File to send.
    pub target: OffloadTarget,
    /// Header lines of the response to forward to the client.
    pub kept: Vec<(&'static str, Vec<u8>)>,
    /// Maximum rate of the body in bytes per second; `None` = no limit.
    pub bytes_per_second_max: Option<u64>,
    /// Charset of the file if it is a text; a token.
    pub charset: Option<Vec<u8>>,
}

/// The form in which a server names a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OffloadTarget {
    /// An internal URI, from X-Accel-Redirect.
    Uri(Vec<u8>),
    /// A path in the file system, from X-Sendfile.
    Path(Vec<u8>),
}

/// Headers of the server's response that the client receives: the server's decisions about the client, and
/// its knowledge of the content. The file itself determines length, age and ranges of the body.
const KEPT: [&str; 16] = [
    "Content-Type",
    "Content-Disposition",
    "Content-Language",
    "Set-Cookie",
    "Cache-Control",
    "Expires",
    "Vary",
    "Digest",
    "Repr-Digest",
    "Accept-Ranges",
    "Content-Security-Policy",
    "X-Content-Type-Options",
    "Access-Control-Allow-Origin",
    "Access-Control-Allow-Credentials",
    "Access-Control-Expose-Headers",
    "Locality",
];

impl OffloadOrder {
    /// Returns the order of a 2xx response that names a file. With another status the server has refused the
    /// request, so no file is sent. `x_sendfile`: true if X-Sendfile is accepted, too. If a header is
    /// repeated, the first line counts.
    pub fn of(head: &ResponseHead, buf: &[u8], table: &HeaderTable, x_sendfile: bool) -> Option<Self> {
        if !(200..300).contains(&head.status) || !table.has(KnownHeader::XAccel) {
            return None;
        }
        let line = |name: &str| first(buf, table, name);
        let by_uri = line("X-Accel-Redirect").map(|uri| OffloadTarget::Uri(uri.to_vec()));
        let by_path = || line("X-Sendfile").filter(|_| x_sendfile);
        let target = by_uri.or_else(|| by_path().map(|path| OffloadTarget::Path(path.to_vec())))?;
        let charset = line("X-Accel-Charset").filter(|charset| is_charset(charset));
        Some(Self {
            target,
            kept: kept(buf, table),
            bytes_per_second_max: line("X-Accel-Limit-Rate").and_then(rate),
            charset: charset.map(<[u8]>::to_vec),
        })
    }

    /// Returns true if the server asks to forward the response as it arrives, without buffering.
    pub fn is_unbuffered(buf: &[u8], table: &HeaderTable) -> bool {
        first(buf, table, "X-Accel-Buffering").is_some_and(|value| value.eq_ignore_ascii_case(b"no"))
    }
}

fn first<'b>(buf: &'b [u8], table: &HeaderTable, name: &str) -> Option<&'b [u8]> {
    let mut lines = table.all(KnownHeader::XAccel);
    let line = lines.find(|line| line.name().of(buf).eq_ignore_ascii_case(name.as_bytes()))?;
    Some(line.value().of(buf))
}

fn kept(buf: &[u8], table: &HeaderTable) -> Vec<(&'static str, Vec<u8>)> {
    let lines = table.entries().iter();
    lines
        .filter_map(|line| {
            let name = line.name().of(buf);
            let kept = KEPT.iter().find(|kept| name.eq_ignore_ascii_case(kept.as_bytes()))?;
            Some((*kept, line.value().of(buf).to_vec()))
        })
        .collect()
}

/// Parses a rate; `off`, 0 and malformed values mean no limit.
fn rate(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse::<u64>().ok().filter(|rate| *rate > 0)
}

/// Returns true for a valid charset; `off` keeps the type unchanged.
fn is_charset(text: &[u8]) -> bool {
    let sound = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:+".contains(byte);
    (1..=40).contains(&text.len()) && text.iter().all(sound) && !text.eq_ignore_ascii_case(b"off")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeadLimits, ResponseTo, parse_response};

    fn order(text: &str, x_sendfile: bool) -> Option<OffloadOrder> {
        let buf = text.replace('\n', "\r\n");
        let mut table = HeaderTable::new();
        let head = parse_response(buf.as_bytes(), ResponseTo::default(), &HeadLimits::default(), &mut table);
        OffloadOrder::of(&head.unwrap().unwrap(), buf.as_bytes(), &table, x_sendfile)
    }

    #[test]
    fn a_success_that_names_a_file_is_an_order() {
        let text = "HTTP/1.1 200 OK\nX-Accel-Redirect: /i/a%20b?c\nContent-Type: text/plain\nset-cookie: a=1\n\
                    Set-Cookie: b=2\nETag: \"x\"\nContent-Length: 3\nServer: s\nX-Accel-Limit-Rate: 2048\n\
                    x-accel-charset: utf-8\nX-Accel-Redirect: /other\n\n";
        let order = order(text, false).unwrap();
        assert_eq!(order.target, OffloadTarget::Uri(b"/i/a%20b?c".to_vec()));
        let kept: Vec<_> = order.kept.iter().map(|(name, value)| (*name, value.as_slice())).collect();
        let expected: [(&str, &[u8]); 3] =
            [("Content-Type", b"text/plain"), ("Set-Cookie", b"a=1"), ("Set-Cookie", b"b=2")];
        assert_eq!(kept, expected);
        assert_eq!(order.bytes_per_second_max, Some(2048));
        assert_eq!(order.charset.as_deref(), Some(&b"utf-8"[..]));
    }

    #[test]
    fn a_response_may_ask_not_to_be_buffered() {
        for (lines, is_unbuffered) in [
            ("X-Accel-Buffering: no\n", true),
            ("x-accel-buffering: NO\n", true),
            ("Server: s\nX-Accel-Charset: no\nX-Accel-Buffering: no\n", true),
            ("X-Accel-Buffering: yes\n", false),
            ("X-Accel-Buffering: nothing\n", false),
            ("X-Accel-Buffering:\n", false),
            ("X-Accel-Charset: no\n", false),
            ("X-Buffering: no\n", false),
            ("", false),
        ] {
            let buf = format!("HTTP/1.1 200 OK\n{lines}\n").replace('\n', "\r\n");
            let mut table = HeaderTable::new();
            let head =
                parse_response(buf.as_bytes(), ResponseTo::default(), &HeadLimits::default(), &mut table);
            assert!(head.unwrap().is_some());
            assert_eq!(OffloadOrder::is_unbuffered(buf.as_bytes(), &table), is_unbuffered, "{lines}");
        }
    }

    #[test]
    fn a_refusal_is_no_order_and_a_path_only_where_paths_count() {
        assert_eq!(order("HTTP/1.1 403 No\nX-Accel-Redirect: /i/a\n\n", true), None);
        assert_eq!(order("HTTP/1.1 304 Not Modified\nX-Accel-Redirect: /i/a\n\n", true), None);
        assert_eq!(order("HTTP/1.1 200 OK\nX-Sendfile: /srv/a\n\n", false), None);
        let path = order("HTTP/1.1 200 OK\nx-sendfile: /srv/a\n\n", true).unwrap();
        assert_eq!(path.target, OffloadTarget::Path(b"/srv/a".to_vec()));
        assert_eq!(order("HTTP/1.1 200 OK\nX-Accel-Expires: 5\n\n", true), None);
    }

    #[test]
    fn what_is_no_rate_limits_nothing() {
        for rate in ["off", "0", "-1", "1k", "99999999999999999999"] {
            let text = format!("HTTP/1.1 200 OK\nX-Accel-Redirect: /a\nX-Accel-Limit-Rate: {rate}\n\n");
            assert_eq!(order(&text, false).unwrap().bytes_per_second_max, None, "{rate}");
        }
        let text = "HTTP/1.1 200 OK\nX-Accel-Redirect: /a\nX-Accel-Charset: a b\n\n";
        assert_eq!(order(text, false).unwrap().charset, None);
    }
}
