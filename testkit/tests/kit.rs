//! Tests of the test kit itself, because other tests rely on it.

use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use weir_testkit::{
    BodyFraming, Child, Ending, FullListener, PATIENCE, RawClient, RawServer, RefusingPort, ResponseError,
    Signal, Step, TempDir, chunked, descriptor_count, rss_bytes, wait_until,
};

#[test]
fn a_server_keeps_every_byte_of_every_connection() {
    let server = RawServer::answering("hi");
    for number in 0..2 {
        let mut client = RawClient::connect(server.addr());
        let request = format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n");
        for _ in 0..2 {
            assert_eq!(client.exchange(&request).body, b"hi");
        }
        assert_eq!(server.received(number), request.repeat(2).as_bytes());
    }
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_client_tells_a_fin_from_a_reset() {
    let partial = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345";
    let clean = RawServer::script([Step::ReadHead, Step::Send(partial.into())]);
    let harsh = RawServer::script([Step::ReadHead, Step::Send(partial.into()), Step::Reset]);
    for (server, expected) in [(clean, Ending::Fin), (harsh, Ending::Reset)] {
        let mut client = RawClient::connect(server.addr());
        match client.send("GET / HTTP/1.1\r\n\r\n").try_response() {
            Err(ResponseError::InBody(ending, response)) => {
                assert_eq!((ending, response.body.as_slice()), (expected, b"12345".as_slice()));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn responses_are_read_by_their_framing_and_surplus_stays() {
    let mut wire =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    wire.extend_from_slice(&chunked(&["one", "two"]));
    wire.extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\nto the end");
    let server = RawServer::script([Step::ReadHead, Step::SendSlowly(wire, Duration::ZERO)]);
    let mut client = RawClient::connect(server.addr());
    client.send("GET / HTTP/1.1\r\n\r\n");
    assert_eq!(client.response().status, 100);
    let in_chunks = client.response();
    assert_eq!((in_chunks.framing, in_chunks.body.as_slice()), (BodyFraming::Chunked, b"onetwo".as_slice()));
    let last = client.response();
    assert_eq!((last.framing, last.body.as_slice()), (BodyFraming::Close, b"to the end".as_slice()));
    assert!(matches!(client.try_response(), Err(ResponseError::Nothing(Ending::Fin))));
}

#[test]
fn a_killed_server_resets_what_is_open_and_frees_its_port() {
    let server = RawServer::silent();
    let address = server.addr();
    let mut client = RawClient::connect(address);
    client.send("GET / HTTP/1.1\r\n\r\n");
    server.wait_for_bytes(0, 18);
    server.kill();
    assert_eq!(client.ending(), Ending::Reset);
    assert!(RawClient::try_connect(address).is_err());
    let again = RawServer::start_on(address, |peer| peer.respond("back"));
    assert_eq!(again.addr(), address);
}

#[test]
fn a_server_that_stops_accepting_goes_on_with_what_it_has() {
    let mut server = RawServer::answering("hi");
    let mut client = RawClient::connect(server.addr());
    assert_eq!(client.exchange("GET / HTTP/1.1\r\n\r\n").status, 200);
    server.stop_accepting();
    assert!(RawClient::try_connect(server.addr()).is_err());
    assert_eq!(client.exchange("GET / HTTP/1.1\r\n\r\n").status, 200);
}

#[test]
fn a_unix_socket_works_like_a_port() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("server.sock");
    let _server = RawServer::start_on_unix(&path, |peer| {
        peer.head()?;
        peer.respond("unix")
    });
    assert_eq!(RawClient::connect_unix(&path).exchange("GET / HTTP/1.1\r\n\r\n").body, b"unix");
}

#[test]
fn nobody_answers_where_nobody_should() {
    let refusing = RefusingPort::new();
    assert!(RawClient::try_connect(refusing.addr()).is_err());
    let full = FullListener::new();
    let connect = TcpStream::connect_timeout(&full.addr(), Duration::from_millis(300));
    assert_eq!(connect.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
}

#[test]
fn a_child_is_heard_signalled_and_killed() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap 'echo got it; exit 3' TERM; echo ready >&2; while :; do sleep 0.01; done"]);
    let mut child = Child::spawn(command);
    assert_eq!(child.wait_for_line(PATIENCE, |line| line.starts_with("rea")), "ready");
    assert!(descriptor_count(child.pid()) >= 3 && rss_bytes(child.pid()) > 0);
    child.signal(Signal::TERM);
    assert_eq!(child.wait(PATIENCE).code(), Some(3));
    assert_eq!(child.output(), ["ready", "got it"]);

    let mut command = Command::new("sleep");
    command.arg("600");
    let child = Child::spawn(command);
    let process = format!("/proc/{}", child.pid());
    drop(child);
    wait_until("the process is gone", PATIENCE, || !std::path::Path::new(&process).exists());
}
