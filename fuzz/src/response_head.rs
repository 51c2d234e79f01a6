//! Fuzzes response heads: the result agrees with another parser (httparse), and a rewritten head is valid.

use weir_http::{
    Exchange, ForwardedFor, Forwarder, ForwardingRules, Framing, HeadLimits, HeaderTable, PathRewrite,
    RequestText, ResponseContext, ResponseTo, RouteHeaders, RouteRewriter, Scheme, SetCookieEdit, Version,
    parse_response,
};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(buf: &[u8]) {
    let limits = HeadLimits { head_bytes_max: 4096, headers_max: 60, target_bytes_max: 1024 };
    let mut table = HeaderTable::new();
    let to = ResponseTo { upgrade: true, ..ResponseTo::default() };
    for bytes in 0..buf.len().min(200) {
        if let Ok(Some(head)) = parse_response(&buf[..bytes], to, &limits, &mut table) {
            assert_eq!(parse_response(buf, to, &limits, &mut table), Ok(Some(head)));
            break;
        }
    }
    let Ok(Some(head)) = parse_response(buf, to, &limits, &mut table) else { return };

    // The other parser accepts only HTTP/1.0 and HTTP/1.1.
    if buf.starts_with(b"HTTP/1.0") || buf.starts_with(b"HTTP/1.1") {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut other = httparse::Response::new(&mut headers);
        assert_eq!(other.parse(buf), Ok(httparse::Status::Complete(head.head_bytes as usize)));
        assert_eq!(other.code, Some(head.status));
        assert_eq!(other.headers.len(), table.entries().len());
    }

    let rules = ForwardingRules {
        x_forwarded: ForwardedFor::Set,
        forwarded: ForwardedFor::Remove,
        trusted: Vec::new(),
        identity_headers: Vec::new(),
        via: Some("weir".into()),
        request_id: None,
    };
    let forwarder = Forwarder::compile(&rules, Scheme::Https);
    let rewrite = PathRewrite::Prefix { from: "/a".into(), to: "/b/c".into() };
    let route = RouteRewriter::compile(Some(&rewrite), &RouteHeaders::default()).expect("a sound route");
    let peer = forwarder.peer("192.0.2.7:1".parse().expect("an address"));
    let line = b"Set-Cookie: a=w1; Path=/\r\n";
    let edits = [
        (Version::Http10, None),
        (Version::Http11, None),
        (Version::Http11, Some(SetCookieEdit::Insert { name: b"a", line, no_cache: true })),
        (Version::Http11, Some(SetCookieEdit::Rewrite { name: b"a", value: b"w1" })),
        (Version::Http11, Some(SetCookieEdit::Prefix { name: b"a", value: b"w1" })),
    ];
    for (client_version, cookie) in edits {
        let cx = ResponseContext {
            exchange: Exchange {
                peer: &peer,
                client: &peer,
                request_id: "",
                listener: "",
                route: "",
                pool: "",
                server: None,
                tls: None,
            },
            request: RequestText { method: b"GET", host: b"h", path: b"/a", query: None },
            server_scheme: Scheme::Http,
            client_version,
            date: "Tue, 07 May 2024 10:00:00 GMT",
            keep_alive: true,
            cookie,
            from_server: true,
        };
        let mut out = Vec::new();
        let written = forwarder.write_response(&mut out, buf, &head, &table, &route, &cx);
        let wide = HeadLimits { head_bytes_max: 1 << 20, headers_max: 256, target_bytes_max: 1 << 20 };
        let mut table = HeaderTable::new();
        let again = parse_response(&out, to, &wide, &mut table).expect("sound").expect("whole");
        assert_eq!((again.head_bytes as usize, again.status), (out.len(), head.status));
        let framing = if written.dechunk { Framing::UntilClose } else { head.framing };
        assert_eq!(again.framing, framing);
    }
}
