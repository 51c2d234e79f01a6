//! Tests `Max-Forwards`, the limit of hops of TRACE and OPTIONS (RFC 9110 section 7.6.2).

use weir_e2e::{Weir, web};
use weir_testkit::RawServer;

use crate::{in_order, seen, values};

fn start() -> (Weir, RawServer) {
    let server = RawServer::answering("hi");
    (Weir::start(&in_order(&web(&[server.addr()]))), server)
}

#[test]
fn the_server_gets_one_less() {
    let (weir, server) = start();
    for method in ["OPTIONS", "TRACE"] {
        let request = |left: &str| format!("{method} / HTTP/1.1\r\nHost: a\r\nMax-Forwards: {left}\r\n\r\n");
        assert_eq!(values(&seen(&weir, &server, &request("3")), "max-forwards"), ["2"]);
        assert_eq!(values(&seen(&weir, &server, &request("1")), "max-forwards"), ["0"]);
    }
    let others = seen(&weir, &server, "GET / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n");
    assert_eq!(values(&others, "max-forwards"), ["0"]);
}

#[test]
fn at_zero_weir_is_who_answers() {
    let (weir, server) = start();
    let mut client = weir.client();
    let options = client.exchange("OPTIONS /a HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n");
    assert_eq!((options.status, options.header("content-length")), (200, Some("0")));
    let allowed: Vec<&str> = options.header("allow").unwrap().split(", ").collect();
    for method in ["GET", "OPTIONS", "TRACE", "PROPFIND"] {
        assert!(allowed.contains(&method), "{allowed:?}");
    }
    assert!(!allowed.contains(&"CONNECT"), "{allowed:?}");
    let trace = client.exchange(
        "TRACE /a?b HTTP/1.1\r\nHost: a\r\nCookie: s=1\r\nX-Token: t\r\nVia: 1.1 front\r\nMax-Forwards: 0\r\n\r\n",
    );
    assert_eq!((trace.status, trace.header("content-type")), (200, Some("message/http")));
    assert_eq!(trace.text(), "TRACE /a?b HTTP/1.1\r\nHost: a\r\nVia: 1.1 front\r\nMax-Forwards: 0\r\n\r\n");
    assert_eq!(server.connections(), 0);
    // The connection stays open after such a response.
    assert_eq!(client.exchange("OPTIONS /a HTTP/1.1\r\nHost: a\r\n\r\n").text(), "hi");
}

#[test]
fn what_is_no_number_is_answered_400() {
    let (weir, server) = start();
    for (method, left) in [("OPTIONS", "-1"), ("TRACE", "1, 2"), ("TRACE", "")] {
        let answer =
            weir.client().exchange(format!("{method} / HTTP/1.1\r\nHost: a\r\nMax-Forwards: {left}\r\n\r\n"));
        assert_eq!(answer.status, 400, "{left:?}");
        assert!(answer.says_close());
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_route_that_answers_by_itself_does_so_at_zero_as_well() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!(
        "{}\n[[route]]\npath = \"/fixed\"\nrespond = {{ status = 403, body = \"no\" }}\n",
        web(&[server.addr()])
    ));
    let answer = weir.client().exchange("OPTIONS /fixed HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n");
    assert_eq!((answer.status, answer.text().as_str()), (403, "no"));
}
