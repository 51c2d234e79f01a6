//! Tests the PROXY protocol, versions 1 and 2, from clients and to servers.

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, RawClient, RawServer};

/// Bytes of `\r\n\r\n\0\r\nQUIT\n`.
const SIGNATURE: [u8; 12] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a];

fn v2(command: u8, family: u8, addresses: &[u8]) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.extend_from_slice(&[0x20 | command, family]);
    header.extend_from_slice(&(addresses.len() as u16).to_be_bytes());
    header.extend_from_slice(addresses);
    header
}

/// Addresses 192.0.2.7:4711 to 192.0.2.1:80.
const INET: [u8; 12] = [192, 0, 2, 7, 192, 0, 2, 1, 0x12, 0x67, 0, 80];

fn accepting() -> (Weir, RawServer) {
    let server = RawServer::answering("hi");
    let config = format!(
        "{}reuse = false\n[weir]\nworkers = 1\n[listener.web.proxy-protocol]\nfrom = \"127.0.0.1/32\"\n\n[listener.web.timeouts]\nhead = \"1s\"\n",
        web(&[server.addr()])
    );
    (Weir::start(&config), server)
}

fn forwarded_for(server: &RawServer) -> String {
    let received = String::from_utf8(server.received_in_all()).unwrap();
    let start = received.rfind("X-Forwarded-For: ").unwrap() + 17;
    received[start..].split("\r\n").next().unwrap().to_owned()
}

#[test]
fn a_header_from_a_trusted_peer_says_who_the_client_is() {
    let (weir, server) = accepting();
    let mut six = Vec::new();
    six.extend_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    six.extend_from_slice(&[0; 16]);
    six.extend_from_slice(&[0x12, 0x67, 0, 80]);
    let mut with_tlv = INET.to_vec();
    with_tlv.extend_from_slice(&[0x04, 0, 3, 1, 2, 3]);
    let headers: [(Vec<u8>, &str); 6] = [
        (b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n".to_vec(), "192.0.2.7"),
        (b"PROXY TCP6 2001:db8::9 2001:db8::1 4711 80\r\n".to_vec(), "2001:db8::9"),
        (v2(1, 0x11, &INET), "192.0.2.7"),
        (v2(1, 0x21, &six), "2001:db8::9"),
        (v2(1, 0x11, &with_tlv), "192.0.2.7"),
        // LOCAL: the connection is the peer's own.
        (v2(0, 0x00, &[]), "127.0.0.1"),
    ];
    for (header, expected) in headers {
        for slowly in [false, true] {
            let mut client = weir.client();
            if slowly {
                client.send_slowly(&header, std::time::Duration::from_millis(1));
            } else {
                client.send(&header);
            }
            assert_eq!(client.exchange(get("/")).status, 200, "{}", header.escape_ascii());
            assert_eq!(forwarded_for(&server), expected);
        }
        let mut client = weir.client();
        client.send([header.as_slice(), get("/").as_bytes()].concat());
        assert_eq!(client.response().status, 200, "{}", header.escape_ascii());
        // The header applies to all requests of the connection.
        assert_eq!(client.exchange(get("/")).status, 200);
        assert_eq!(forwarded_for(&server), expected);
    }
}

#[test]
fn a_trusted_peer_without_a_header_is_refused() {
    let (weir, server) = accepting();
    for bytes in [
        get("/").into_bytes(),
        b"PROXY TCP4 999.0.2.7 192.0.2.1 4711 80\r\n".to_vec(),
        b"PROXY TCP4 192.0.2.7 192.0.2.1 4711\r\n".to_vec(),
        format!("PROXY TCP4 {}\r\n", "x".repeat(200)).into_bytes(),
        v2(1, 0x11, &INET[..8]),
        v2(7, 0x11, &INET),
    ] {
        let mut client = weir.client();
        client.send([bytes.as_slice(), get("/").as_bytes()].concat());
        assert_eq!(client.read_to_end().0, b"", "{}", bytes.escape_ascii());
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_header_that_does_not_come_is_not_waited_for_forever() {
    let (weir, _server) = accepting();
    let mut client = weir.client();
    client.send(b"PROXY TCP4 192.");
    assert_eq!(client.read_to_end().0, b"");
}

#[test]
fn from_anybody_else_a_header_is_no_header() {
    let (weir, server) = accepting();
    let mut client = RawClient::connect_from("127.0.0.2".parse().unwrap(), weir.addr("web"));
    client.send("PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n");
    client.send(get("/"));
    assert_eq!(client.response().status, 400);
    let mut client = RawClient::connect_from("127.0.0.2".parse().unwrap(), weir.addr("web"));
    assert_eq!(client.exchange(get("/")).status, 200);
    assert_eq!(forwarded_for(&server), "127.0.0.2");
}

#[test]
fn servers_get_a_header_of_version_1_if_they_want_one() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.respond("hi")?;
        peer.hold();
        Ok(())
    });
    let weir = Weir::start(&format!("{}proxy-protocol = \"v1\"\n", web(&[server.addr()])));
    let mut client = weir.client();
    let local = client.local_addr();
    for number in 0..2 {
        assert_eq!(client.exchange(get("/")).status, 200);
        // A header names one client, so the connection is not reused for another.
        let received = String::from_utf8(server.received(number)).unwrap();
        let expected =
            format!("PROXY TCP4 127.0.0.1 127.0.0.1 {} {}\r\nGET / ", local.port(), weir.addr("web").port());
        assert!(received.starts_with(&expected), "{received}");
    }
}

