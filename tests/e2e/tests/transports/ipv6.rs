//! Tests servers that have only IPv6 addresses.

use std::io;
use std::net::{Ipv6Addr, SocketAddr};

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, PATIENCE, Peer, RawClient, RawServer, wait_until};

fn server(handler: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static) -> RawServer {
    RawServer::start_on(SocketAddr::from((Ipv6Addr::LOCALHOST, 0)), handler)
}

#[test]
fn a_server_is_checked_and_asked_for_clients_of_both_families() {
    let server = server(|peer| {
        while peer.request().is_ok() {
            peer.respond("hi")?;
        }
        Ok(())
    });
    let check = "check = { http = \"GET /health\", interval = \"50ms\" }\n";
    let both = "bind = [\"[::1]:0\", \"127.0.0.1:0\"]";
    let config = web(&[server.addr()]).replace("bind = \"127.0.0.1:0\"", both) + check;
    let weir = Weir::start(&config);
    let passed = || weir.metrics().get("weir_server_check_passed", &["pool=\"web\""]);
    wait_until("its check passes", PATIENCE, || passed() == 1.0);
    let addresses = weir.addrs("web");
    assert_eq!(addresses.len(), 2, "{addresses:?}");
    for address in addresses {
        assert_eq!(RawClient::connect(address).exchange(get("/asked")).text(), "hi", "{address}");
        let received = String::from_utf8(server.received_in_all()).unwrap();
        let client = format!("X-Forwarded-For: {}\r\n", address.ip());
        assert!(received.contains("GET /asked ") && received.contains(&client), "{client}: {received}");
    }
}

#[test]
fn in_tcp_mode_it_is_told_the_addresses_of_its_client() {
    // Version 2, PROXY, TCP over IPv6, 36 bytes of addresses.
    let head = [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[0x21, 0x21, 0, 36]].concat();
    let server = server(|peer| {
        peer.take(16 + 36)?;
        peer.send("hello")?;
        peer.take_to_end().map(drop)
    });
    let config = format!(
        "[listener.db]\nbind = \"[::1]:0\"\nmode = \"tcp\"\npool = \"db\"\n\n\
         [pool.db]\nservers = \"{}\"\nproxy-protocol = \"v2\"\n",
        server.addr()
    );
    let weir = Weir::start(&config);
    let mut client = RawClient::connect(weir.addr("db"));
    assert_eq!(client.read_exact(5), b"hello");
    let ports = [client.local_addr().port(), weir.addr("db").port()].map(u16::to_be_bytes).concat();
    let own = Ipv6Addr::LOCALHOST.octets();
    client.send("over").half_close();
    assert_eq!(client.ending(), Ending::Fin);
    assert_eq!(server.received(0), [&head[..], &own, &own, &ports, b"over"].concat());
}
