//! Tests of Upgrade: WebSocket, then bytes in both directions.

use weir_e2e::{Weir, get, web};
use weir_origin::Origin;
use weir_testkit::{Ending, RawServer, Step};

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

#[test]
fn a_websocket_echoes_through_weir() {
    let origin = Origin::builder().start().unwrap();
    let weir = Weir::start(&web(&[origin.addr()]));
    let mut client = weir.client();
    let switched = client.exchange(UPGRADE);
    assert_eq!(switched.status, 101);
    assert_eq!(switched.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(switched.header("connection").map(str::to_lowercase).as_deref(), Some("upgrade"));
    client.send([0x81, 0x82, 1, 2, 3, 4, b'H' ^ 1, b'i' ^ 2]);
    assert_eq!(client.read_exact(4), [0x81, 2, b'H', b'i']);
    // A frame that needs many buffers.
    let mut frame = vec![0x82, 0xff];
    frame.extend_from_slice(&1_000_000u64.to_be_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(&vec![7; 1_000_000]);
    client.send(frame);
    assert_eq!(client.read_exact(10)[..2], [0x82, 127]);
    assert!(client.read_exact(1_000_000).iter().all(|byte| *byte == 7));
    client.send([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
    assert_eq!(client.read_to_end(), (vec![0x88, 2, 0x03, 0xe8], Ending::Fin));
}

#[test]
fn the_server_gets_the_upgrade_as_asked_for() {
    let server = RawServer::script([Step::ReadHead, Step::Send(SWITCH.into()), Step::Hold]);
    let weir = Weir::start(&web(&[server.addr()]));
    assert_eq!(weir.client().exchange(UPGRADE).status, 101);
    let received = String::from_utf8(server.received(0)).unwrap();
    for line in ["Upgrade: websocket\r\n", "Connection: Upgrade\r\n", "Sec-WebSocket-Version: 13\r\n"] {
        assert!(received.to_lowercase().contains(&line.to_lowercase()), "{line:?} is missing in {received}");
    }
}

#[test]
fn a_body_of_length_zero_is_none_and_stands_in_nobodys_way() {
    let server = RawServer::start(|peer| {
        let head = String::from_utf8_lossy(&peer.head()?).to_lowercase();
        assert!(head.contains("upgrade: websocket\r\n") && head.contains("content-length: 0\r\n"), "{head}");
        peer.send(SWITCH)?;
        let early = peer.take(5)?;
        peer.send(early)
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let asked = UPGRADE.replace("\r\n\r\n", "\r\nContent-Length: 0\r\n\r\n");
    let mut client = weir.client();
    assert_eq!(client.send(format!("{asked}early")).response().status, 101);
    assert_eq!(client.read_to_end(), (b"early".to_vec(), Ending::Fin));
}

#[test]
fn bytes_that_come_with_the_switch_are_the_first_of_the_tunnel() {
    // The server speaks first, in the same packet as its 101.
    let server = RawServer::script([
        Step::ReadHead,
        Step::Send(format!("{SWITCH}hello from the server").into()),
        Step::Read(5),
        Step::Send(b"bye".into()),
    ]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    assert_eq!(client.exchange(UPGRADE).status, 101);
    assert_eq!(client.read_exact(21), b"hello from the server");
    client.send("12345");
    assert_eq!(client.read_to_end(), (b"bye".to_vec(), Ending::Fin));
}

#[test]
fn bytes_that_a_client_sends_before_the_switch_wait_for_it() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send(SWITCH)?;
        let early = peer.take(5)?;
        peer.send(early)
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    assert_eq!(client.send(format!("{UPGRADE}early")).response().status, 101);
    assert_eq!(client.read_to_end(), (b"early".to_vec(), Ending::Fin));
}

#[test]
fn bytes_behind_an_upgrade_that_is_refused_are_the_next_request() {
    let server = RawServer::answering("no");
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send(format!("{UPGRADE}{}", get("/next")));
    assert_eq!(client.response().status, 200);
    assert_eq!(client.response().status, 200);
    let received = String::from_utf8(server.received_in_all()).unwrap();
    assert!(received.contains("GET /next HTTP/1.1\r\n"), "{received}");
}

#[test]
fn a_half_close_goes_through_the_tunnel() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send(SWITCH)?;
        let (all, ending) = peer.take_to_end()?;
        assert_eq!(ending, Ending::Fin);
        peer.send(format!("{} bytes", all.len()))
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    assert_eq!(client.exchange(UPGRADE).status, 101);
    client.send(vec![1; 100_000]).half_close();
    assert_eq!(client.read_to_end(), (b"100000 bytes".to_vec(), Ending::Fin));
    assert_eq!(server.failures(), Vec::<String>::new());
}

#[test]
fn a_reset_goes_through_the_tunnel() {
    let server = RawServer::script([Step::ReadHead, Step::Send(SWITCH.into()), Step::Read(1), Step::Reset]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    assert_eq!(client.exchange(UPGRADE).status, 101);
    client.send("x");
    assert_eq!(client.ending(), Ending::Reset);
}

#[test]
fn an_idle_tunnel_ends_after_its_time() {
    let server = RawServer::script([Step::ReadHead, Step::Send(SWITCH.into()), Step::Hold]);
    let config = format!("{}[listener.web.timeouts]\ntunnel = \"200ms\"\n", web(&[server.addr()]));
    let weir = Weir::start(&config);
    let mut client = weir.client();
    assert_eq!(client.exchange(UPGRADE).status, 101);
    client.read_to_end();
    server.wait_for_end(0);
}

#[test]
fn a_switch_that_nobody_asked_for_is_a_bad_answer() {
    let server = RawServer::script([Step::ReadHead, Step::Send(SWITCH.into()), Step::Hold]);
    let weir = Weir::start(&web(&[server.addr()]));
    assert_eq!(weir.client().exchange(get("/")).status, 502);
}

#[test]
fn a_switch_to_another_protocol_than_was_asked_for_is_a_bad_answer() {
    let other = SWITCH.replace("websocket", "tcp");
    let server = RawServer::script([Step::ReadHead, Step::Send(other.into()), Step::Hold]);
    let mut weir = Weir::start(&web(&[server.addr()]));
    assert_eq!(weir.client().exchange(UPGRADE).status, 502);
    weir.wait_for_log("101 to another protocol than was asked for");
}

const EXEC: &str = "POST /exec/1/start HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n";
const EXEC_SWITCH: &str = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

#[test]
fn an_upgrade_with_a_body_switches_behind_the_body() {
    for (framing, body) in [
        ("Content-Length: 13\r\n\r\n", "{\"Tty\": true}"),
        ("Transfer-Encoding: chunked\r\n\r\n", "d\r\n{\"Tty\": true}\r\n0\r\n\r\n"),
    ] {
        let length = body.len();
        let server = RawServer::start(move |peer| {
            let head = String::from_utf8_lossy(&peer.head()?).to_lowercase();
            assert!(head.contains("connection: upgrade\r\n") && head.contains("upgrade: tcp\r\n"), "{head}");
            let got = peer.take(length)?;
            peer.send(format!("{EXEC_SWITCH}prompt$ "))?;
            let early = peer.take(5)?;
            peer.send([got, early].concat())
        });
        let weir = Weir::start(&web(&[server.addr()]));
        // In one piece, and with the body and the data behind it in separate pieces.
        for pieces in [vec![format!("{EXEC}{framing}{body}early")], {
            let mut pieces = vec![format!("{EXEC}{framing}"), body[..5].to_owned()];
            pieces.push(format!("{}early", &body[5..]));
            pieces
        }] {
            let mut client = weir.client();
            for piece in pieces {
                client.send(piece);
            }
            assert_eq!(client.response().status, 101);
            assert_eq!(client.read_exact(8), b"prompt$ ");
            assert_eq!(client.read_to_end(), (format!("{body}early").into_bytes(), Ending::Fin));
        }
    }
}

#[test]
fn a_switch_before_the_body_has_come_is_a_bad_answer() {
    let server = RawServer::script([Step::ReadHead, Step::Send(EXEC_SWITCH.into()), Step::Hold]);
    let mut weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    assert_eq!(client.send(format!("{EXEC}Content-Length: 13\r\n\r\n{{")).response().status, 502);
    weir.wait_for_log("101 before the whole request had been sent");
}

#[test]
fn a_server_that_does_not_upgrade_a_request_with_a_body_answers_it() {
    let server = RawServer::answering("no");
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send(format!("{EXEC}Content-Length: 2\r\n\r\n{{}}{}", get("/next")));
    assert_eq!((client.response().status, client.response().status), (200, 200));
}

#[test]
fn upgrade_without_connection_upgrade_is_not_passed_on() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let response = weir.client().exchange("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n");
    assert_eq!(response.status, 200);
    let received = String::from_utf8(server.received(0)).unwrap().to_lowercase();
    assert!(!received.contains("upgrade"), "{received}");
}

#[test]
fn a_tunnel_whose_client_does_not_read_stops_its_server() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send(SWITCH)?;
        for _ in 0..1000 {
            peer.send(vec![7; 100_000])?;
        }
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let before = weir_testkit::rss_bytes(weir.pid());
    let mut client = weir.client().receive_buffer(64 * 1024);
    assert_eq!(client.exchange(UPGRADE).status, 101);
    assert_eq!(client.read_exact(1), [7]);
    let grown = weir_testkit::rss_bytes(weir.pid()).saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes more memory");
    let (rest, ending) = client.read_to_end();
    assert_eq!((rest.len(), ending), (100_000_000 - 1, Ending::Fin));
}
