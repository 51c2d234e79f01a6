//! Tests of the heads that clients receive.

use weir_http::{
    HeaderAction, HeaderRule, PathRewrite, RequestIdRule, RequestText, ResponseTo, RouteHeaders,
    RouteRewriter, Scheme, Version,
};

use crate::common::Way;

fn to_http11(way: &Way, text: &str) -> String {
    way.response(text, Version::Http11, RequestText::default()).0
}

fn to_http10(way: &Way, text: &str) -> (String, bool, bool) {
    let (out, written) = way.response(text, Version::Http10, RequestText::default());
    (out, written.keep_alive, written.dechunk)
}

#[test]
fn a_plain_response_passes_as_it_came() {
    let response = "HTTP/1.1 200 Fine by me\nserver: x\nContent-Length: 3\nX-Y:  z \n\n";
    assert_eq!(to_http11(&Way::new(), response), response);
}

#[test]
fn the_status_line_is_made_sound() {
    assert_eq!(
        to_http11(&Way::new(), "HTTP/1.1 200\nContent-Length: 3\n\n"),
        "HTTP/1.1 200 \nContent-Length: 3\n\n"
    );
    assert_eq!(
        to_http11(&Way::new(), "HTTP/1.0 200 OK\nContent-Length: 3\nConnection: keep-alive\n\n"),
        "HTTP/1.1 200 OK\nContent-Length: 3\n\n"
    );
}

#[test]
fn hop_by_hop_and_nominated_headers_stay_behind() {
    assert_eq!(
        to_http11(
            &Way::new(),
            "HTTP/1.1 200 OK\nConnection: close, X-Hop, Content-Length\nContent-Length: 3\nX-Hop: 1\nKeep-Alive: 1\nUpgrade: h2\n\n"
        ),
        "HTTP/1.1 200 OK\nContent-Length: 3\n\n"
    );
}

#[test]
fn what_a_server_says_of_files_is_not_for_clients() {
    assert_eq!(
        to_http11(
            &Way::new(),
            "HTTP/1.1 200 OK\nX-Accel-Redirect: /i\nA: b\nx-accel-buffering: no\nX-SENDFILE: /etc/passwd\n\
             Content-Length: 3\nX-Acceleration: 1\n\n"
        ),
        "HTTP/1.1 200 OK\nA: b\nContent-Length: 3\nX-Acceleration: 1\n\n"
    );
}

#[test]
fn the_client_is_told_when_its_connection_ends() {
    let mut way = Way::new();
    way.close = true;
    assert_eq!(
        to_http11(&way, "HTTP/1.1 200 OK\nContent-Length: 3\n\n"),
        "HTTP/1.1 200 OK\nContent-Length: 3\nConnection: close\n\n"
    );
}

#[test]
fn a_body_that_only_the_end_delimits_ends_the_connection() {
    let (out, written) = Way::new().response("HTTP/1.1 200 OK\n\n", Version::Http11, RequestText::default());
    assert_eq!(out, "HTTP/1.1 200 OK\nConnection: close\n\n");
    assert!(!written.keep_alive);
}

#[test]
fn an_http10_client_is_told_when_its_connection_stays() {
    assert_eq!(
        to_http10(&Way::new(), "HTTP/1.1 200 OK\nContent-Length: 3\n\n"),
        ("HTTP/1.1 200 OK\nContent-Length: 3\nConnection: keep-alive\n\n".into(), true, false)
    );
}

#[test]
fn chunks_are_taken_off_for_an_http10_client() {
    let chunked = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: X-T\nA: b\n\n";
    assert_eq!(
        to_http10(&Way::new(), chunked),
        ("HTTP/1.1 200 OK\nA: b\nConnection: close\n\n".into(), false, true)
    );
    assert_eq!(to_http11(&Way::new(), chunked), chunked);
}

#[test]
fn a_switch_of_protocols_passes() {
    let switch = "HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nSec-WebSocket-Accept: x\n";
    assert_eq!(
        to_http11(&Way::new(), &format!("{switch}Connection: Upgrade\n\n")),
        format!("{switch}Connection: upgrade\n\n")
    );
}

#[test]
fn an_interim_response_passes_without_weirs_headers() {
    let mut way = Way::new();
    way.rules.via = Some("weir".into());
    way.close = true;
    way.request_id = "id";
    way.rules.request_id = Some(RequestIdRule { header: "X-Request-Id".into(), accept: false });
    assert_eq!(to_http11(&way, "HTTP/1.1 100 Continue\n\n"), "HTTP/1.1 100 Continue\n\n");
    assert_eq!(
        to_http11(&way, "HTTP/1.1 103 Early Hints\nLink: </a>\n\n"),
        "HTTP/1.1 103 Early Hints\nLink: </a>\n\n"
    );
}

