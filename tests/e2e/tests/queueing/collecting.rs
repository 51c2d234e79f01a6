//! Tests small bodies, which Weir reads before it chooses a server.

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawServer, RefusingPort, Step, wait_until};

use crate::{Gate, one_at_a_time};

const SLOW: &str = "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n";

fn listener(weir: &Weir, name: &str) -> f64 {
    weir.metrics().get(&format!("weir_listener_{name}"), &["listener=\"web\""])
}

#[test]
fn a_client_that_sends_a_small_body_slowly_keeps_no_server_busy() {
    let gate = Gate::new();
    gate.open(2);
    let weir = Weir::start(&one_at_a_time(gate.addr(), ""));
    let mut slow = weir.client();
    slow.send(format!("{SLOW}\r\n12345"));
    wait_until("its head has come", PATIENCE, || listener(&weir, "requests_total") == 1.0);
    assert_eq!(weir.client().exchange(get("/quick")).status, 200);
    slow.send("67890");
    assert_eq!(slow.response().status, 200);
    assert_eq!(gate.came(), ["/quick", "/slow"]);
}

#[test]
fn where_bodies_are_not_waited_for_a_server_is_taken_with_the_head() {
    let servers =
        [("buffer-requests = false", ""), ("buffer-requests = \"1KiB\"", "Content-Length: 2000\r\n")];
    for (keys, length) in servers {
        let server = RawServer::script([Step::ReadHead, Step::Hold]);
        let weir = Weir::start(&one_at_a_time(server.addr(), keys));
        let mut slow = weir.client();
        let length = if length.is_empty() { "Content-Length: 10\r\n" } else { length };
        slow.send(format!("POST /slow HTTP/1.1\r\nHost: a\r\n{length}\r\n12345"));
        server.wait_for_bytes(0, SLOW.len());
    }
}

#[test]
fn a_client_that_waits_to_be_asked_for_a_small_body_is_asked_by_weir() {
    let server = RawServer::responding(|request| {
        assert_eq!(request.header("expect"), None);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.body.len());
        [head.as_bytes(), &request.body].concat()
    });
    let weir = Weir::start(&one_at_a_time(server.addr(), ""));
    let mut client = weir.client();
    for _ in 0..2 {
        assert_eq!(client.send(format!("{SLOW}Expect: 100-continue\r\n\r\n")).response_to_head().status, 100);
        assert_eq!(client.send("1234567890").response().text(), "1234567890");
    }
    // A client that does not wait gets no 100 (Continue).
    let response = client.send(format!("{SLOW}Expect: 100-continue\r\n\r\n1234567890")).response();
    assert_eq!((response.status, response.text().as_str()), (200, "1234567890"));
    assert_eq!(server.failures(), Vec::<String>::new());
}

#[test]
fn a_small_body_that_stops_coming_is_answered_without_a_server() {
    let server = RawServer::answering("hi");
    let config = format!("{}[listener.web.timeouts]\nbody = \"200ms\"\n", one_at_a_time(server.addr(), ""));
    let weir = Weir::start(&config);
    assert_eq!(weir.client().exchange(format!("{SLOW}\r\n12345")).status, 408);
    let mut closing = weir.client();
    closing.send(format!("{SLOW}\r\n12345"));
    closing.half_close();
    assert_eq!(closing.read_to_end().0, b"");
    assert_eq!((server.connections(), listener(&weir, "client_aborts_total")), (0, 1.0));
}

#[test]
fn a_small_body_that_was_read_goes_to_another_server_when_the_first_cannot_be_reached() {
    let (refusing, server) = (RefusingPort::new(), RawServer::answering("hi"));
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nmax-connections = 5\neject = false\n\
         balance = \"first\"\nservers = [\"{}\", \"{}\"]\n",
        refusing.addr(),
        server.addr()
    );
    let weir = Weir::start(&config);
    let mut slow = weir.client();
    slow.send(format!("{SLOW}\r\n12345"));
    wait_until("its head has come", PATIENCE, || listener(&weir, "requests_total") == 1.0);
    assert_eq!(slow.exchange("67890").status, 200);
}
