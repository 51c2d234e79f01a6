//! Tests the order in which waiting requests are served.

use std::net::IpAddr;

use weir_e2e::{Weir, get};
use weir_testkit::{RawClient, RawServer};

use crate::{Gate, Waiting, one_at_a_time, wait_for_queue};

#[test]
fn whoever_came_first_is_next() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), ""));
    let mut waiting = Waiting::behind(&weir, &gate);
    let targets: Vec<String> = (0..10).map(|number| format!("/{number}")).collect();
    targets.iter().for_each(|target| waiting.get(target));
    waiting.finish(&gate);
    assert_eq!(gate.came()[1..], targets);
}

#[test]
fn one_who_comes_while_others_wait_does_not_overtake_them() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), ""));
    let mut waiting = Waiting::behind(&weir, &gate);
    waiting.get("/waits");
    // The first client sends its next request over its connection as soon as it has the response.
    let mut first = waiting.clients.remove(0);
    first.send(get("/again"));
    gate.open(1);
    assert_eq!(first.response().status, 200);
    gate.wait_for(2);
    wait_for_queue(&weir, 1);
    gate.open(2);
    assert_eq!(first.response().status, 200);
    assert_eq!(waiting.clients.remove(0).response().status, 200);
    assert_eq!(gate.came(), ["/first", "/waits", "/again"]);
}

#[test]
fn a_lower_priority_goes_first_by_route_and_by_header() {
    let gate = Gate::new();
    let routes = "[[route]]\npath = \"/urgent\"\npool = \"web\"\npriority = -10\n\
                  [[route]]\npath = \"/patient\"\npool = \"web\"\npriority = 10\n\
                  [[route]]\npath = \"/told\"\npool = \"web\"\npriority = { class = 20, header = \"X-Priority\" }\n";
    let weir = Weir::start(&one_at_a_time(gate.addr(), routes));
    let mut waiting = Waiting::behind(&weir, &gate);
    let told = |target: &str, priority: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: a\r\nX-Priority: {priority}\r\n\r\n")
    };
    waiting.get("/told/nothing");
    waiting.add(weir.client(), &told("/told/last", "99999"));
    waiting.add(weir.client(), &told("/told/nonsense", "high"));
    waiting.get("/patient");
    waiting.get("/ordinary");
    waiting.get("/urgent/1");
    waiting.get("/urgent/2");
    waiting.add(weir.client(), &told("/told/first", " -11"));
    waiting.finish(&gate);
    let order = [
        "/first",
        "/told/first",
        "/urgent/1",
        "/urgent/2",
        "/ordinary",
        "/patient",
        "/told/nothing",
        "/told/nonsense",
        "/told/last",
    ];
    assert_eq!(gate.came(), order);
}

#[test]
fn a_head_start_counts_as_having_come_earlier_by_route_and_by_header() {
    let gate = Gate::new();
    // More than the duration of the test.
    let routes = "[[route]]\npath = \"/early\"\npool = \"web\"\npriority = { offset-ms = -200000 }\n\
                  [[route]]\npath = \"/told\"\npool = \"web\"\n\
                  priority = { offset-ms = 100000, offset-header = \"X-Offset\" }\n";
    let weir = Weir::start(&one_at_a_time(gate.addr(), routes));
    let mut waiting = Waiting::behind(&weir, &gate);
    let told = |target: &str, offset: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: a\r\nX-Offset: {offset}\r\n\r\n")
    };
    waiting.get("/told/nothing");
    waiting.add(weir.client(), &told("/told/last", "99999999"));
    waiting.add(weir.client(), &told("/told/nonsense", "early"));
    waiting.get("/ordinary");
    waiting.add(weir.client(), &told("/told/first", "-99999999"));
    waiting.get("/early");
    waiting.finish(&gate);
    let order = ["/told/first", "/early", "/ordinary", "/told/nothing", "/told/nonsense", "/told/last"];
    assert_eq!(gate.came()[1..], order);
}

