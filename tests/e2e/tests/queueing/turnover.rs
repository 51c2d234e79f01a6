//! Tests slots that become free, and waiting clients that leave.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_origin::Origin;
use weir_testkit::{PATIENCE, RawClient, wait_until};

use crate::{Gate, Waiting, one_at_a_time, queue_length, wait_for_queue};

#[test]
fn a_client_that_leaves_frees_its_place_and_nobody_elses() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), "queue = { max-length = 3 }"));
    let mut waiting = Waiting::behind(&weir, &gate);
    ["/1", "/2", "/3"].iter().for_each(|target| waiting.get(target));
    waiting.clients.remove(2).reset();
    wait_for_queue(&weir, 2);
    waiting.get("/4");
    waiting.finish(&gate);
    assert_eq!(gate.came(), ["/first", "/1", "/3", "/4"]);
    assert_eq!(queue_length(&weir), 0.0);
}

#[test]
fn a_client_that_leaves_with_most_of_its_body_unread_frees_its_place() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), "queue = { max-length = 3 }"));
    let mut waiting = Waiting::behind(&weir, &gate);
    // More than Weir reads together with the head.
    let body = "b".repeat(50_000);
    for target in ["/1", "/2", "/3"] {
        let request =
            format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        waiting.add(weir.client(), &request);
    }
    waiting.clients.remove(2).reset();
    wait_for_queue(&weir, 2);
    waiting.finish(&gate);
    assert_eq!(gate.came(), ["/first", "/1", "/3"]);
}

#[test]
fn a_reload_loses_nobody_and_a_higher_limit_calls_those_who_wait() {
    let gate = Gate::new();
    let config = one_at_a_time(gate.addr(), "");
    let mut weir = Weir::start(&config);
    let mut clients = {
        let mut waiting = Waiting::behind(&weir, &gate);
        ["/1", "/2", "/3", "/4"].iter().for_each(|target| waiting.get(target));
        waiting.clients
    };
    let fixed = config.replace("127.0.0.1:0", &weir.addr("web").to_string());
    // Does not change the pool's servers, so the requests go on waiting.
    weir.reload(&format!("{fixed}retry = false\n"));
    assert_eq!(queue_length(&weir), 4.0);
    weir.reload(&fixed.replace("max-connections = 1", "max-connections = 3"));
    gate.wait_for(3);
    assert_eq!(queue_length(&weir), 2.0);
    gate.open(5);
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    let mut came = gate.came();
    came[1..3].sort();
    assert_eq!(came[..3], ["/first", "/1", "/2"]);
}

#[test]
fn a_reload_that_lifts_the_pools_limit_calls_those_who_wait() {
    let gate = Gate::new();
    let config =
        one_at_a_time(gate.addr(), "max-connections = 1").replace("\", max-connections = 1 }", "\" }");
    let mut weir = Weir::start(&config);
    let mut waiting = Waiting::behind(&weir, &gate);
    waiting.get("/1");
    waiting.get("/2");
    let mut clients = waiting.clients;
    let fixed = config.replace("127.0.0.1:0", &weir.addr("web").to_string());
    weir.reload(&fixed.replace("\nmax-connections = 1\n", "\nmax-connections = 3\n"));
    gate.wait_for(3);
    gate.open(3);
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
}

#[test]
fn a_request_that_only_one_server_may_have_waits_for_that_one() {
    for algorithm in ["ipvs-sh", "ring", "source"] {
        waits_for_its_own_server(algorithm);
    }
}

fn waits_for_its_own_server(algorithm: &str) {
    let gates = [Gate::new(), Gate::new()];
    let servers: Vec<String> = gates
        .iter()
        .enumerate()
        .map(|(at, gate)| {
            format!("{{ name = \"g{at}\", address = \"{}\", max-connections = 1 }}", gate.addr())
        })
        .collect();
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [{}]\n\
         balance = {{ algorithm = \"{algorithm}\", fallback = false }}\ntimeouts = {{ queue = \"20s\", response = \"60s\" }}\n",
        servers.join(", ")
    ));
    let came = || gates.iter().map(|gate| gate.came().len()).collect::<Vec<_>>();
    // All requests come from one address, and so go to one server.
    let mut first = weir.client();
    first.send(get("/first"));
    wait_until("it has come", PATIENCE, || came().iter().sum::<usize>() == 1);
    let own = usize::from(came()[1] == 1);
    let mut second = weir.client();
    second.send(get("/second"));
    wait_for_queue(&weir, 1);
    gates[own].open(2);
    assert_eq!((first.response().status, second.response().status), (200, 200));
    assert_eq!(came()[1 - own], 0, "{algorithm}");
}

