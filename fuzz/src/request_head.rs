//! Fuzzes request heads. The result does not depend on how the head is split, and agrees with another parser
//! (httparse). A rewritten head is valid and has the same framing.

use weir_http::{
    CookieEdit, Exchange, ForwardedFor, Forwarder, ForwardingRules, HeadLimits, HeaderTable, PathRewrite,
    RequestContext, RouteHeaders, RouteRewriter, Scheme, parse_request,
};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(buf: &[u8]) {
    let limits = HeadLimits { head_bytes_max: 4096, headers_max: 60, target_bytes_max: 1024 };
    let mut table = HeaderTable::new();
    for bytes in 0..buf.len().min(200) {
        if let Ok(Some(head)) = parse_request(&buf[..bytes], &limits, &mut table) {
            assert_eq!(parse_request(buf, &limits, &mut table), Ok(Some(head)));
            break;
        }
    }
    let Ok(Some(head)) = parse_request(buf, &limits, &mut table) else { return };

    // The other parser requires UTF-8 targets and accepts only HTTP/1.0 and HTTP/1.1.
    let line =
        buf.split(|byte| *byte == b'\n').find(|line| !line.is_empty() && *line != b"\r").unwrap_or_default();
    let is_known = line.windows(8).any(|part| part == b"HTTP/1.0" || part == b"HTTP/1.1");
    if is_known && std::str::from_utf8(head.target.span.of(buf)).is_ok() {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut other = httparse::Request::new(&mut headers);
        assert_eq!(other.parse(buf), Ok(httparse::Status::Complete(head.head_bytes as usize)));
        assert_eq!(other.path.map(str::as_bytes), Some(head.target.span.of(buf)));
        assert_eq!(other.headers.len(), table.entries().len());
        for (theirs, ours) in other.headers.iter().zip(table.entries()) {
            assert_eq!((theirs.name.as_bytes(), theirs.value), (ours.name().of(buf), ours.value().of(buf)));
        }
    }

    let rules = ForwardingRules {
        x_forwarded: ForwardedFor::Append,
        forwarded: ForwardedFor::Append,
        trusted: vec!["10.0.0.0/8".parse().expect("a network")],
        identity_headers: vec!["X-Secret*".into()],
        via: Some("weir".into()),
        request_id: None,
    };
    let forwarder = Forwarder::compile(&rules, Scheme::Https);
    let rewrite = PathRewrite::Prefix { from: "/a".into(), to: "/b/c".into() };
    let route = RouteRewriter::compile(Some(&rewrite), &RouteHeaders::default()).expect("a sound route");
    let untrusted = [CookieEdit::Keep, CookieEdit::Remove(b"a"), CookieEdit::Unprefix(b"a")];
    let clients = untrusted.map(|cookie| ("192.0.2.7:1", cookie)).into_iter();
    for (client, cookie) in clients.chain([("10.0.0.1:1", CookieEdit::Keep)]) {
        let peer = forwarder.peer(client.parse().expect("an address"));
        let _ = forwarder.client_address(buf, &table, &peer);
        let exchange = Exchange {
            peer: &peer,
            client: &peer,
            request_id: "",
            listener: "",
            route: "",
            pool: "",
            server: None,
            tls: None,
        };
        let cx = RequestContext {
            exchange,
            server_scheme: Scheme::Http,
            default_host: "h",
            upgrade: true,
            pass_expect: true,
            close: false,
            cookie,
        };
        let mut out = Vec::new();
        forwarder.write_request(&mut out, buf, &head, &table, &route, &cx);
        let wide = HeadLimits { head_bytes_max: 1 << 20, headers_max: 256, target_bytes_max: 1 << 20 };
        let mut table = HeaderTable::new();
        let again = parse_request(&out, &wide, &mut table).expect("sound").expect("whole");
        assert_eq!(again.head_bytes as usize, out.len());
        assert_eq!(again.framing, head.framing);
        assert_eq!(again.method.bytes(&out), head.method.bytes(buf));
    }
}
