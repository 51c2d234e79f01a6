//! Tests clients that are bound to a server and have to wait for it.

use std::net::SocketAddr;
use std::thread;

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_origin::Origin;
use weir_testkit::{PATIENCE, RawClient, RawServer, wait_until};

use crate::{Gate, queue_length, wait_for_queue};

/// Returns two servers of a pool, with the same keys.
fn both(servers: [SocketAddr; 2], each: &str) -> String {
    let [a, b] = servers.map(|server| format!("{{ address = \"{server}\"{each} }}"));
    format!("[{a}, {b}]")
}

/// Returns a config with a sticky pool `web` of two servers. New clients get the first one with a free slot.
fn sticky(servers: [&Gate; 2], each: &str, keys: &str) -> String {
    let servers = both(servers.map(Gate::addr), each);
    format!(
        "[access-log]\nformat = \"json\"\nto = \"stdout\"\n\n\
         [listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"first\"\n\
         servers = {servers}\nsticky = {{ cookie = \"SRV\" }}\ntimeouts = {{ queue = \"20s\", response = \"60s\" }}\n{keys}\n"
    )
}

/// Binds a client to `server`, which must be the one that gets it, and returns its Cookie line.
fn bound_to(server: &Gate, weir: &Weir) -> String {
    server.open(1);
    let response = weir.client().exchange(get("/new"));
    let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    format!("Cookie: {cookie}\r\n")
}

/// Clients that are bound to a server with one slot.
struct Bound {
    /// Their Cookie line.
    cookie: String,
    /// Client whose request `/first` is at the server.
    first: RawClient,
    /// Client that waits with `/waits`.
    waiting: RawClient,
}

impl Bound {
    /// Binds clients to `server`, which must not have received a request yet.
    fn to(server: &Gate, weir: &Weir) -> Self {
        let cookie = bound_to(server, weir);
        let (mut first, mut waiting) = (weir.client(), weir.client());
        first.send(with(&cookie, "/first"));
        server.wait_for(2);
        waiting.send(with(&cookie, "/waits"));
        wait_for_queue(weir, 1);
        Self { cookie, first, waiting }
    }

    /// Lets the server answer both, and asserts that it got no other requests.
    fn finish(mut self, server: &Gate) {
        server.open(2);
        assert_eq!((self.first.response().status, self.waiting.response().status), (200, 200));
        assert_eq!(server.came(), ["/new", "/first", "/waits"]);
    }
}

fn set_state(weir: &Weir, server: &Gate, state: &str) {
    let server = server.addr().to_string();
    weir.obey(&json!({"server-state": {"pool": "web", "server": server, "state": state}}));
}

fn with(cookie: &str, target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n{cookie}\r\n")
}

/// Asserts that the request is refused because the queue is full, and is the first such request.
#[track_caller]
fn assert_refused(weir: &Weir, request: String) {
    assert_eq!(weir.client().exchange(request).status, 503);
    assert_eq!(weir.metrics().get("weir_pool_queue_full_total", &["pool=\"web\""]), 1.0);
}

#[test]
fn they_wait_in_order_for_it_and_hold_up_nobody_else() {
    let (a, b) = (Gate::new(), Gate::new());
    let urgent = "[[route]]\npath = \"/urgent\"\npool = \"web\"\npriority = -1";
    let mut weir = Weir::start(&sticky([&a, &b], ", max-connections = 1", urgent));
    let cookie = bound_to(&a, &weir);
    let mut clients = vec![weir.client()];
    clients[0].send(with(&cookie, "/first"));
    a.wait_for(2);
    for (length, target) in ["/1", "/2", "/urgent"].into_iter().enumerate() {
        let mut client = weir.client();
        client.send(with(&cookie, target));
        clients.push(client);
        wait_for_queue(&weir, length + 1);
    }
    b.open(1);
    assert_eq!(weir.client().exchange(get("/free")).status, 200);
    assert_eq!(b.came(), ["/free"]);
    a.open(4);
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(a.came(), ["/new", "/first", "/urgent", "/1", "/2"]);
    wait_for_queue(&weir, 0);
    for (target, ahead) in [("/free", 0), ("/urgent", 0), ("/1", 1), ("/2", 2)] {
        let line = weir.wait_for_log(&format!("\"target\":\"{target}\""));
        assert!(line.contains(&format!("\"queue_ahead\":{ahead}")), "{line}");
    }
}

