//! Tests of 1xx responses and Expect.

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, RawServer, Step};

#[test]
fn interim_responses_are_passed_on_in_their_order() {
    let wire = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n\
                HTTP/1.1 103 Early Hints\r\nLink: </b.css>; rel=preload\r\n\r\n\
                HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    for slow in [false, true] {
        let send = match slow {
            false => Step::Send(wire.into()),
            true => Step::SendSlowly(wire.into(), std::time::Duration::from_micros(200)),
        };
        let server = RawServer::script([Step::ReadHead, send, Step::Hold]);
        let weir = Weir::start(&web(&[server.addr()]));
        let mut client = weir.client();
        client.send(get("/"));
        let links: Vec<_> = (0..2).map(|_| client.response()).collect();
        assert_eq!(links[0].header("link"), Some("</a.css>; rel=preload"));
        assert_eq!((links[1].status, links[1].header("link")), (103, Some("</b.css>; rel=preload")));
        assert_eq!(client.response().body, b"hi");
    }
}

#[test]
fn an_interim_response_reaches_the_client_before_the_final_one_exists() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 103 Early Hints\r\n\r\n")?;
        peer.take(4)?;
        peer.respond("hi")
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
    assert_eq!(client.response().status, 103);
    assert_eq!(client.exchange("body").body, b"hi");
}

#[test]
fn a_client_of_http_1_0_never_sees_an_interim_response() {
    let wire = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n\
                HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let server = RawServer::script([Step::ReadHead, Step::Send(wire.into()), Step::Hold]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let response = client.send("GET / HTTP/1.0\r\n\r\n").response();
    assert_eq!((response.status, response.body.as_slice()), (200, b"hi".as_slice()));
}

#[test]
fn an_expectation_is_passed_on_and_the_body_waits_for_the_server() {
    let server = RawServer::start(|peer| {
        let head = peer.head()?;
        assert!(String::from_utf8_lossy(&head).to_lowercase().contains("expect: 100-continue"));
        peer.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        let body = peer.take(5)?;
        peer.respond(body)
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.response().status, 100);
    assert_eq!(client.exchange("hello").body, b"hello");
    assert_eq!(server.failures(), Vec::<String>::new());
}

#[test]
fn a_refused_expectation_reaches_the_client_without_its_body() {
    let server = RawServer::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".into()),
        Step::Hold,
    ]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    let response = client.response();
    assert_eq!(response.status, 401);
    // The body may come or not. The next bytes are ambiguous, so both connections end.
    assert!(response.says_close(), "{:?}", response.headers);
    client.half_close();
    assert_eq!(client.ending(), Ending::Fin);
    server.wait_for_end(0);
}

#[test]
fn a_client_that_does_not_wait_for_100_is_served_as_well() {
    let server = RawServer::start(|peer| {
        let request = peer.request()?;
        peer.respond(request.body)
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let request = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(client.exchange(request).body, b"hello");
}