#[test]
fn a_server_that_is_added_takes_those_who_wait_and_one_that_is_drained_takes_nobody() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), ""));
    let mut waiting = Waiting::behind(&weir, &gate);
    waiting.get("/1");
    waiting.get("/2");
    let second = Gate::new();
    let address = second.addr().to_string();
    let output = weir.ctl(&["add", "web", "second", &address, "--connections-max", "1"]);
    assert!(output.status.success(), "{output:?}");
    second.wait_for(1);
    assert_eq!(second.came(), ["/1"]);
    assert!(weir.ctl(&["drain", "web/second"]).status.success());
    second.open(1);
    assert_eq!(waiting.clients.remove(1).response().status, 200);
    assert_eq!(queue_length(&weir), 1.0);
    waiting.finish(&gate);
    assert_eq!((gate.came().len(), second.came().len()), (2, 1));
}

#[test]
fn a_server_that_has_come_up_takes_few_requests_at_once_at_first() {
    let (a, b) = (Gate::new(), Gate::new());
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [\
         {{ name = \"a\", address = \"{}\", max-connections = 20 }}, {{ name = \"b\", address = \"{}\", max-connections = 20 }}]\n\
         timeouts = {{ queue = \"20s\", response = \"60s\" }}\nslow-start = \"1h\"\n",
        a.addr(),
        b.addr()
    );
    let mut weir = Weir::start(&config);
    let limit = |weir: &Weir| weir.metrics().get("weir_server_active_requests_limit", &["server=\"b\""]);
    assert_eq!(limit(&weir), 20.0, "who was there at the start has all of it");
    let set_state = |weir: &Weir, server: &str, state: &str| {
        weir.obey(&json!({"server-state": {"pool": "web", "server": server, "state": state}}));
    };
    set_state(&weir, "b", "drain");
    set_state(&weir, "b", "ready");
    set_state(&weir, "a", "drain");
    // A tenth of 20.
    assert_eq!(limit(&weir), 2.0);
    let mut clients: Vec<RawClient> = (0..5).map(|_| weir.client()).collect();
    for client in &mut clients {
        client.send(get("/"));
    }
    wait_for_queue(&weir, 3);
    let fixed = config.replace("127.0.0.1:0", &weir.addr("web").to_string());
    weir.reload(&fixed.replace("slow-start = \"1h\"\n", ""));
    b.wait_for(5);
    b.open(5);
    clients.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
    assert!(a.came().is_empty());
}

#[test]
fn when_no_server_is_left_those_who_wait_learn_it_at_once() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), ""));
    let mut waiting = Waiting::behind(&weir, &gate);
    waiting.get("/1");
    waiting.get("/2");
    assert!(weir.ctl(&["drain", "web/only"]).status.success());
    for mut client in waiting.clients.drain(1..) {
        assert_eq!(client.response().status, 503);
    }
    waiting.finish(&gate);
}

#[test]
fn a_pools_limit_holds_over_all_of_its_servers() {
    let origins: Vec<_> = ["a", "b"].map(|name| Origin::builder().name(name).start().unwrap()).into();
    let addresses: Vec<String> = origins.iter().map(|origin| format!("\"{}\"", origin.addr())).collect();
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [{}]\n\
         max-connections = 3\ntimeouts = {{ queue = \"20s\" }}\n",
        addresses.join(", ")
    ));
    let (most, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                for _ in 0..3 {
                    assert_eq!(weir.client().exchange(get("/delay/20")).status, 200);
                }
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        wait_until("all are done", PATIENCE, || {
            let active: usize = origins.iter().map(|origin| origin.active() as usize).sum();
            most.fetch_max(active, Ordering::SeqCst);
            done.load(Ordering::SeqCst) == 12
        });
    });
    assert!((1..=3).contains(&most.load(Ordering::SeqCst)), "{most:?}");
    assert_eq!(queue_length(&weir), 0.0);
}

#[test]
fn nobody_is_forgotten_when_many_come_and_go() {
    let origin = Origin::builder().name("only").start().unwrap();
    let weir = Weir::start(&one_at_a_time(origin.addr(), "queue = { fair = \"client\" }"));
    let address = weir.addr("web");
    thread::scope(|scope| {
        for number in 0..16 {
            scope.spawn(move || {
                let mut kept = RawClient::connect(address);
                for round in 0..40 {
                    if (number + round) % 5 == 0 {
                        let mut leaving = RawClient::connect(address);
                        leaving.send(get("/"));
                        leaving.reset();
                    }
                    assert_eq!(kept.exchange(get("/")).status, 200);
                }
            });
        }
    });
    wait_until("all is over", PATIENCE, || {
        queue_length(&weir) == 0.0 && weir.metrics().get("weir_pool_active_requests", &[]) == 0.0
    });
}