#[test]
fn framing_does_not_stand_where_no_body_can_be() {
    let no_content = "HTTP/1.1 204 No Content\nContent-Length: 0\nA: b\n\n";
    assert_eq!(to_http11(&Way::new(), no_content), "HTTP/1.1 204 No Content\nA: b\n\n");
    let not_modified = "HTTP/1.1 304 Not Modified\nContent-Length: 100\n\n";
    assert_eq!(to_http11(&Way::new(), not_modified), not_modified);
}

#[test]
fn the_answer_to_head_keeps_its_length_and_has_no_body() {
    let response = "HTTP/1.1 200 OK\nContent-Length: 100\n\n";
    let to = ResponseTo { is_head: true, ..ResponseTo::default() };
    let (out, written) = Way::new().response_to(response, to, Version::Http11, RequestText::default());
    assert_eq!(out, response);
    assert!(written.keep_alive);
}

#[test]
fn a_response_without_a_date_gets_the_time_of_its_receipt() {
    let mut way = Way::new();
    way.date = "Tue, 07 May 2024 10:00:00 GMT";
    let plain = "HTTP/1.1 200 OK\nContent-Length: 3\n";
    assert_eq!(to_http11(&way, &format!("{plain}\n")), format!("{plain}Date: {}\n\n", way.date));
    let dated = format!("{plain}date: Mon, 06 May 2024 10:00:00 GMT\n\n");
    assert_eq!(to_http11(&way, &dated), dated);
    let interim = "HTTP/1.1 103 Early Hints\nLink: </a>\n\n";
    assert_eq!(to_http11(&way, interim), interim);
}

#[test]
fn via_and_request_id_are_added() {
    let mut way = Way::new();
    way.rules.via = Some("weir".into());
    way.request_id = "id-1";
    way.rules.request_id = Some(RequestIdRule { header: "X-Request-Id".into(), accept: true });
    assert_eq!(
        to_http11(&way, "HTTP/1.1 200 OK\nContent-Length: 3\nx-request-id: theirs\nVia: 1.1 inner\n\n"),
        "HTTP/1.1 200 OK\nContent-Length: 3\nVia: 1.1 inner\nVia: 1.1 weir\nX-Request-Id: id-1\n\n"
    );
}

#[test]
fn rules_set_add_and_remove_headers() {
    let mut way = Way::new();
    let response = vec![
        HeaderRule { name: "Server".into(), action: HeaderAction::Remove },
        HeaderRule { name: "X-A".into(), action: HeaderAction::Set("{server} {host}{path}".into()) },
        HeaderRule { name: "Set-Cookie".into(), action: HeaderAction::Add("a=b".into()) },
    ];
    way.route = RouteRewriter::compile(None, &RouteHeaders { request: Vec::new(), response }).unwrap();
    assert!(way.route.needs_request());
    let request = RequestText { method: b"GET", host: b"h:81", path: b"/p", query: None };
    let (out, _) = way.response(
        "HTTP/1.1 200 OK\nServer: x\nContent-Length: 3\nX-A: 0\nSet-Cookie: c\n\n",
        Version::Http11,
        request,
    );
    assert_eq!(out, "HTTP/1.1 200 OK\nContent-Length: 3\nSet-Cookie: c\nX-A: w1 h/p\nSet-Cookie: a=b\n\n");
}

#[test]
fn location_follows_the_prefix_back() {
    let mut way = Way::new();
    way.scheme = Scheme::Https;
    let rewrite = PathRewrite::Prefix { from: "/dav".into(), to: "/inner".into() };
    way.route = RouteRewriter::compile(Some(&rewrite), &RouteHeaders::default()).unwrap();
    assert!(way.route.needs_request());
    let request = RequestText { host: b"h.example", ..RequestText::default() };
    let location = |uri: &str| {
        let text = format!("HTTP/1.1 301 Moved\nlocation: {uri}\nContent-Length: 0\n\n");
        let (out, _) = way.response(&text, Version::Http11, request);
        out.lines().find_map(|line| line.strip_prefix("location: ").map(str::to_owned)).unwrap()
    };
    assert_eq!(location("/inner/a?b#c"), "/dav/a?b#c");
    assert_eq!(location("http://h.example/inner/a"), "https://h.example/dav/a");
    assert_eq!(location("https://h.example/inner"), "https://h.example/dav");
    for unmapped in
        ["/other", "http://h.example/other", "http://elsewhere/inner/a", "a/b", "//h.example/inner"]
    {
        assert_eq!(location(unmapped), unmapped);
    }
}

#[test]
fn a_rule_about_one_x_forwarded_header_leaves_the_rest() {
    let mut way = Way::new();
    let response = vec![HeaderRule { name: "X-Forwarded-Port".to_owned(), action: HeaderAction::Remove }];
    way.route = RouteRewriter::compile(None, &RouteHeaders { request: Vec::new(), response }).unwrap();
    assert_eq!(
        to_http11(
            &way,
            "HTTP/1.1 200 OK\nX-Forwarded-Port: 1\nX-Forwarded-Prefix: /a\nContent-Length: 0\n\n"
        ),
        "HTTP/1.1 200 OK\nX-Forwarded-Prefix: /a\nContent-Length: 0\n\n"
    );
}
