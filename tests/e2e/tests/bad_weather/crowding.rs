//! Tests of one client that takes all connections while others need one.

use std::net::{IpAddr, Ipv4Addr};

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawClient, RawServer, TempDir, wait_until};

/// Starts one worker, whose listener `web` permits ten connections.
fn crowded(server: &RawServer, listener: &str) -> Weir {
    Weir::start(&format!(
        "[weir]\nworkers = 1\n\n[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\nmax-connections = 10\n{listener}\n\n\
         [pool.web]\nservers = \"{}\"\n",
        server.addr()
    ))
}

/// Connects from an address on this machine that no other client has.
fn client(weir: &Weir, number: u8) -> RawClient {
    RawClient::connect_from(IpAddr::V4(Ipv4Addr::new(127, 0, 0, number)), weir.addr("web"))
}

fn wait_for_open(weir: &Weir, count: f64) {
    wait_until("they are open", PATIENCE, || {
        weir.metrics().get("weir_listener_connections", &["listener=\"web\""]) == count
    });
}

#[test]
fn a_client_with_all_connections_idle_gives_way_to_others() {
    let server = RawServer::answering("hi");
    let weir = crowded(&server, "");
    let mut hog: Vec<RawClient> = (0..10).map(|_| client(&weir, 1)).collect();
    for idle in &mut hog {
        assert_eq!(idle.exchange(get("/")).status, 200);
    }
    let mut others: Vec<RawClient> = (2..6).map(|number| client(&weir, number)).collect();
    for other in &mut others {
        assert_eq!(other.exchange(get("/")).status, 200);
    }
    // The connections with the longest idle time.
    for gone in hog.drain(..4) {
        let mut gone = gone;
        assert_eq!(gone.read_to_end().0, b"");
    }
    for idle in hog.iter_mut().chain(&mut others) {
        assert_eq!(idle.exchange(get("/")).status, 200);
    }
    let denied = weir.metrics().get("weir_listener_connections_denied_total", &["listener=\"web\""]);
    assert_eq!(denied, 4.0);
}

#[test]
fn a_client_with_half_a_head_on_every_connection_gives_way_to_others() {
    let server = RawServer::answering("hi");
    let weir = crowded(&server, "");
    let mut hog: Vec<RawClient> = (0..10).map(|_| client(&weir, 1)).collect();
    for slow in &mut hog {
        slow.send("GET / HTTP/1.1\r\nHost: a");
    }
    wait_for_open(&weir, 10.0);
    let mut other = client(&weir, 2);
    assert_eq!(other.exchange(get("/")).status, 200);
    // The crowding client does not displace another client.
    assert_eq!(client(&weir, 1).response().status, 503);
    assert_eq!(other.exchange(get("/")).status, 200);
}

#[test]
fn requests_give_way_to_nobody() {
    let server = RawServer::silent();
    let weir = crowded(&server, "");
    let mut hog: Vec<RawClient> = (0..10).map(|_| client(&weir, 1)).collect();
    for busy in &mut hog {
        busy.send(get("/"));
    }
    server.wait_for_connections(10);
    assert_eq!(client(&weir, 2).response().status, 503);
    assert_eq!(server.connections_open(), 10);
}

#[test]
fn requests_whose_bodies_have_stalled_give_way_to_others() {
    let server = RawServer::answering("hi");
    let root = TempDir::new().unwrap();
    std::fs::create_dir(root.path().join("files")).unwrap();
    let area = format!(
        "[[route]]\npath = \"/files\"\nstorage = \"files\"\n\n[storage-area.files]\nroot = \"{}\"\n\n\
         [[storage-area.files.access.policy]]\ndescription = \"everything\"\neffect = \"permit\"\nactions = \"all\"\n\
         principals = {{ type = \"anyone\" }}\n",
        root.path().display()
    );
    let weir = crowded(&server, &area);
    for path in ["/", "/files/new"] {
        let mut hog: Vec<RawClient> = (0..10).map(|_| client(&weir, 1)).collect();
        for stalled in &mut hog {
            stalled.send(format!("PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"));
            stalled.send("a");
        }
        wait_for_open(&weir, 10.0);
        let mut other = None;
        wait_until("one of them has stalled for long enough", PATIENCE, || {
            let mut newcomer = client(&weir, 2);
            let is_in = newcomer.exchange(get("/")).status == 200;
            other = Some(newcomer);
            is_in
        });
        // One for one: the others go on, and another connection of the crowd finds no room.
        assert_eq!(client(&weir, 1).response().status, 503, "{path}");
        let status = |stalled: &mut RawClient| {
            let _ = stalled.try_send("bc");
            stalled.response().status
        };
        let mut statuses: Vec<u16> = hog.iter_mut().map(status).collect();
        statuses.sort_unstable();
        let gone = statuses.pop();
        assert_eq!(gone, Some(408), "{path}");
        assert!(statuses.iter().all(|status| (200..300).contains(status)), "{path}: {statuses:?}");
        drop((hog, other));
        wait_for_open(&weir, 0.0);
    }
}

#[test]
fn behind_a_trusted_proxy_the_client_that_it_names_gives_way() {
    let server = RawServer::answering("hi");
    let weir = crowded(&server, "proxy-protocol = { from = \"127.0.0.0/8\" }");
    let named = |last: u8| {
        let mut client = weir.client();
        client.send(format!("PROXY TCP4 192.0.2.{last} 192.0.2.200 4711 80\r\n"));
        assert_eq!(client.exchange(get("/")).status, 200);
        client
    };
    let mut few: Vec<RawClient> = (1..4).map(named).collect();
    let hog: Vec<RawClient> = (0..7).map(|_| named(9)).collect();
    let mut others: Vec<RawClient> = (4..8).map(named).collect();
    for kept in few.iter_mut().chain(&mut others) {
        assert_eq!(kept.exchange(get("/")).status, 200);
    }
    drop(hog);
}

