//! Tests clients that close while Weir waits for a server: the request also ends at the server, and the log
//! names the phase.

use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, FullListener, PATIENCE, RawClient, RawServer, Step, pattern, wait_until};

use crate::access_log::Logged;

/// Interval between the pieces of a slow response.
const PIECE_INTERVAL: Duration = Duration::from_millis(5);

/// Returns the termination state of the first line of the log.
fn state(logged: &Logged) -> String {
    let line = logged.lines(1).remove(0);
    line.split(' ').nth(9).unwrap().to_owned()
}

fn client_aborts(weir: &Weir) -> f64 {
    weir.metrics().get("weir_listener_client_aborts_total", &["listener=\"web\""])
}

/// Sets `half-close` for the listener `web`: clients may close their sending direction.
fn half_closing(config: &str) -> String {
    config.replacen("bind = ", "half-close = true\nbind = ", 1)
}

#[test]
fn a_client_that_closes_while_its_server_works_ends_its_request_there() {
    for more in ["", "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let server = RawServer::script([Step::ReadHead, Step::Hold]);
        let logged = Logged::start(&web(&[server.addr()]), "httplog");
        let mut client = logged.weir.client();
        client.send(format!("{}{more}", get("/slow")));
        server.wait_for_bytes(0, 20);
        client.half_close();
        server.wait_for_end(0);
        assert_eq!(client.read_to_end().0, b"", "{more}");
        assert_eq!(state(&logged), "CH--", "{more}");
        assert_eq!(client_aborts(&logged.weir), 1.0, "{more}");
        assert_eq!(server.connections(), 1, "{more}");
    }
}

#[test]
fn a_client_that_closes_in_the_queue_is_not_served() {
    let server = RawServer::script([Step::ReadHead, Step::Hold]);
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\n\
         servers = {{ address = \"{}\", max-connections = 1 }}\ntimeouts = {{ queue = \"60s\", response = \"60s\" }}\n",
        server.addr()
    );
    let logged = Logged::start(&config, "httplog");
    let mut first = logged.weir.client();
    first.send(get("/first"));
    server.wait_for_bytes(0, 20);
    // The body of the second request is more than Weir reads together with its head.
    let large =
        format!("POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n{}", "b".repeat(50_000));
    for (count, request) in [get("/small"), large].into_iter().enumerate() {
        let mut client = logged.weir.client();
        client.send(request);
        let waiting = || logged.weir.metrics().get("weir_pool_queue_length", &["pool=\"web\""]);
        wait_until("it waits", PATIENCE, || waiting() == 1.0);
        client.half_close();
        wait_until("it has left the queue", PATIENCE, || waiting() == 0.0);
        assert!(logged.lines(count + 1)[count].contains(" CQ-- "), "{:?}", logged.lines(count + 1));
    }
    assert_eq!((client_aborts(&logged.weir), server.connections()), (2.0, 1));
}

#[test]
fn a_client_that_closes_while_its_server_is_connected_to_is_noticed() {
    let full = FullListener::new();
    let config = format!("{}timeouts = {{ connect = \"1h\" }}\n", web(&[full.addr()]));
    let logged = Logged::start(&config, "httplog");
    let mut client = logged.weir.client();
    client.send(get("/"));
    wait_until("it is being connected to", PATIENCE, || {
        logged.weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]) == 1.0
    });
    client.half_close();
    assert_eq!(state(&logged), "CC--");
}

#[test]
fn a_client_that_closes_while_a_response_pauses_ends_it_at_its_server() {
    let server = RawServer::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n".into()),
        Step::Hold,
    ]);
    let logged = Logged::start(&web(&[server.addr()]), "httplog");
    let mut client = logged.weir.client();
    client.send(get("/events"));
    assert_eq!(client.response_head().status, 200);
    client.half_close();
    server.wait_for_end(0);
    assert_eq!(client.read_to_end().1, Ending::Reset, "what the client has got is not whole");
    assert_eq!(state(&logged), "CD--");
}

#[test]
fn a_client_that_has_sent_its_body_and_closes_is_noticed_while_its_server_reads_nothing() {
    let server = RawServer::script([Step::ReadHead, Step::Hold]);
    let logged = Logged::start(&web(&[server.addr()]), "httplog");
    let mut client = logged.weir.client();
    let body = vec![b'x'; 8 << 20];
    client.send(format!("PUT /large HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len()));
    // As much as all buffers between the client and the server hold.
    let _ = client.timeout(Duration::from_millis(500)).try_send(body);
    server.wait_for_end(0);
    assert_eq!(state(&logged), "CH--");
}

#[test]
fn a_client_that_ends_its_direction_is_answered_where_that_is_configured() {
    for version in ["1.0", "1.1"] {
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate".to_vec();
        // Weir sees the end of the client's direction long before the last byte is sent.
        let server = RawServer::script([Step::ReadHead, Step::SendSlowly(response, PIECE_INTERVAL)]);
        let weir = Weir::start(&half_closing(&web(&[server.addr()])));
        let mut client = weir.client();
        client.send(format!("GET / HTTP/{version}\r\nHost: a\r\n\r\n")).half_close();
        assert_eq!(client.response().body, b"late", "{version}");
        assert_eq!(client_aborts(&weir), 0.0, "{version}");
    }
}

#[test]
fn pipelined_requests_before_an_end_are_answered_where_that_is_configured() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&half_closing(&web(&[server.addr()])));
    let mut client = weir.client();
    client.send(get("/1").repeat(3)).half_close();
    for _ in 0..3 {
        assert_eq!(client.response().body, b"hi");
    }
    assert_eq!(client.ending(), Ending::Fin);
}

#[test]
fn a_break_is_noticed_where_clients_may_end_their_direction() {
    let server = RawServer::script([Step::ReadHead, Step::Hold]);
    let logged = Logged::start(&half_closing(&web(&[server.addr()])), "httplog");
    let mut client = logged.weir.client();
    client.send(get("/slow")).half_close();
    server.wait_for_bytes(0, 20);
    client.reset();
    server.wait_for_end(0);
    assert_eq!(state(&logged), "CH--");
}

#[test]
fn a_client_that_has_ended_its_direction_and_still_reads_gets_a_response_to_its_end() {
    let large = pattern(20_000_000);
    let server = RawServer::answering(large.clone());
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = RawClient::connect(weir.addr("web")).receive_buffer(256 * 1024);
    client.send(get("/"));
    assert_eq!(client.response_head().status, 200);
    client.half_close();
    let read = client.read_slowly(large.len(), 256 * 1024, Duration::from_millis(2));
    assert!(read == large);
}
