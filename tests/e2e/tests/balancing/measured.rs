//! Tests of algorithms that use measurements, and of features common to all algorithms: slow start, tiers,
//! agents.

use std::sync::{Arc, Mutex};

use weir_e2e::{Weir, get};
use weir_origin::OriginHandle;
use weir_testkit::{PATIENCE, RawServer, wait_until};

use crate::{origin, pool, who};

fn start(origins: &[OriginHandle], keys: &str) -> Weir {
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    Weir::start(&pool(&servers, keys))
}

#[test]
fn algorithms_that_measure_avoid_the_server_that_is_slow() {
    for balance in [
        "\"peak-ewma\"",
        "\"least-response-time\"",
        "{ algorithm = \"least-response-time\", until = \"last-byte\", inflight = true }",
    ] {
        let (slow, quick) = (slow("slow"), origin("quick"));
        let servers = format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [\
             {{ name = \"slow\", address = \"{}\" }}, {{ name = \"quick\", address = \"{}\" }}]\nbalance = {balance}\n",
            slow.addr(),
            quick.addr()
        );
        let weir = Weir::start(&servers);
        for _ in 0..40 {
            assert_eq!(weir.client().exchange(get("/")).status, 200, "{balance}");
        }
        // The slow server gets only a few requests, until its speed is known.
        assert!(quick.requests() >= 36, "{balance}: {}", quick.requests());
    }
}

#[test]
fn a_weight_is_found_by_measurement_and_explained() {
    let (slow, quick) = (slow("slow"), origin("quick"));
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"round-robin\"\nservers = [\
         {{ name = \"slow\", address = \"{}\", weight = \"auto\" }}, {{ name = \"quick\", address = \"{}\", weight = \"auto\" }}]\n\
         auto-weight = {{ interval = \"1s\", min-requests = 1, max = 40 }}\n",
        slow.addr(),
        quick.addr()
    ));
    let weight = |server| weir.metrics().get("weir_server_weight", &["pool=\"web\"", server]);
    let (of_slow, of_quick) = ("server=\"slow\"", "server=\"quick\"");
    assert_eq!((weight(of_slow), weight(of_quick)), (16.0, 16.0), "average to begin with");
    wait_until("the quick one weighs twice as much", PATIENCE, || {
        assert_eq!(weir.client().exchange(get("/")).status, 200);
        weight(of_quick) > 2.0 * weight(of_slow)
    });
    let status = weir.admin("/status.json");
    assert!(status.contains("16 x (1.00 x Pp + 0.00 x Pm)"), "{status}");
    // A weight set by the operator takes precedence.
    assert!(weir.ctl(&["weight", "web/slow", "7"]).status.success());
    assert_eq!(weight(of_slow), 7.0);
}

/// Starts a server that responds after 0.2 s.
fn slow(name: &str) -> RawServer {
    let name = name.to_owned();
    RawServer::responding(move |_| {
        std::thread::sleep(std::time::Duration::from_millis(200));
        format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Origin: {name}\r\n\r\n").into_bytes()
    })
}

#[test]
fn least_bandwidth_sends_the_next_request_where_fewer_bytes_were_moved() {
    let origins = ["a", "b"].map(origin);
    let weir = start(&origins, "balance = \"least-bandwidth\"\n[weir]\nworkers = 1\n");
    let first = weir.client().exchange(get("/bytes/1000000")).header("x-origin").unwrap().to_owned();
    for _ in 0..20 {
        assert_ne!(who(&weir), Some(first.clone()));
    }
}

#[test]
fn least_request_and_its_options_serve_every_server() {
    for balance in ["\"least-request\"", "{ algorithm = \"least-request\", choices = 3, bias = \"150%\" }"] {
        let origins = ["a", "b", "c"].map(origin);
        let weir = start(&origins, &format!("balance = {balance}"));
        for _ in 0..90 {
            assert!(who(&weir).is_some());
        }
        assert!(origins.iter().all(|origin| origin.requests() > 10), "{balance}");
    }
}

#[test]
fn the_next_tier_serves_only_while_nobody_of_the_first_can() {
    let (first, second) = (origin("first"), origin("second"));
    let weir = Weir::start(&pool(
        &[(&second, ", priority = 1"), (&first, "")],
        "check = { http = \"GET /health\", interval = \"50ms\", fast-interval = \"20ms\", rise = 1, fall = 1 }",
    ));
    for _ in 0..10 {
        assert_eq!(who(&weir).as_deref(), Some("first"));
    }
    first.set_healthy(false);
    wait_until("the second tier takes over", PATIENCE, || who(&weir).as_deref() == Some("second"));
    first.set_healthy(true);
    wait_until("the first tier is back", PATIENCE, || who(&weir).as_deref() == Some("first"));
}

#[test]
fn an_agent_takes_its_server_out_and_brings_it_back() {
    let line = Arc::new(Mutex::new("up 100%\n"));
    let says = Arc::clone(&line);
    let agent = RawServer::start(move |peer| peer.send(*says.lock().unwrap()));
    let origins = ["a", "b"].map(origin);
    let silent = RawServer::silent();
    let servers = [
        (&origins[0], format!(", agent-port = {}", agent.addr().port())),
        (&origins[1], format!(", agent-port = {}", silent.addr().port())),
    ];
    let servers: Vec<_> = servers.iter().map(|(origin, keys)| (*origin, keys.as_str())).collect();
    let weir = Weir::start(&pool(&servers, "agent = { port = 1, interval = \"20ms\", timeout = \"100ms\" }"));
    let used = |count: usize| -> Vec<String> {
        let mut names: Vec<String> = (0..count).filter_map(|_| who(&weir)).collect();
        names.sort();
        names.dedup();
        names
    };
    wait_until("both serve", PATIENCE, || used(8) == ["a", "b"]);
    *line.lock().unwrap() = "drain # going home\n";
    wait_until("a is left out", PATIENCE, || used(8) == ["b"]);
    *line.lock().unwrap() = "ready\n";
    wait_until("a is back", PATIENCE, || used(8) == ["a", "b"]);
}
