//! Tests of parsed heads and of the limits on them.

use weir_http::{
    Framing, HeadLimits, HeaderFault, HeaderTable, KnownHeader, Method, RequestError, RequestHead,
    ResponseError, ResponseHead, ResponseTo, Span, TargetForm, Version, parse_request, parse_response,
};

fn request(text: &str) -> (Vec<u8>, RequestHead, HeaderTable) {
    let buf = text.replace('\n', "\r\n").into_bytes();
    let mut table = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut table).unwrap().unwrap();
    (buf, head, table)
}

fn response(text: &str, to: ResponseTo) -> ResponseHead {
    let buf = text.replace('\n', "\r\n").into_bytes();
    parse_response(&buf, to, &HeadLimits::default(), &mut HeaderTable::new()).unwrap().unwrap()
}

fn text(buf: &[u8], span: Span) -> &str {
    std::str::from_utf8(span.of(buf)).unwrap()
}

#[test]
fn the_parts_of_a_request_are_found() {
    let (buf, head, table) =
        request("PUT /a/b?c=d?e HTTP/1.1\nHost: h:81\nContent-Length: 12\nExpect: 100-Continue\n\nbody");
    assert_eq!(head.method, Method::Put);
    assert_eq!(head.target.form, TargetForm::Origin);
    assert_eq!(text(&buf, head.target.span), "/a/b?c=d?e");
    assert_eq!(text(&buf, head.target.path), "/a/b");
    assert_eq!(head.target.query.map(|query| text(&buf, query)), Some("c=d?e"));
    assert_eq!(head.version, Version::Http11);
    assert_eq!(head.host.map(|host| text(&buf, host)), Some("h:81"));
    assert_eq!(head.framing, Framing::Length(12));
    assert!(head.keep_alive && head.expect_continue && !head.nominates);
    assert_eq!(&buf[head.head_bytes as usize..], b"body");
    let lines: Vec<_> = table
        .entries()
        .iter()
        .map(|entry| (text(&buf, entry.name()), text(&buf, entry.value()), text(&buf, entry.line())))
        .collect();
    assert_eq!(
        lines,
        [
            ("Host", "h:81", "Host: h:81\r\n"),
            ("Content-Length", "12", "Content-Length: 12\r\n"),
            ("Expect", "100-Continue", "Expect: 100-Continue\r\n"),
        ]
    );
    assert_eq!(table.find(KnownHeader::Expect).map(|entry| text(&buf, entry.value())), Some("100-Continue"));
    assert!(table.find(KnownHeader::Cookie).is_none());
}

#[test]
fn an_absolute_target_is_taken_apart() {
    let (buf, head, _) = request("GET HTTPS://Real:443?q HTTP/1.1\nHost: h\n\n");
    assert_eq!(head.target.form, TargetForm::Absolute);
    assert_eq!(text(&buf, head.target.authority), "Real:443");
    assert_eq!(head.host.map(|host| text(&buf, host)), Some("Real:443"));
    assert_eq!(head.target.path_or_root(&buf), b"/");
    assert_eq!(head.target.query.map(|query| text(&buf, query)), Some("q"));
}

#[test]
fn connect_names_an_authority() {
    let (buf, head, _) = request("CONNECT h:443 HTTP/1.1\nHost: h\n\n");
    assert_eq!((head.method, head.target.form), (Method::Connect, TargetForm::Authority));
    assert_eq!(text(&buf, head.target.authority), "h:443");
}

#[test]
fn every_known_method_is_told_and_others_are_kept() {
    for name in ["GET", "HEAD", "POST", "OPTIONS", "PROPFIND", "MKCOL", "MOVE", "COPY", "LOCK", "TRACE"] {
        let (buf, head, _) = request(&format!("{name} / HTTP/1.1\nHost: h\n\n"));
        assert!(!matches!(head.method, Method::Other(_)), "{name}");
        assert_eq!(head.method.bytes(&buf), name.as_bytes());
    }
    for name in ["get", "GETS", "M-SEARCH"] {
        let (buf, head, _) = request(&format!("{name} / HTTP/1.1\nHost: h\n\n"));
        assert!(matches!(head.method, Method::Other(_)), "{name}");
        assert_eq!(head.method.bytes(&buf), name.as_bytes());
    }
}

#[test]
fn a_connection_persists_as_its_version_has_it() {
    for (version, connection, persists) in [
        ("1.1", "X-A: b", true),
        ("1.1", "Connection: close", false),
        ("1.1", "Connection: Keep-Alive , CLOSE", false),
        ("1.1", "Connection: a\nConnection: close", false),
        ("1.0", "X-A: b", false),
        ("1.0", "Connection: keep-alive", true),
        ("1.0", "Connection: Keep-Alive", true),
        ("1.0", "Connection: keep-alive, close", false),
    ] {
        let (_, head, _) = request(&format!("GET / HTTP/{version}\nHost: h\n{connection}\n\n"));
        assert_eq!(head.keep_alive, persists, "{version} {connection}");
    }
}

