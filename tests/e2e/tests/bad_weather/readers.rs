//! Tests of clients that read slowly.
//!
//! Their pace alone does not decide the result. A kernel reports free buffer space to the sender only in
//! larger steps. Weir asks what the client's kernel has acknowledged. Of a client that reads one byte at a
//! time nothing is acknowledged for long, so it seems to read nothing for hours.

use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, PATIENCE, RawClient, RawServer, TempDir, wait_until};

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

/// More than all kernels on the way take at once. Weir's has room again only once the client has taken a third of what is there.
const BUFFERED: usize = 16 << 20;
/// Taken slowly, at 400 KB a second: a third of a buffer takes seconds.
const SLOW: usize = 3 << 19;

#[test]
fn a_client_that_takes_something_all_the_time_gets_everything_whatever_the_kernel_tells_of_room() {
    let server = RawServer::answering(vec![b'x'; BUFFERED]);
    let files = TempDir::new().unwrap();
    std::fs::create_dir(files.path().join("files")).unwrap();
    std::fs::write(files.path().join("files/body"), vec![b'x'; BUFFERED]).unwrap();
    let weir = Weir::start(&format!(
        "{}[listener.web.timeouts]\nbody = \"300ms\"\n\n[listener.raw]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"web\"\n\
         timeouts = {{ tunnel = \"300ms\" }}\n\n[[route]]\npath = \"/files\"\nstorage = \"files\"\n\n\
         [storage-area.files]\nroot = \"{}\"\n\n[storage-area.files.access]\nanonymous-read = true\n",
        web(&[server.addr()]),
        files.path().display()
    ));
    for (listener, path) in [("web", "/"), ("web", "/files/body"), ("raw", "/")] {
        let mut client = RawClient::connect(weir.addr(listener)).receive_buffer(16 * 1024);
        client.send(get(path));
        let head = client.response_head();
        assert_eq!(head.header("content-length"), Some(BUFFERED.to_string().as_str()), "{listener} {path}");
        let taken = client.read_slowly(SLOW, 8 * 1024, 2 * PAUSE).len();
        let rest = client.read_exact(BUFFERED - taken);
        assert_eq!(taken + rest.len(), BUFFERED, "{listener} {path}");
    }
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