#[test]
fn they_count_towards_the_longest_queue() {
    let (a, b) = (Gate::new(), Gate::new());
    let weir = Weir::start(&sticky([&a, &b], ", max-connections = 1", "queue = { max-length = 1 }"));
    let bound = Bound::to(&a, &weir);
    assert_refused(&weir, with(&bound.cookie, "/refused"));
    bound.finish(&a);
}

#[test]
fn where_the_pool_is_full_they_wait_for_a_place_at_any_server() {
    let (a, b) = (Gate::new(), Gate::new());
    let weir = Weir::start(&sticky([&a, &b], "", "max-connections = 1"));
    let to_a = bound_to(&a, &weir);
    set_state(&weir, &a, "maintenance");
    let to_b = bound_to(&b, &weir);
    set_state(&weir, &a, "ready");
    let (mut first, mut second) = (weir.client(), weir.client());
    first.send(with(&to_b, "/first"));
    b.wait_for(2);
    second.send(with(&to_a, "/second"));
    wait_for_queue(&weir, 1);
    // The server that it is bound to has always had a free slot. The pool has only now.
    b.open(1);
    assert_eq!(first.response().status, 200);
    a.wait_for(2);
    a.open(1);
    assert_eq!(second.response().status, 200);
    assert_eq!((a.came().len(), b.came().len()), (2, 2));
}

#[test]
fn room_in_the_pool_calls_one_whose_server_drains_though_all_others_are_busy() {
    let (a, b) = (Gate::new(), Gate::new());
    let config = sticky([&a, &b], "", "max-connections = 2");
    let addr = b.addr().to_string();
    let weir = Weir::start(&config.replace(&format!("{addr}\""), &format!("{addr}\", max-connections = 1")));
    let to_a = bound_to(&a, &weir);
    let (mut first, mut busy, mut waiting) = (weir.client(), weir.client(), weir.client());
    first.send(with(&to_a, "/first"));
    a.wait_for(2);
    set_state(&weir, &a, "drain");
    busy.send(get("/busy"));
    b.wait_for(1);
    waiting.send(with(&to_a, "/waits"));
    wait_for_queue(&weir, 1);
    a.open(1);
    assert_eq!(first.response().status, 200);
    a.wait_for(3);
    assert_eq!(a.came(), ["/new", "/first", "/waits"]);
    a.open(1);
    b.open(1);
    assert_eq!((waiting.response().status, busy.response().status), (200, 200));
}

#[test]
fn when_it_goes_they_go_to_another() {
    let (a, b) = (Gate::new(), Gate::new());
    let weir = Weir::start(&sticky([&a, &b], ", max-connections = 1", ""));
    let mut bound = Bound::to(&a, &weir);
    set_state(&weir, &a, "maintenance");
    b.wait_for(1);
    assert_eq!(b.came(), ["/waits"]);
    b.open(1);
    assert_eq!(bound.waiting.response().status, 200);
    a.open(1);
    assert_eq!(bound.first.response().status, 200);
    wait_for_queue(&weir, 0);
}