#[test]
fn expect_counts_only_in_http11() {
    let (_, head, _) = request("PUT / HTTP/1.0\nHost: h\nExpect: 100-continue\nContent-Length: 1\n\n");
    assert!(!head.expect_continue);
}

#[test]
fn a_table_is_used_again_without_traces() {
    let mut table = HeaderTable::new();
    let limits = HeadLimits::default();
    let first = b"GET / HTTP/1.1\r\nHost: h\r\nCookie: a\r\nConnection: close\r\n\r\n";
    parse_request(first, &limits, &mut table).unwrap().unwrap();
    let second = b"GET / HTTP/1.1\r\nAccept: x\r\nHost: h\r\n\r\n";
    let head = parse_request(second, &limits, &mut table).unwrap().unwrap();
    assert_eq!(table.entries().len(), 2);
    assert!(table.find(KnownHeader::Cookie).is_none());
    assert!(head.keep_alive);
}

const SMALL: HeadLimits = HeadLimits { head_bytes_max: 100, headers_max: 3, target_bytes_max: 20 };

fn with_small_limits(buf: &[u8]) -> Result<bool, RequestError> {
    parse_request(buf, &SMALL, &mut HeaderTable::new()).map(|head| head.is_some())
}

/// Returns the length of the shortest start of `buf` with a verdict, and that verdict.
fn verdict_as_it_comes(buf: &[u8]) -> (usize, Result<bool, RequestError>) {
    (0..=buf.len())
        .map(|bytes| (bytes, with_small_limits(&buf[..bytes])))
        .find(|(_, verdict)| *verdict != Ok(false))
        .unwrap_or((buf.len(), Ok(false)))
}

#[test]
fn a_target_over_the_limit_is_refused_as_soon_as_that_is_certain() {
    let sound = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(19));
    assert_eq!(with_small_limits(sound.as_bytes()), Ok(true));
    let long = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(20));
    assert_eq!(with_small_limits(long.as_bytes()), Err(RequestError::TargetTooLong));
    assert_eq!(RequestError::TargetTooLong.status(), 414);
    assert_eq!(verdict_as_it_comes(long.as_bytes()), (25, Err(RequestError::TargetTooLong)));
}

#[test]
fn a_head_over_the_limit_is_refused_as_soon_as_that_is_certain() {
    let head =
        |value_bytes: usize| format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", "x".repeat(value_bytes));
    let fits = 100 - head(0).len();
    assert_eq!(with_small_limits(head(fits).as_bytes()), Ok(true));
    assert_eq!(with_small_limits((head(fits) + "body that does not count").as_bytes()), Ok(true));
    let too_large = RequestError::Header(HeaderFault::HeadTooLarge);
    assert_eq!(with_small_limits(head(fits + 1).as_bytes()), Err(too_large));
    assert_eq!(too_large.status(), 431);
    assert_eq!(verdict_as_it_comes(head(1000).as_bytes()), (100, Err(too_large)));
}

#[test]
fn a_header_line_over_the_limit_is_refused_as_soon_as_it_starts() {
    let too_many = RequestError::Header(HeaderFault::TooManyHeaders);
    let buf = b"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\nC: d\r\nE: f\r\n\r\n";
    assert_eq!(with_small_limits(buf), Err(too_many));
    assert_eq!(too_many.status(), 431);
    assert_eq!(verdict_as_it_comes(buf), (38, Err(too_many)));
    assert_eq!(with_small_limits(b"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\nC: d\r\n\r\n"), Ok(true));
}

#[test]
fn no_limit_lets_more_header_lines_pass_than_the_ceiling() {
    let limits = HeadLimits { head_bytes_max: 1 << 20, headers_max: u16::MAX, target_bytes_max: 100 };
    let mut head = String::from("GET / HTTP/1.1\r\nHost: h\r\n");
    for _ in 1..HeadLimits::HEADERS_CEILING {
        head.push_str("Accept: b\r\n");
    }
    let mut table = HeaderTable::new();
    assert!(parse_request(format!("{head}\r\n").as_bytes(), &limits, &mut table).unwrap().is_some());
    assert_eq!(table.all(KnownHeader::Accept).count(), 255);
    let over = parse_request(format!("{head}A: b\r\n\r\n").as_bytes(), &limits, &mut table);
    assert_eq!(over, Err(RequestError::Header(HeaderFault::TooManyHeaders)));
}

#[test]
fn an_endless_method_is_refused() {
    assert_eq!(with_small_limits("A".repeat(65).as_bytes()), Err(RequestError::MethodTooLong));
    assert_eq!(RequestError::MethodTooLong.status(), 501);
}

