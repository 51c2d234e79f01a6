//! Tests TCP mode, which passes bytes in both directions.

use std::time::Duration;

use weir_e2e::Weir;
use weir_testkit::{Ending, FullListener, PATIENCE, RawClient, RawServer, RefusingPort, wait_until};

fn tcp(servers: &[String], listener: &str, pool: &str) -> String {
    let servers: Vec<String> = servers.iter().map(|server| format!("\"{server}\"")).collect();
    format!(
        "[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"db\"\n{listener}\n\n\
         [pool.db]\nservers = [{}]\n{pool}\n",
        servers.join(", ")
    )
}

fn start(server: &RawServer) -> Weir {
    Weir::start(&tcp(&[server.addr().to_string()], "", ""))
}

fn connect(weir: &Weir) -> RawClient {
    RawClient::connect(weir.addr("db"))
}

#[test]
fn a_server_that_speaks_first_is_heard() {
    let server = RawServer::start(|peer| {
        peer.send("220 ready\r\n")?;
        let line = peer.take(6)?;
        peer.send(line)
    });
    let weir = start(&server);
    let mut client = connect(&weir);
    assert_eq!(client.read_exact(11), b"220 ready\r\n");
    client.send("QUIT\r\n");
    assert_eq!(client.read_to_end(), (b"QUIT\r\n".to_vec(), Ending::Fin));
}

#[test]
fn bytes_of_any_kind_and_number_pass_in_both_directions() {
    let server = RawServer::start(|peer| {
        let (all, _) = peer.take_to_end()?;
        peer.send(all)
    });
    let weir = start(&server);
    for size in [0, 1, 5_000, 100_000, 3_000_000] {
        let bytes: Vec<u8> = (0..size).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut client = connect(&weir);
        client.send(&bytes).half_close();
        let (back, ending) = client.read_to_end();
        assert!(back == bytes && ending == Ending::Fin, "{size} bytes: {} {ending:?}", back.len());
    }
}

#[test]
fn each_direction_can_be_closed_by_itself() {
    let server = RawServer::start(|peer| {
        peer.send("all I have to say")?;
        peer.half_close()?;
        let (all, ending) = peer.take_to_end()?;
        assert_eq!((all.as_slice(), ending), (b"and still listening".as_slice(), Ending::Fin));
        Ok(())
    });
    let weir = start(&server);
    let mut client = connect(&weir);
    assert_eq!(client.read_to_end(), (b"all I have to say".to_vec(), Ending::Fin));
    client.send("and still ").send("listening").half_close();
    server.wait_for_end(0);
    assert_eq!(server.failures(), Vec::<String>::new());
}

#[test]
fn a_reset_passes_in_both_directions() {
    let server = RawServer::start(|peer| {
        if peer.take(1)? == b"s" {
            peer.reset();
            return Ok(());
        }
        assert_eq!(peer.take_to_end()?.1, Ending::Reset);
        Ok(())
    });
    let weir = start(&server);
    let mut client = connect(&weir);
    client.send("s");
    assert_eq!(client.ending(), Ending::Reset);
    let mut client = connect(&weir);
    client.send("c");
    server.wait_for_bytes(1, 1);
    client.reset();
    server.wait_for_end(1);
}

#[test]
fn an_idle_connection_ends_after_its_time() {
    let server = RawServer::silent();
    let weir = Weir::start(&tcp(&[server.addr().to_string()], "timeouts = { tunnel = \"200ms\" }", ""));
    let mut client = connect(&weir);
    client.send("x");
    client.read_to_end();
    server.wait_for_end(0);
}

#[test]
fn a_connection_on_which_little_comes_but_something_goes_on() {
    let server = RawServer::start(|peer| {
        loop {
            let byte = peer.take(1)?;
            peer.send(byte)?;
        }
    });
    let weir = Weir::start(&tcp(&[server.addr().to_string()], "timeouts = { tunnel = \"400ms\" }", ""));
    let mut client = connect(&weir);
    for _ in 0..12 {
        assert_eq!(client.send("x").read_exact(1), b"x");
        assert!(client.is_quiet(Duration::from_millis(100)));
    }
}

#[test]
fn a_server_that_cannot_be_connected_to_is_replaced_by_another() {
    let refusing = RefusingPort::new();
    let full = FullListener::new();
    let server = RawServer::start(|peer| peer.send("hello"));
    let servers = [refusing.addr(), full.addr(), server.addr()].map(|addr| addr.to_string());
    let weir = Weir::start(&tcp(
        &servers,
        "",
        "timeouts = { connect = \"200ms\" }\nretry = { attempts = 3, min-per-second = 100 }",
    ));
    for _ in 0..6 {
        assert_eq!(connect(&weir).read_exact(5), b"hello");
    }
}

#[test]
fn without_a_server_the_connection_ends_at_once() {
    let refusing = RefusingPort::new();
    let weir = Weir::start(&tcp(&[refusing.addr().to_string()], "", ""));
    // The reset may arrive even before the connect has finished.
    if let Ok(mut client) = RawClient::try_connect(weir.addr("db")) {
        let _ = client.try_send("hello");
        assert_eq!(client.read_to_end().0, b"");
    }
}

#[test]
fn a_client_that_does_not_read_stops_the_server() {
    let server = RawServer::start(|peer| {
        for _ in 0..1000 {
            peer.send(vec![b'x'; 100_000])?;
        }
        Ok(())
    });
    let weir = start(&server);
    let before = weir_testkit::rss_bytes(weir.pid());
    let mut client = connect(&weir).receive_buffer(64 * 1024);
    server.wait_for_connections(1);
    assert_eq!(client.read_exact(1), b"x");
    let grown = weir_testkit::rss_bytes(weir.pid()).saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes more memory");
    assert_eq!(client.read_to_end().0.len(), 100_000_000 - 1);
}

#[test]
fn connections_are_balanced_and_counted() {
    let servers = ["a", "b"].map(|name| {
        RawServer::start(move |peer| {
            peer.send(name)?;
            peer.hold();
            Ok(())
        })
    });
    let addrs = [servers[0].addr().to_string(), servers[1].addr().to_string()];
    let weir = Weir::start(&tcp(&addrs, "", "balance = \"least-connections\""));
    let mut clients: Vec<RawClient> = Vec::new();
    for _ in 0..6 {
        let mut client = connect(&weir);
        client.read_exact(1);
        clients.push(client);
    }
    assert_eq!((servers[0].connections_open(), servers[1].connections_open()), (3, 3));
    drop(clients);
    wait_until("all are closed", PATIENCE, || servers.iter().all(|server| server.connections_open() == 0));
}

#[test]
fn a_tcp_connection_outlives_a_reload_and_is_ended_by_a_stop() {
    let server = RawServer::start(|peer| {
        loop {
            let byte = peer.take(1)?;
            peer.send(byte)?;
        }
    });
    let config = format!("{}[weir]\ndrain-timeout = \"300ms\"\n", tcp(&[server.addr().to_string()], "", ""));
    let mut weir = Weir::start(&config);
    let mut client = connect(&weir);
    assert_eq!(client.send("x").read_exact(1), b"x");
    let addr = weir.addr("db").to_string();
    weir.reload(&config.replace("127.0.0.1:0", &addr));
    assert_eq!(client.send("y").read_exact(1), b"y");
    assert_eq!(weir.stop().code(), Some(0));
    client.read_to_end();
}