#[test]
fn clients_get_their_turns_however_much_one_of_them_asks() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), "queue = { fair = \"client\" }"));
    let mut waiting = Waiting::behind(&weir, &gate);
    let from = |last: u8| RawClient::connect_from(IpAddr::from([127, 0, 0, last]), weir.addr("web"));
    for target in ["/a1", "/a2", "/a3"] {
        waiting.add(from(2), &get(target));
    }
    waiting.add(from(3), &get("/b1"));
    waiting.add(from(3), &get("/b2"));
    waiting.add(from(4), &get("/c1"));
    waiting.finish(&gate);
    assert_eq!(gate.came()[1..], ["/a1", "/b1", "/c1", "/a2", "/b2", "/a3"]);
}

#[test]
fn tenants_get_their_turns_by_header() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), "queue = { fair = { header = \"X-Tenant\" } }"));
    let mut waiting = Waiting::behind(&weir, &gate);
    for (target, tenant) in [("/a1", "a"), ("/a2", "a"), ("/b1", "b")] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nX-Tenant: {tenant}\r\n\r\n");
        waiting.add(weir.client(), &request);
    }
    waiting.finish(&gate);
    assert_eq!(gate.came()[1..], ["/a1", "/b1", "/a2"]);
}

#[test]
fn where_the_pool_has_the_limit_and_not_its_servers_priorities_and_turns_count_too() {
    let (gate, other) = (Gate::new(), Gate::new());
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\
         [[route]]\npath = \"/urgent\"\npool = \"web\"\npriority = -10\n\
         [pool.web]\nbalance = \"first\"\nservers = [\"{}\", \"{}\"]\nmax-connections = 1\n\
         queue = {{ fair = \"client\" }}\ntimeouts = {{ queue = \"20s\", response = \"60s\" }}\n",
        gate.addr(),
        other.addr(),
    ));
    let mut waiting = Waiting::behind(&weir, &gate);
    let from = |last: u8| RawClient::connect_from(IpAddr::from([127, 0, 0, last]), weir.addr("web"));
    for (client, target) in [(2, "/a1"), (2, "/a2"), (3, "/b1"), (3, "/urgent/b"), (2, "/urgent/a")] {
        waiting.add(from(client), &get(target));
    }
    waiting.finish(&gate);
    assert_eq!(gate.came()[1..], ["/urgent/b", "/urgent/a", "/a1", "/b1", "/a2"]);
    assert!(other.came().is_empty());
}

#[test]
fn the_log_says_how_many_were_served_before() {
    let gate = Gate::new();
    let config = format!(
        "[access-log]\nformat = \"json\"\nto = \"stdout\"\n\n{}",
        one_at_a_time(gate.addr(), "[[route]]\npath = \"/urgent\"\npool = \"web\"\npriority = -1")
    );
    let mut weir = Weir::start(&config);
    let mut waiting = Waiting::behind(&weir, &gate);
    ["/1", "/2", "/urgent"].iter().for_each(|target| waiting.get(target));
    waiting.finish(&gate);
    for (target, ahead) in [("/first", 0), ("/urgent", 0), ("/1", 1), ("/2", 2)] {
        let line = weir.wait_for_log(&format!("\"target\":\"{target}\""));
        assert!(line.contains(&format!("\"queue_ahead\":{ahead}")), "{line}");
    }
}

#[test]
fn tcp_connections_wait_in_order_too() {
    let server = RawServer::start(|peer| {
        peer.send("hello")?;
        peer.take_to_end().map(drop)
    });
    let config = one_at_a_time(server.addr(), "").replace("pool = \"web\"", "mode = \"tcp\"\npool = \"web\"");
    let weir = Weir::start(&config);
    let mut first = weir.client();
    assert_eq!(first.read_exact(5), b"hello");
    let mut waiting = Vec::new();
    for length in 1..=4 {
        waiting.push(weir.client());
        wait_for_queue(&weir, length);
    }
    // The clients in the middle have sent bytes, which Weir does not read while they wait.
    for client in &mut waiting[1..3] {
        client.send("early");
    }
    // One of them leaves, and so leaves the queue.
    waiting.remove(1).reset();
    wait_for_queue(&weir, 3);
    drop(first);
    for (index, client) in waiting.into_iter().enumerate() {
        let mut client = client;
        assert_eq!(client.read_exact(5), b"hello");
        wait_for_queue(&weir, 2 - index);
    }
}
