//! Tests of chunk extensions in responses (RFC 9112 section 7.1.1): Weir ignores and removes them. Requests
//! with chunk extensions are refused; see the table of smuggling cases.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{BodyFraming, Ending, RawServer};

const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Starts a server that responds with these bytes, with `pause` between any two of them.
fn answering(wire: Vec<u8>, pause: Option<Duration>) -> RawServer {
    RawServer::start(move |peer| {
        while peer.request().is_ok() {
            match pause {
                Some(pause) => peer.send_slowly(&wire, pause)?,
                None => peer.send(&wire)?,
            }
        }
        Ok(())
    })
}

#[test]
fn a_client_gets_the_chunks_without_their_extensions() {
    let wire = format!("{HEAD}5;a=b\r\nhello\r\n6 ; c=\"d;e\"\r\n world\r\n0;f\r\nX-Sum: 1\r\n\r\n");
    let expected = b"5\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n";
    for pause in [None, Some(Duration::from_micros(200))] {
        let server = answering(wire.clone().into_bytes(), pause);
        let weir = Weir::start(&web(&[server.addr()]));
        let mut client = weir.client();
        for _ in 0..3 {
            let head = client.send(get("/")).response_head();
            assert_eq!((head.status, head.framing), (200, BodyFraming::Chunked));
            assert_eq!(client.read_exact(expected.len()), expected);
        }
        assert_eq!(server.connections(), 1, "it is a body as any other: its connection carries the next one");
    }
}

#[test]
fn large_chunks_with_extensions_arrive_whole() {
    // Chunks that are copied, and larger ones that are spliced.
    let sizes = [1, 4_096, 8_191, 8_192, 100_000, 1_000_000, 3];
    let (mut wire, mut expected) = (HEAD.as_bytes().to_vec(), Vec::new());
    for (number, size) in sizes.into_iter().enumerate() {
        let chunk = [vec![b'a' + number as u8; size], b"\r\n".to_vec()].concat();
        wire.extend_from_slice(format!("{size:x};number=\"{number}\"\r\n").as_bytes());
        wire.extend_from_slice(&chunk);
        expected.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        expected.extend_from_slice(&chunk);
    }
    wire.extend_from_slice(b"0;end\r\n\r\n");
    expected.extend_from_slice(b"0\r\n\r\n");
    let server = answering(wire, None);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for _ in 0..2 {
        client.send(get("/")).response_head();
        assert!(client.read_exact(expected.len()) == expected);
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_client_of_http_1_0_gets_the_data() {
    let wire = format!("{HEAD}5;a=b\r\nhello\r\n6;c\r\n world\r\n0\r\n\r\n");
    let server = answering(wire.into_bytes(), None);
    let weir = Weir::start(&web(&[server.addr()]));
    assert_eq!(weir.client().exchange("GET / HTTP/1.0\r\n\r\n").text(), "hello world");
}

#[test]
fn a_malformed_extension_in_the_middle_cuts_the_response() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let server = RawServer::start(move |peer| {
        peer.request()?;
        peer.send(format!("{HEAD}5;a=b\r\nhello\r\n"))?;
        let _ = wait.lock().unwrap().recv();
        peer.send("5;a=\nworld\r\n0\r\n\r\n")?;
        peer.hold();
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send(get("/")).response_head();
    assert_eq!(client.read_exact(10), b"5\r\nhello\r\n");
    go.send(()).unwrap();
    assert_eq!(client.ending(), Ending::Reset);
    server.wait_for_end(0);
}