#[test]
fn an_endless_list_of_connection_options_is_refused() {
    let head = |options: usize| {
        format!("GET / HTTP/1.1\nHost: h\nConnection: {}\n\n", "a,".repeat(options)).replace('\n', "\r\n")
    };
    let mut table = HeaderTable::new();
    assert!(parse_request(head(32).as_bytes(), &HeadLimits::default(), &mut table).is_ok());
    assert_eq!(
        parse_request(head(33).as_bytes(), &HeadLimits::default(), &mut table),
        Err(RequestError::Header(HeaderFault::TooManyConnectionOptions))
    );
}

#[test]
fn the_body_of_a_response_ends_as_rfc_9112_has_it() {
    let get = ResponseTo::default();
    let head = ResponseTo { is_head: true, ..get };
    let connect = ResponseTo { is_connect: true, ..get };
    let length = "HTTP/1.1 200 OK\nContent-Length: 7\n\n";
    let chunked = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n";
    for (text, to, framing) in [
        (length, get, Framing::Length(7)),
        (chunked, get, Framing::Chunked),
        ("HTTP/1.1 200 OK\nA: b\n\n", get, Framing::UntilClose),
        ("HTTP/1.0 200 OK\n\n", get, Framing::UntilClose),
        (length, head, Framing::None),
        (chunked, head, Framing::None),
        (length, connect, Framing::None),
        ("HTTP/1.1 403 No\nContent-Length: 7\n\n", connect, Framing::Length(7)),
        ("HTTP/1.1 204 No Content\nContent-Length: 7\n\n", get, Framing::None),
        ("HTTP/1.1 304 Not Modified\nContent-Length: 7\n\n", get, Framing::None),
        ("HTTP/1.1 100 Continue\nContent-Length: 7\n\n", get, Framing::None),
    ] {
        assert_eq!(response(text, to).framing, framing, "{text}");
    }
}

#[test]
fn a_server_connection_is_used_again_only_if_the_end_of_the_body_is_known() {
    let get = ResponseTo::default();
    assert!(response("HTTP/1.1 200 OK\nContent-Length: 0\n\n", get).keep_alive);
    assert!(!response("HTTP/1.1 200 OK\nContent-Length: 0\nConnection: close\n\n", get).keep_alive);
    assert!(!response("HTTP/1.1 200 OK\n\n", get).keep_alive);
    assert!(!response("HTTP/1.0 200 OK\nContent-Length: 0\n\n", get).keep_alive);
    assert!(response("HTTP/1.0 200 OK\nContent-Length: 0\nConnection: keep-alive\n\n", get).keep_alive);
    let upgrade = ResponseTo { upgrade: true, ..get };
    assert!(
        !response("HTTP/1.1 101 Switching Protocols\nUpgrade: x\nConnection: upgrade\n\n", upgrade)
            .keep_alive
    );
}

#[test]
fn interim_responses_are_told_from_final_ones() {
    let upgrade = ResponseTo { upgrade: true, ..ResponseTo::default() };
    assert!(response("HTTP/1.1 100 Continue\n\n", upgrade).is_interim());
    assert!(response("HTTP/1.1 103 Early Hints\n\n", upgrade).is_interim());
    assert!(!response("HTTP/1.1 101 Switching Protocols\nUpgrade: x\n\n", upgrade).is_interim());
    assert!(!response("HTTP/1.1 200 OK\n\n", upgrade).is_interim());
}

#[test]
fn a_response_head_over_the_limits_is_refused() {
    let buf = format!("HTTP/1.1 200 {}\r\n\r\n", "x".repeat(200));
    let refused = parse_response(buf.as_bytes(), ResponseTo::default(), &SMALL, &mut HeaderTable::new());
    assert_eq!(refused, Err(ResponseError::Header(HeaderFault::HeadTooLarge)));
    assert_eq!(ResponseError::Status.status(), 502);
}

#[test]
fn every_error_names_its_rule() {
    let mut table = HeaderTable::new();
    for (buf, message) in [
        ("GET / HTTP/1.1\n", "LF without CR (RFC 9112 section 2.2)"),
        ("GET /\r\n", "the request line has no version: HTTP/0.9 (RFC 9112 section 3)"),
        ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 without Host (RFC 9112 section 3.2)"),
        (
            "GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n",
            "whitespace between header name and colon (RFC 9112 section 5.1)",
        ),
        (
            "GET / HTTP/1.1\r\nHost: h\r\n A: b\r\n",
            "a header line begins with whitespace: obs-fold (RFC 9112 section 5.2)",
        ),
        ("GET / HTTP/1.1\r\nHost: h\r\nA\r\n", "a header line without colon (RFC 9112 section 5)"),
        ("GET / HTTP/1.1\r\nHost: h\r\nA\rB: c\r\n", "CR without LF (RFC 9112 section 2.2)"),
    ] {
        let error = parse_request(buf.as_bytes(), &HeadLimits::default(), &mut table).unwrap_err();
        assert_eq!(error.to_string(), message, "{buf:?}");
    }
}
