//! Tests of the heads of local responses: the fast path and the normal path give the same result.

use weir_http::{
    HeadLimits, HeaderAction, HeaderRule, HeaderTable, PathRewrite, RequestIdRule, RequestText,
    ResponseContext, ResponseTo, RouteHeaders, RouteRewriter, SetCookieEdit, TlsNames, Version,
    append_content_length, append_line, append_status_line, parse_response,
};

use crate::common::{CLIENT, Way, exchange};

type Line<'a> = (&'a str, &'a [u8]);

const LINES: [Line<'static>; 8] = [
    ("ETag", b"\"1-2-3\""),
    ("Last-Modified", b"Tue, 07 May 2024 10:00:00 GMT"),
    ("X-Content-Type-Options", b"nosniff"),
    ("Accept-Ranges", b"bytes"),
    ("Content-Type", b"text/plain; charset=utf-8"),
    ("Location", b"http://h/a"),
    ("Set-Cookie", b"a=b"),
    ("X-Odd", b"  \xff\t,  "),
];

/// Returns true if the fast path writes the head; then checks that the normal path writes the same.
fn is_at_once(way: &Way, status: u16, lines: &[Line<'_>], client_version: Version) -> bool {
    let forwarder = way.forwarder();
    let peer = forwarder.peer(CLIENT.parse().unwrap());
    let tls = TlsNames::default();
    let cx = ResponseContext {
        exchange: exchange(&peer, way.request_id, &tls),
        request: RequestText::default(),
        server_scheme: way.server_scheme,
        client_version,
        date: way.date,
        keep_alive: !way.close,
        cookie: way.set_cookie,
        from_server: false,
    };
    let mut own = b"before".to_vec();
    let written = forwarder.write_own(&mut own, status, lines.iter().copied(), 1234, &way.route, &cx);
    let Some(written) = written else {
        assert_eq!(own, b"before");
        return false;
    };
    let mut raw = Vec::new();
    append_status_line(&mut raw, status);
    lines.iter().for_each(|(name, value)| append_line(&mut raw, name, value));
    if !matches!(status, 204 | 304) {
        append_content_length(&mut raw, 1234);
    }
    raw.extend_from_slice(b"\r\n");
    let mut table = HeaderTable::new();
    let head =
        parse_response(&raw, ResponseTo::default(), &HeadLimits::default(), &mut table).unwrap().unwrap();
    let mut full = b"before".to_vec();
    let in_full = forwarder.write_response(&mut full, &raw, &head, &table, &way.route, &cx);
    assert_eq!(String::from_utf8_lossy(&own), String::from_utf8_lossy(&full));
    assert_eq!((written, own), (in_full, full));
    true
}

fn with_rule(name: &str, action: HeaderAction) -> RouteRewriter {
    let response = vec![HeaderRule { name: name.to_owned(), action }];
    RouteRewriter::compile(None, &RouteHeaders { request: Vec::new(), response }).unwrap()
}

/// Returns settings of listeners and routes that do not change any line of the response.
fn ways() -> Vec<Way> {
    let mut via = Way::new();
    via.rules.via = Some("weir".to_owned());
    let mut id = Way::new();
    id.rules.request_id = Some(RequestIdRule { header: "X-Request-Id".to_owned(), accept: false });
    id.request_id = "0123";
    id.date = "Tue, 07 May 2024 10:00:00 GMT";
    let mut adds = Way::new();
    adds.route = with_rule("X-A", HeaderAction::Add("{listener}".to_owned()));
    adds.close = true;
    vec![Way::new(), via, id, adds]
}

#[test]
fn an_own_answer_that_no_rule_touches_is_written_at_once_and_is_the_same() {
    for way in &ways() {
        for status in [200, 204, 206, 301, 304, 404, 426, 507, 599] {
            for version in [Version::Http10, Version::Http11] {
                for lines in [&LINES[..], &[]] {
                    assert!(is_at_once(way, status, lines, version), "{status} {version:?}");
                }
            }
        }
    }
}

#[test]
fn what_depends_on_more_goes_the_long_way() {
    for way in &ways() {
        for name in ["connection", "Upgrade", "Keep-Alive", "Date", "Content-Length", "transfer-encoding"] {
            let lines: [Line<'_>; 3] = [LINES[0], (name, b"1"), LINES[1]];
            assert!(!is_at_once(way, 200, &lines, Version::Http11), "{name}");
        }
        for status in [100, 101, 103, 600, 999] {
            assert!(!is_at_once(way, status, &LINES, Version::Http11), "{status}");
        }
        let many = [LINES[0]; 65];
        assert!(!is_at_once(way, 200, &many, Version::Http11));
        let long = [b'x'; 65 * 1024];
        assert!(!is_at_once(way, 200, &[("X-Long", &long[..])], Version::Http11));
    }
    let rewrite = PathRewrite::Prefix { from: "/dav".into(), to: "/inner".into() };
    let rewrites = RouteRewriter::compile(Some(&rewrite), &RouteHeaders::default()).unwrap();
    let removes = with_rule("ETag", HeaderAction::Remove);
    let sets = with_rule("X-Other", HeaderAction::Set("x".to_owned()));
    for route in [rewrites, removes, sets] {
        let way = Way { route, ..Way::new() };
        assert!(!is_at_once(&way, 200, &LINES, Version::Http11));
    }
    let edit = SetCookieEdit::Rewrite { name: b"a", value: b"w1" };
    let way = Way { set_cookie: Some(edit), ..Way::new() };
    assert!(!is_at_once(&way, 200, &LINES, Version::Http11));
}

#[test]
fn the_id_of_an_answer_is_that_of_its_request() {
    let mut way = Way::new();
    way.rules.request_id = Some(RequestIdRule { header: "X-Request-Id".to_owned(), accept: false });
    let lines: [Line<'_>; 1] = [("x-request-id", b"other")];
    // Without a request id, the line is treated like any other.
    assert!(is_at_once(&way, 200, &lines, Version::Http11));
    way.request_id = "0123";
    assert!(!is_at_once(&way, 200, &lines, Version::Http11));
}