#[test]
fn servers_get_a_header_of_version_2_if_they_want_one_in_tcp_mode_too() {
    let server = RawServer::start(|peer| {
        peer.take(28)?;
        peer.send("hello")?;
        peer.take_to_end().map(drop)
    });
    let config = format!(
        "[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"db\"\n\n\
         [pool.db]\nservers = \"{}\"\nproxy-protocol = \"v2\"\n",
        server.addr()
    );
    let weir = Weir::start(&config);
    let mut client = RawClient::connect(weir.addr("db"));
    assert_eq!(client.read_exact(5), b"hello");
    let port = client.local_addr().port().to_be_bytes();
    let to = weir.addr("db").port().to_be_bytes();
    let expected = v2(1, 0x11, &[127, 0, 0, 1, 127, 0, 0, 1, port[0], port[1], to[0], to[1]]);
    client.half_close();
    assert_eq!(client.ending(), Ending::Fin);
    assert_eq!(server.received(0), expected);
}

#[test]
fn a_header_in_becomes_a_header_out() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.respond("hi")?;
        peer.hold();
        Ok(())
    });
    let config = format!(
        "{}proxy-protocol = \"v1\"\n\n[listener.web.proxy-protocol]\nfrom = \"127.0.0.1/32\"\n",
        web(&[server.addr()])
    );
    let weir = Weir::start(&config);
    let mut client = weir.client();
    client.send(v2(1, 0x11, &INET));
    assert_eq!(client.exchange(get("/")).status, 200);
    assert!(server.received(0).starts_with(b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n"));
}

#[test]
fn a_header_chooses_route_and_server_by_the_client_it_names() {
    let (inner, outer) = (RawServer::answering("inner"), RawServer::answering("outer"));
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"outer\"\nproxy-protocol = {{ from = \"127.0.0.0/8\" }}\n\n\
         [[route]]\nclient = \"192.0.2.0/24\"\npool = \"inner\"\n\n\
         [pool.inner]\nservers = \"{}\"\n\n[pool.outer]\nservers = \"{}\"\n",
        inner.addr(),
        outer.addr()
    );
    let weir = Weir::start(&config);
    for (ip, pool) in [("192.0.2.7", "inner"), ("198.51.100.7", "outer")] {
        let mut client = weir.client();
        client.send(format!("PROXY TCP4 {ip} 192.0.2.1 4711 80\r\n"));
        assert_eq!(client.exchange(get("/")).text(), pool);
    }
}
