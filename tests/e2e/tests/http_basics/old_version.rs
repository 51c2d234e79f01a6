//! Tests of HTTP/1.0 clients.

use weir_e2e::{Weir, web};
use weir_testkit::{BodyFraming, Ending, RawServer, Step};

#[test]
fn the_connection_ends_after_the_answer() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let response = client.exchange("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((response.status, response.body.as_slice()), (200, b"hi".as_slice()));
    assert_eq!(client.ending(), Ending::Fin);
}

#[test]
fn keep_alive_is_kept_where_it_is_asked_for() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for _ in 0..3 {
        let response = client.exchange("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(response.header("connection").map(str::to_lowercase).as_deref(), Some("keep-alive"));
        assert_eq!(response.body, b"hi");
    }
}

#[test]
fn the_server_is_spoken_to_in_http_1_1_with_a_host() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    weir.client().exchange("GET / HTTP/1.0\r\n\r\n");
    let received = String::from_utf8(server.received(0)).unwrap();
    assert!(received.starts_with("GET / HTTP/1.1\r\n"), "{received}");
    // RFC 9112 section 3.2: an HTTP/1.1 request has exactly one Host, even if it is empty.
    assert_eq!(received.to_lowercase().matches("\r\nhost:").count(), 1, "{received}");
}

#[test]
fn a_chunked_answer_comes_without_its_chunks_and_ends_with_the_connection() {
    let mut wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n".to_vec();
    wire.extend_from_slice(b"5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-Sum: 1\r\n\r\n");
    for slow in [false, true] {
        let send = match slow {
            false => Step::Send(wire.clone()),
            true => Step::SendSlowly(wire.clone(), std::time::Duration::from_micros(200)),
        };
        let server = RawServer::script([Step::ReadHead, send, Step::Hold]);
        let weir = Weir::start(&web(&[server.addr()]));
        let mut client = weir.client();
        let response = client.exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(response.framing, BodyFraming::Close);
        assert_eq!(response.header("transfer-encoding"), None);
        assert_eq!(response.text(), "hello world");
    }
}

#[test]
fn a_large_chunked_answer_loses_nothing_but_its_chunks() {
    let chunks: Vec<Vec<u8>> = (0..200u32).map(|n| vec![n as u8; 1 + (n as usize * 977) % 20_000]).collect();
    let expected = chunks.concat();
    let mut wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    wire.extend_from_slice(&weir_testkit::chunked(&chunks));
    let server = RawServer::script([Step::ReadHead, Step::Send(wire), Step::Hold]);
    let weir = Weir::start(&web(&[server.addr()]));
    let response = weir.client().exchange("GET / HTTP/1.0\r\n\r\n");
    assert!(response.body == expected, "{} of {} bytes", response.body.len(), expected.len());
}

#[test]
fn a_chunked_answer_that_is_cut_ends_in_a_reset() {
    let wire = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let server = RawServer::script([Step::ReadHead, Step::Send(wire.into())]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send("GET / HTTP/1.0\r\n\r\n");
    // The end of the connection is the end of the body. Only a reset shows that data is missing.
    assert_eq!(client.read_to_end().1, Ending::Reset);
}

#[test]
fn transfer_encoding_in_a_request_of_http_1_0_is_refused() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let response = client.exchange("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(response.status, 400);
    assert_eq!(client.ending(), Ending::Fin);
    assert_eq!(server.received_in_all(), b"");
}