#[test]
fn nobody_is_forgotten_when_many_wait_for_servers_and_for_the_pool() {
    for limits in [(1, 1), (1, 2), (2, 3)] {
        let (each, all) = limits;
        let origins = ["a", "b"].map(|name| Origin::builder().name(name).start().unwrap());
        let servers =
            both(origins.each_ref().map(|origin| origin.addr()), &format!(", max-connections = {each}"));
        let weir = Weir::start(&format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = {servers}\n\
             sticky = {{ cookie = \"SRV\" }}\nmax-connections = {all}\ntimeouts = {{ queue = \"20s\" }}\n"
        ));
        let address = weir.addr("web");
        thread::scope(|scope| {
            for number in 0..12 {
                scope.spawn(move || {
                    let mut client = RawClient::connect(address);
                    let response = client.exchange(get("/"));
                    let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap();
                    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n");
                    for round in 0..40 {
                        let request = if (number + round) % 3 == 0 { &get("/") } else { &request };
                        if (number + round) % 5 == 0 {
                            let mut leaving = RawClient::connect(address);
                            leaving.send(request);
                            leaving.reset();
                        }
                        assert_eq!(client.exchange(request).status, 200, "{limits:?}");
                    }
                });
            }
        });
        wait_until("all is over", PATIENCE, || {
            queue_length(&weir) == 0.0 && weir.metrics().get("weir_pool_active_requests", &[]) == 0.0
        });
    }
}

/// Starts a Weir in TCP mode that binds client addresses to one of two servers, each with one slot.
fn in_tcp_mode(servers: &[RawServer; 2], keys: &str) -> Weir {
    let servers = both(servers.each_ref().map(RawServer::addr), ", max-connections = 1");
    Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"web\"\n\n[pool.web]\nbalance = \"first\"\n\
         servers = {servers}\nsticky = {{ source = true }}\ntimeouts = {{ queue = \"20s\" }}\n{keys}\n"
    ))
}

#[test]
fn in_tcp_mode_a_place_goes_to_the_one_who_has_waited_for_it() {
    let echo = |name: &'static str| {
        RawServer::start(move |peer| {
            while let Ok(byte) = peer.take(1) {
                peer.send([name.as_bytes(), &byte].concat())?;
            }
            Ok(())
        })
    };
    let servers = [echo("a"), echo("b")];
    let weir = in_tcp_mode(&servers, "");
    let says = |client: &mut RawClient, what: &str| {
        client.send(&what[1..]);
        assert_eq!(client.read_exact(2), what.as_bytes());
    };
    let mut first = weir.client();
    says(&mut first, "a1");
    let mut waiting: Vec<RawClient> = (1..=3)
        .map(|length| {
            let client = weir.client();
            wait_for_queue(&weir, length);
            client
        })
        .collect();
    // A client of another network may use any server with a free slot.
    let mut other = RawClient::connect_from("127.0.0.2".parse().unwrap(), weir.addr("web"));
    says(&mut other, "b2");
    // One of the waiting clients leaves at about the time when it would get the slot.
    waiting.remove(0).reset();
    drop(first);
    for mut client in waiting {
        says(&mut client, "a3");
        drop(client);
    }
    wait_for_queue(&weir, 0);
    wait_until("all is over", PATIENCE, || {
        let server = format!("server=\"{}\"", servers[0].addr());
        weir.metrics().get("weir_server_active_requests", &[&server]) == 0.0
    });
}

#[test]
fn who_finds_as_many_waiting_for_its_server_as_may_goes_to_another_and_stays_there() {
    let (a, b) = (Gate::new(), Gate::new());
    let weir = Weir::start(&sticky([&a, &b], ", max-connections = 1", "queue = { max-per-server = 1 }"));
    let bound = Bound::to(&a, &weir);
    b.open(1);
    let diverted = weir.client().exchange(with(&bound.cookie, "/diverted"));
    assert_eq!(diverted.status, 200);
    assert_eq!(b.came(), ["/diverted"]);
    let moved = diverted.header("set-cookie").unwrap().split(';').next().unwrap();
    assert!(!bound.cookie.contains(moved), "{moved}");
    // Both servers are busy now. A client that finds this waits for either.
    let (mut second, mut third) = (weir.client(), weir.client());
    second.send(with(&format!("Cookie: {moved}\r\n"), "/second"));
    b.wait_for(2);
    third.send(with(&bound.cookie, "/third"));
    wait_for_queue(&weir, 2);
    b.open(2);
    assert_eq!((second.response().status, third.response().status), (200, 200));
    assert_eq!(b.came(), ["/diverted", "/second", "/third"]);
    bound.finish(&a);
}

