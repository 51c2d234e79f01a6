//! Tests of messages in transit: unchanged and changed parts.

use weir_e2e::{Weir, get, web};
use weir_testkit::{BodyFraming, Ending, RawServer, Step};

/// Returns the request as the server receives it.
fn seen(request: &str) -> String {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let response = weir.client().exchange(request);
    assert_eq!(response.status, 200, "{}", response.text());
    String::from_utf8(server.received(0)).unwrap()
}

/// Returns the response as the client receives it.
fn passed(response: &str, to: &str) -> (weir_testkit::Response, weir_testkit::RawClient, RawServer, Weir) {
    let server = RawServer::script([Step::ReadHead, Step::Send(response.into()), Step::Hold]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send(to);
    let got = if to.starts_with("HEAD ") { client.response_to_head() } else { client.response() };
    (got, client, server, weir)
}

#[test]
fn head_is_answered_with_the_head_alone_and_the_connection_goes_on() {
    let (response, mut client, server, _weir) = passed(
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"x\"\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!((response.header("content-length"), response.header("etag")), (Some("1000"), Some("\"x\"")));
    assert!(!response.says_close());
    assert!(client.is_quiet(std::time::Duration::from_millis(50)));
    assert!(server.received(0).starts_with(b"HEAD / HTTP/1.1\r\n"));
}

#[test]
fn head_with_a_chunked_answer_has_no_body_either() {
    let (response, mut client, _server, _weir) =
        passed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((response.status, response.framing), (200, BodyFraming::None));
    assert!(client.is_quiet(std::time::Duration::from_millis(50)));
}

#[test]
fn statuses_without_a_body_have_none_whatever_their_head_says() {
    for head in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
    ] {
        let server = RawServer::responding(move |_| head.as_bytes().to_vec());
        let weir = Weir::start(&web(&[server.addr()]));
        let mut client = weir.client();
        for _ in 0..2 {
            let response = client.exchange(get("/"));
            assert_eq!(response.framing, BodyFraming::None, "{head:?}");
            assert!(!response.says_close(), "{head:?}");
        }
        assert_eq!(server.connections(), 1, "{head:?}");
    }
}

