//! Tests of the start: invalid configs, addresses in use, and several listeners.

use weir_e2e::{Weir, get, web};
use weir_testkit::{RawClient, RawServer, Signal};

#[test]
fn a_bad_config_ends_with_1_and_names_the_place() {
    let mut weir = Weir::launcher("[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"nowhere\"\n").spawn();
    assert_eq!(weir.wait().code(), Some(1));
    let log = weir.log().join("\n");
    assert!(log.contains("nowhere") && log.contains("weir.toml"), "{log}");
}

#[test]
fn an_address_in_use_ends_with_2_and_is_named() {
    let server = RawServer::answering("hi");
    let taken = server.addr().to_string();
    let config = web(&[server.addr()]).replace("127.0.0.1:0", &taken);
    let mut weir = Weir::launcher(&config).spawn();
    assert_eq!(weir.wait().code(), Some(2));
    let log = weir.log().join("\n");
    assert!(log.contains(&taken), "{log}");
}

#[test]
fn a_second_weir_at_the_same_address_says_that_it_shares_it() {
    let server = RawServer::answering("hi");
    let first = Weir::start(&web(&[server.addr()]));
    let address = first.addr("web").to_string();
    let mut second = Weir::start(&web(&[server.addr()]).replace("127.0.0.1:0", &address));
    let told = second.wait_for_log("another process listens there as well");
    assert!(told.contains(&format!("listener web: {address}")), "{told}");
}

#[test]
fn addresses_of_one_config_that_lie_within_each_other_are_nobody_elses() {
    let server = RawServer::answering("hi");
    let port = weir_testkit::RefusingPort::new().addr().port();
    let bind = format!("[\"0.0.0.0:{port}\", \"127.0.0.1:{port}\", \"[::]:{port}\"]");
    let weir = Weir::start(&web(&[server.addr()]).replace("\"127.0.0.1:0\"", &bind));
    assert_eq!(weir.addrs("web").len(), 3);
    assert!(!weir.log().iter().any(|line| line.contains("another process")), "{:?}", weir.log());
}

#[test]
fn several_listeners_and_addresses_all_serve() {
    let server = RawServer::answering("hi");
    let config = format!(
        "[listener.web]\nbind = [\"127.0.0.1:0\", \"[::1]:0\"]\npool = \"web\"\n\n\
         [listener.other]\nbind = \"127.0.0.2:0\"\npool = \"web\"\n\n[pool.web]\nservers = \"{}\"\n",
        server.addr()
    );
    let weir = Weir::start(&config);
    let addrs: Vec<_> = ["web", "other"].iter().flat_map(|listener| weir.addrs(listener)).collect();
    assert_eq!(addrs.len(), 3, "{addrs:?}");
    for addr in addrs {
        assert_eq!(RawClient::connect(addr).exchange(get("/")).status, 200, "{addr}");
    }
}

#[test]
fn environment_variables_fill_the_config() {
    let server = RawServer::answering("hi");
    let weir = Weir::launcher(&web(&["${BACKEND}"])).env("BACKEND", server.addr().to_string()).start();
    assert_eq!(weir.client().exchange(get("/")).status, 200);
}

#[test]
fn a_closed_standard_output_and_a_broken_pipe_end_nothing() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    weir.signal(Signal::PIPE);
    assert_eq!(weir.client().exchange(get("/")).status, 200);
}

#[test]
fn every_address_of_both_families_is_one_listener() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]).replace("127.0.0.1:0", ":0"));
    let port = weir.addr("web").port();
    for (to, from) in [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1")] {
        let before = server.received_in_all().len();
        let mut client = RawClient::connect(format!("{to}:{port}").parse().unwrap());
        assert_eq!(client.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status, 200);
        let received = String::from_utf8(server.received_in_all().split_off(before)).unwrap();
        // The address of an IPv4 client is written as IPv4, although the client came through an IPv6 socket.
        assert!(received.contains(&format!("X-Forwarded-For: {from}\r\n")), "{received}");
    }
}