#[test]
fn who_is_not_to_leave_its_server_is_refused_when_as_many_wait_for_that_as_may() {
    let (a, b) = (Gate::new(), Gate::new());
    let config = sticky([&a, &b], ", max-connections = 1", "queue = { max-per-server = 1 }");
    let weir = Weir::start(&config.replace("\"SRV\" }", "\"SRV\", when-gone = \"fail\" }"));
    let bound = Bound::to(&a, &weir);
    assert_refused(&weir, with(&bound.cookie, "/refused"));
    bound.finish(&a);
    assert!(b.came().is_empty());
}

/// Starts a Weir in front of two servers. One request is at the server that this client address hashes to,
/// and one waits for it. Returns that server first.
fn one_waits_for_its_own<'a>(algorithm: &str, gates: &'a [Gate; 2]) -> (Weir, [&'a Gate; 2], [RawClient; 2]) {
    let servers = both(gates.each_ref().map(Gate::addr), ", max-connections = 1");
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = {servers}\n\
         balance = {{ algorithm = \"{algorithm}\", fallback = false }}\nqueue = {{ max-per-server = 1 }}\n\
         timeouts = {{ queue = \"20s\", response = \"60s\" }}\n"
    ));
    let mut clients = [weir.client(), weir.client()];
    clients[0].send(get("/first"));
    wait_until("it has come", PATIENCE, || gates.iter().any(|gate| !gate.came().is_empty()));
    let own = usize::from(gates[0].came().is_empty());
    clients[1].send(get("/waits"));
    wait_for_queue(&weir, 1);
    (weir, [&gates[own], &gates[1 - own]], clients)
}

#[test]
fn a_key_goes_to_another_server_when_as_many_wait_for_its_own_as_may() {
    for algorithm in ["source", "ring", "maglev", "rendezvous"] {
        let gates = [Gate::new(), Gate::new()];
        let (weir, [own, other], clients) = one_waits_for_its_own(algorithm, &gates);
        other.open(1);
        assert_eq!(weir.client().exchange(get("/diverted")).status, 200, "{algorithm}");
        assert_eq!(other.came(), ["/diverted"]);
        own.open(2);
        for mut client in clients {
            assert_eq!(client.response().status, 200, "{algorithm}");
        }
        assert_eq!(own.came(), ["/first", "/waits"]);
    }
}

#[test]
fn where_a_key_knows_one_server_no_more_wait_for_that_than_may() {
    let gates = [Gate::new(), Gate::new()];
    let (weir, [own, other], clients) = one_waits_for_its_own("ipvs-sh", &gates);
    assert_refused(&weir, get("/refused"));
    own.open(2);
    for mut client in clients {
        assert_eq!(client.response().status, 200);
    }
    assert!(other.came().is_empty());
}

#[test]
fn in_tcp_mode_too_who_finds_too_many_waiting_goes_to_another_server() {
    let says = |name: &'static str| {
        RawServer::start(move |peer| {
            peer.send(name.as_bytes())?;
            while peer.take(1).is_ok() {}
            Ok(())
        })
    };
    let servers = [says("a"), says("b")];
    let weir = in_tcp_mode(&servers, "queue = { max-per-server = 1 }");
    let mut first = weir.client();
    assert_eq!(first.read_exact(1), b"a");
    let _waiting = weir.client();
    wait_for_queue(&weir, 1);
    assert_eq!(weir.client().read_exact(1), b"b");
}