#[test]
fn a_body_that_ends_with_its_connection_is_passed_whole() {
    let body = "x".repeat(100_000);
    let server =
        RawServer::script([Step::ReadHead, Step::Send(format!("HTTP/1.1 200 OK\r\n\r\n{body}").into())]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let response = client.exchange(get("/"));
    assert!(response.text() == body, "{} bytes", response.body.len());
}

#[test]
fn unknown_statuses_reasons_and_headers_are_passed_as_they_are() {
    let (response, ..) = passed(
        "HTTP/1.1 299 Rather Fine\r\nX-Mixed-CASE: a  b\r\nX-Twice: 1\r\nX-Twice: 2\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n",
        &get("/"),
    );
    assert_eq!((response.status, response.reason.as_str()), (299, "Rather Fine"));
    assert!(response.headers.contains(&("X-Mixed-CASE".into(), "a  b".into())), "{:?}", response.headers);
    assert_eq!(response.header_values("x-twice"), ["1", "2"]);
    assert_eq!(response.header("x-empty"), Some(""));
}

#[test]
fn an_answer_of_http_1_0_reaches_the_client_as_http_1_1() {
    let (response, ..) = passed("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", &get("/"));
    assert_eq!((response.version.as_str(), response.text().as_str()), ("HTTP/1.1", "hi"));
}

#[test]
fn methods_that_nobody_knows_are_passed_through() {
    for method in ["PROPFIND", "MKCOL", "REPORT", "PURGE", "get", "M-SEARCH", "X!#$%&'*+.^_`|~"] {
        let received = seen(&format!("{method} /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"));
        assert!(received.starts_with(&format!("{method} /x HTTP/1.1\r\n")), "{received}");
    }
}

#[test]
fn the_target_is_passed_byte_by_byte() {
    for target in ["/a//b/../c/%2e%2E/%2f?x=%00&y=a+b#", "/?", "/%7Euser/;p=1?q?r", "/a%20b/\u{7f}"] {
        if target.contains('\u{7f}') || target.contains('#') {
            // Invalid in a target (RFC 9112 section 3.2): refused instead of passed on.
            let server = RawServer::answering("hi");
            let weir = Weir::start(&web(&[server.addr()]));
            assert_eq!(weir.client().exchange(get(target)).status, 400, "{target:?}");
            assert_eq!(server.received_in_all(), b"", "{target:?}");
        } else {
            assert!(seen(&get(target)).starts_with(&format!("GET {target} HTTP/1.1\r\n")), "{target}");
        }
    }
}

#[test]
fn the_asterisk_of_options_is_passed_on() {
    let received = seen("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(received.starts_with("OPTIONS * HTTP/1.1\r\n"), "{received}");
}

#[test]
fn an_absolute_target_becomes_a_path_and_its_authority_the_host() {
    let received = seen("GET http://b.example:81/x?y HTTP/1.1\r\nHost: b.example:81\r\n\r\n");
    assert!(received.starts_with("GET /x?y HTTP/1.1\r\n"), "{received}");
    assert!(received.contains("\r\nHost: b.example:81\r\n"), "{received}");
}

#[test]
fn an_absolute_target_overrules_the_host_header_and_the_server_sees_only_the_one_that_chose_the_route() {
    // RFC 9112 section 3.2.2.
    let received = seen("GET http://b.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n").to_lowercase();
    assert!(received.contains("\r\nhost: b.example\r\n"), "{received}");
    assert!(!received.contains("a.example"), "{received}");
}

#[test]
fn connect_is_answered_405_and_goes_nowhere() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let response = weir.client().exchange("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n");
    assert_eq!(response.status, 405);
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_request_of_http_1_1_without_host_or_with_two_is_refused() {
    for hosts in ["", "Host: a\r\nHost: a\r\n", "Host: a\r\nHost: b\r\n", "Host: a, b\r\n", "Host: a b\r\n"] {
        let server = RawServer::answering("hi");
        let weir = Weir::start(&web(&[server.addr()]));
        let mut client = weir.client();
        assert_eq!(client.exchange(format!("GET / HTTP/1.1\r\n{hosts}\r\n")).status, 400, "{hosts:?}");
        assert_eq!(client.ending(), Ending::Fin);
        assert_eq!(server.connections(), 0);
    }
}

#[test]
fn hop_by_hop_headers_end_at_weir_in_both_directions() {
    let received = seen(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Private\r\nX-Private: 1\r\nX-Public: 1\r\n\
         Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers, deflate\r\nProxy-Authorization: x\r\n\r\n",
    );
    let lower = received.to_lowercase();
    for name in ["x-private", "keep-alive:", "proxy-connection", "te: trailers, deflate"] {
        assert!(!lower.contains(name), "{name} in {received}");
    }
    assert!(received.contains("X-Public: 1\r\n"), "{received}");

    let (response, ..) = passed(
        "HTTP/1.1 200 OK\r\nConnection: X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\nX-Public: 1\r\n\
         Content-Length: 0\r\n\r\n",
        &get("/"),
    );
    assert_eq!((response.header("x-private"), response.header("keep-alive")), (None, None));
    assert_eq!(response.header("x-public"), Some("1"));
}

#[test]
fn connection_cannot_nominate_away_what_others_rely_on() {
    let received = seen(
        "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: secret\r\nContent-Length: 2\r\nCookie: c=1\r\n\
         Connection: Host, Content-Length, Authorization, X-Forwarded-For, X-Forwarded-Proto\r\n\r\nhi",
    );
    for line in [
        "Host: a\r\n",
        "Authorization: secret\r\n",
        "Content-Length: 2\r\n",
        "X-Forwarded-For: 127.0.0.1\r\n",
    ] {
        assert!(received.contains(line), "{line:?} is missing in {received}");
    }
}

#[test]
fn via_is_added_and_host_is_kept() {
    let received = seen("GET / HTTP/1.1\r\nHost: Some.Example:8080\r\nVia: 1.0 other\r\n\r\n");
    assert!(received.contains("Host: Some.Example:8080\r\n"), "{received}");
    assert!(received.contains("Via: 1.0 other\r\n") && received.contains("Via: 1.1 weir\r\n"), "{received}");
}

#[test]
fn a_response_in_single_bytes_is_the_same_response() {
    let wire =
        "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 9\r\n\r\n";
    let server = RawServer::script([
        Step::ReadHead,
        Step::SendSlowly(wire.into(), std::time::Duration::from_micros(200)),
        Step::Hold,
    ]);
    let weir = Weir::start(&web(&[server.addr()]));
    let response = weir.client().exchange(get("/"));
    assert_eq!((response.text().as_str(), response.header("x-a")), ("abc", Some("1")));
    assert_eq!(response.trailers, [("X-T".to_owned(), "9".to_owned())]);
}