#[test]
fn only_connections_of_clients_give_way_after_a_while() {
    let server = RawServer::answering("hi");
    let weir = crowded(&server, "");
    let mut all: Vec<RawClient> = (1..11).map(|number| client(&weir, number)).collect();
    for one in &mut all {
        assert_eq!(one.exchange(get("/")).status, 200);
    }
    wait_until("one of them has waited for long enough", PATIENCE, || {
        client(&weir, 99).exchange(get("/")).status == 200
    });
    assert_eq!(all[0].read_to_end().0, b"");
}

#[test]
fn a_client_has_no_more_connections_than_its_limit_while_others_have_room() {
    let server = RawServer::answering("hi");
    let weir = crowded(&server, "max-connections-per-client = 3");
    let mut held: Vec<RawClient> = (0..3).map(|_| client(&weir, 1)).collect();
    for one in &mut held {
        assert_eq!(one.exchange(get("/")).status, 200);
    }
    assert_eq!(client(&weir, 1).response().status, 503);
    assert_eq!(client(&weir, 2).exchange(get("/")).status, 200);
    held.pop();
    wait_until("there is room again", PATIENCE, || client(&weir, 1).exchange(get("/")).status == 200);

    let weir =
        crowded(&server, "max-connections-per-client = 1\nproxy-protocol = { from = \"127.0.0.0/8\" }");
    let named = |last: u8| {
        let mut client = weir.client();
        client.send(format!("PROXY TCP4 192.0.2.{last} 192.0.2.200 4711 80\r\n{}", get("/")));
        client
    };
    let mut first = named(1);
    assert_eq!(first.response().status, 200);
    assert_eq!(named(1).read_to_end().0, b"");
    assert_eq!(named(2).response().status, 200);
}

#[test]
fn at_the_limit_of_the_process_a_client_of_another_listener_gives_way() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!(
        "[weir]\nworkers = 1\nmax-connections = 10\n\n[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
         [listener.more]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = \"{}\"\n",
        server.addr()
    ));
    let mut hog: Vec<RawClient> = (0..10).map(|_| client(&weir, 1)).collect();
    for idle in &mut hog {
        assert_eq!(idle.exchange(get("/")).status, 200);
    }
    let mut other = RawClient::connect_from(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), weir.addr("more"));
    assert_eq!(other.exchange(get("/")).status, 200);
    assert_eq!(hog.remove(0).read_to_end().0, b"");
}

#[test]
fn at_the_limit_of_the_process_connections_of_every_worker_give_way() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!("[weir]\nworkers = 8\nmax-connections = 8\n\n{}", web(&[server.addr()])));
    // One connection for each worker on average: some workers have none.
    let mut idle: Vec<RawClient> = (1..9).map(|number| client(&weir, number)).collect();
    for one in &mut idle {
        assert_eq!(one.exchange(get("/")).status, 200);
    }
    let mut newcomers = Vec::new();
    let mut come = |number: u8| {
        let mut newcomer = client(&weir, number);
        let status = newcomer.exchange(get("/")).status;
        newcomers.push(newcomer);
        status
    };
    wait_until("the idle connections have waited for long enough", PATIENCE, || come(20) == 200);
    let statuses = (21..26).map(come).collect::<Vec<_>>();
    assert_eq!(statuses, [200; 5]);
}

#[test]
fn a_newcomer_that_its_listener_refuses_costs_no_client_of_another_listener_its_connection() {
    let server = RawServer::answering("hi");
    let silent = RawServer::silent();
    let weir = Weir::start(&format!(
        "[weir]\nworkers = 1\nmax-connections = 10\n\n[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
         [listener.more]\nbind = \"127.0.0.1:0\"\npool = \"more\"\nmax-connections = 1\n\n\
         [pool.web]\nservers = \"{}\"\n\n[pool.more]\nservers = \"{}\"\n",
        server.addr(),
        silent.addr()
    ));
    let of_more =
        |number: u8| RawClient::connect_from(IpAddr::V4(Ipv4Addr::new(127, 0, 0, number)), weir.addr("more"));
    let mut busy = of_more(2);
    busy.send(get("/"));
    silent.wait_for_connections(1);
    let mut many: Vec<RawClient> = (0..9).map(|_| client(&weir, 1)).collect();
    for idle in &mut many {
        assert_eq!(idle.exchange(get("/")).status, 200);
    }
    assert_eq!(of_more(3).response().status, 503);
    for idle in &mut many {
        assert_eq!(idle.exchange(get("/")).status, 200);
    }
}

#[test]
fn room_that_is_made_in_a_listener_is_room_in_the_process_too() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!(
        "[weir]\nworkers = 1\nmax-connections = 10\n\n[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\
         max-connections = 10\n\n[pool.web]\nservers = \"{}\"\n",
        server.addr()
    ));
    let mut hog: Vec<RawClient> = (0..10).map(|_| client(&weir, 1)).collect();
    for idle in &mut hog {
        assert_eq!(idle.exchange(get("/")).status, 200);
    }
    assert_eq!(client(&weir, 2).exchange(get("/")).status, 200);
    assert_eq!(hog.remove(0).read_to_end().0, b"");
    // One connection was closed, not one for the listener and another for the process.
    for idle in &mut hog {
        assert_eq!(idle.exchange(get("/")).status, 200);
    }
}
