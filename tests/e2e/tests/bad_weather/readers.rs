//! Tests of clients that read one byte at a time.
//!
//! Their pace alone does not decide the result. A kernel reports free buffer space to the sender only in
//! larger steps. So a client that reads one byte per second seems to read nothing for hours.

use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, PATIENCE, RawClient, RawServer, wait_until};

/// Pause between two bytes. One second would give the same result in more time; `body` is shortened in
/// proportion.
const PAUSE: Duration = Duration::from_millis(10);

fn start(server: &RawServer, timeouts: &str) -> Weir {
    Weir::start(&format!("{}[listener.web.timeouts]\n{timeouts}\n", web(&[server.addr()])))
}

/// Starts a server that sends more than all kernel buffers can hold.
fn endless() -> RawServer {
    RawServer::start(|peer| {
        peer.head()?;
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n"))?;
        let piece = vec![b'x'; 1 << 20];
        // Ends when Weir stops reading.
        (0..LENGTH >> 20).try_for_each(|_| peer.send(&piece))
    })
}

const LENGTH: usize = 256 << 20;

/// Checks that the client was reset within the response and that the server was not blamed.
fn assert_clients_fault(weir: &Weir, mut client: RawClient, taken: usize) {
    let (rest, ending) = client.read_to_end();
    assert_eq!(ending, Ending::Reset, "a part of a response must not look whole");
    assert!(taken + rest.len() < LENGTH);
    wait_until("it is counted", PATIENCE, || {
        weir.metrics().get("weir_listener_client_aborts_total", &["listener=\"web\""]) == 1.0
    });
    assert_eq!(weir.metrics().get("weir_server_server_aborts_total", &[]), 0.0);
}

#[test]
fn a_response_that_the_kernels_have_room_for_comes_whole_however_slowly_it_is_read() {
    let server = RawServer::answering("b".repeat(60));
    let weir = start(&server, "body = \"100ms\"\nmin-body-rate = \"1KiB/s\"");
    let mut client = weir.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    // More than one second in total.
    let response = client.read_slowly(1_000, 1, PAUSE);
    assert_eq!(client.ending(), Ending::Fin);
    let response = String::from_utf8(response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with(&"b".repeat(60)), "{response}");
    assert_eq!(weir.metrics().get("weir_listener_client_aborts_total", &[]), 0.0);
}

#[test]
fn of_a_larger_one_a_client_that_reads_byte_by_byte_gets_a_part_and_then_a_reset_after_the_time_of_body() {
    let server = endless();
    let weir = start(&server, "body = \"300ms\"");
    let mut client = weir.client().receive_buffer(64 * 1024);
    client.send(get("/"));
    server.wait_for_connections(1);
    let mut taken = 0;
    while server.connections_open() > 0 {
        taken += client.read_slowly(1, 1, PAUSE).len();
    }
    assert_clients_fault(&weir, client, taken);
}

#[test]
fn a_client_that_takes_less_than_the_minimum_rate_is_reset_though_it_takes_something_all_the_time() {
    let server = endless();
    let weir = start(&server, "body = \"500ms\"\nmin-body-rate = \"8MiB/s\"");
    let mut client = weir.client().receive_buffer(64 * 1024);
    client.send(get("/"));
    // At most 2 MB per second, in pieces large enough that the sender's kernel sees the free space.
    let taken = client.read_slowly(LENGTH, 20_000, PAUSE).len();
    server.wait_for_end(0);
    assert_clients_fault(&weir, client, taken);
}
