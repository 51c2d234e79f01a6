//! Tests of algorithms, weights and backups.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::thread;

use weir_e2e::{Weir, get};
use weir_origin::OriginHandle;
use weir_testkit::{PATIENCE, RawClient, wait_until};

use crate::{origin, pool, who};

fn requests(origins: &[OriginHandle]) -> Vec<u64> {
    origins.iter().map(OriginHandle::requests).collect()
}

#[test]
fn round_robin_gives_each_server_its_turn() {
    let origins = ["a", "b", "c"].map(origin);
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    let weir = Weir::start(&pool(&servers, "balance = \"round-robin\"\n[weir]\nworkers = 1\n"));
    let mut client = weir.client();
    for _ in 0..60 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    assert_eq!(requests(&origins), [20, 20, 20]);
}

#[test]
fn round_robin_is_even_over_all_workers() {
    let origins = ["a", "b", "c"].map(origin);
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    let weir = Weir::start(&pool(&servers, "balance = \"round-robin\"\n[weir]\nworkers = 4\n"));
    for _ in 0..120 {
        assert!(who(&weir).is_some());
    }
    for count in requests(&origins) {
        assert!((30..=50).contains(&count), "{:?}", requests(&origins));
    }
}

#[test]
fn round_robin_follows_weights_and_mixes_them() {
    let origins = ["heavy", "light"].map(origin);
    let servers = [(&origins[0], ", weight = 3"), (&origins[1], ", weight = 1")];
    let weir = Weir::start(&pool(&servers, "balance = \"round-robin\"\n[weir]\nworkers = 1\n"));
    let mut client = weir.client();
    let mut order = Vec::new();
    for _ in 0..40 {
        order.push(client.exchange(get("/")).header("x-origin").unwrap().to_owned());
    }
    assert_eq!(requests(&origins), [30, 10]);
    // Smooth: never more requests in a row than the weight.
    assert!(!order.windows(4).any(|four| four.iter().all(|name| name == "heavy")), "{order:?}");
}

#[test]
fn a_server_of_weight_zero_gets_nothing() {
    let origins = ["a", "none"].map(origin);
    for balance in ["round-robin", "least-connections", "random", "source"] {
        let servers = [(&origins[0], ""), (&origins[1], ", weight = 0")];
        let weir = Weir::start(&pool(&servers, &format!("balance = \"{balance}\"")));
        for _ in 0..10 {
            assert_eq!(who(&weir).as_deref(), Some("a"), "{balance}");
        }
    }
    assert_eq!(origins[1].requests(), 0);
}

#[test]
fn least_connections_avoids_the_server_that_is_busy() {
    let origins = ["a", "b"].map(origin);
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    let weir = Weir::start(&pool(&servers, "balance = \"least-connections\""));
    let hang = |clients: &mut Vec<(bool, RawClient)>| {
        let (on_a, on_b) = (origins[0].active(), origins[1].active());
        let mut client = weir.client();
        client.send(get("/hang"));
        wait_until("the request arrives", PATIENCE, || {
            origins[0].active() + origins[1].active() > on_a + on_b
        });
        clients.push((origins[0].active() > on_a, client));
    };
    let mut hanging = Vec::new();
    (0..8).for_each(|_| hang(&mut hanging));
    assert_eq!((origins[0].active(), origins[1].active()), (4, 4));
    let (on_a, mut hanging): (Vec<_>, Vec<_>) = hanging.into_iter().partition(|(is_on_a, _)| *is_on_a);
    on_a.into_iter().for_each(|(_, client)| client.reset());
    wait_until("its requests are given up", PATIENCE, || origins[0].active() == 0);
    (0..4).for_each(|_| hang(&mut hanging));
    assert_eq!((origins[0].active(), origins[1].active()), (4, 4));
}

#[test]
fn least_connections_follows_weights() {
    let origins = ["heavy", "light"].map(origin);
    let servers = [(&origins[0], ", weight = 3"), (&origins[1], ", weight = 1")];
    let weir = Weir::start(&pool(&servers, "balance = \"least-connections\""));
    let mut hanging = Vec::new();
    for count in 1..=8 {
        let mut client = weir.client();
        client.send(get("/hang"));
        hanging.push(client);
        wait_until("the request arrives", PATIENCE, || {
            origins.iter().map(OriginHandle::active).sum::<u64>() == count
        });
    }
    assert_eq!((origins[0].active(), origins[1].active()), (6, 2));
}

#[test]
fn least_connections_spreads_a_burst_over_all_servers() {
    let origins = ["a", "b", "c"].map(origin);
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    let weir = Weir::start(&pool(&servers, ""));
    thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| assert_eq!(weir.client().exchange(get("/delay/300")).status, 200));
        }
    });
    // The two workers may choose the same server at once. That must not leave a server out or overload one.
    for count in requests(&origins) {
        assert!((8..=12).contains(&count), "{:?}", requests(&origins));
    }
}

#[test]
fn random_uses_every_server() {
    let origins = ["a", "b", "c"].map(origin);
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    let weir = Weir::start(&pool(&servers, "balance = \"random\""));
    for _ in 0..150 {
        assert!(who(&weir).is_some());
    }
    // A failure by chance has p < 1e-9.
    for count in requests(&origins) {
        assert!(count > 15, "{:?}", requests(&origins));
    }
}

#[test]
fn source_keeps_a_client_at_its_server_and_spreads_clients() {
    let origins = ["a", "b", "c"].map(origin);
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    let weir = Weir::start(&pool(&servers, "balance = \"source\""));
    let addr = weir.addr("web");
    let mut used = BTreeSet::new();
    for last in 1..=40 {
        let source = IpAddr::V4(Ipv4Addr::new(127, 0, 1, last));
        let mut names = BTreeSet::new();
        for _ in 0..3 {
            let mut client = RawClient::connect_from(source, addr);
            names.insert(client.exchange(get("/")).header("x-origin").unwrap().to_owned());
        }
        assert_eq!(names.len(), 1, "{source} went to {names:?}");
        used.extend(names);
    }
    assert_eq!(used.len(), 3, "only {used:?} were used");
}

#[test]
fn a_backup_gets_requests_only_while_nobody_else_can() {
    let main = origin("main");
    let spare = origin("spare");
    let weir = Weir::start(&pool(
        &[(&main, ""), (&spare, ", backup = true")],
        "check = { http = \"GET /health\", interval = \"50ms\", fast-interval = \"20ms\", rise = 1, fall = 1 }",
    ));
    for _ in 0..20 {
        assert_eq!(who(&weir).as_deref(), Some("main"));
    }
    main.set_healthy(false);
    wait_until("the backup takes over", PATIENCE, || who(&weir).as_deref() == Some("spare"));
    main.set_healthy(true);
    wait_until("the backup rests again", PATIENCE, || who(&weir).as_deref() == Some("main"));
    let before = spare.requests();
    for _ in 0..20 {
        assert_eq!(who(&weir).as_deref(), Some("main"));
    }
    assert_eq!(spare.requests(), before);
}

#[test]
fn every_algorithm_that_is_listed_serves_and_gives_a_draining_server_nothing_new() {
    let listed = Command::new(weir_e2e::program()).args(["algorithms", "--json"]).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        let origins = ["a", "b"].map(origin);
        let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
        let balance = match name {
            // These algorithms need a key.
            "hash" | "nginx-hash" | "ketama" => format!("{{ algorithm = \"{name}\", key = \"uri\" }}"),
            _ => format!("\"{name}\""),
        };
        let weir = Weir::start(&pool(&servers, &format!("balance = {balance}")));
        let mut client = weir.client();
        let mut ask = |many: std::ops::Range<u32>| {
            for number in many {
                assert_eq!(client.exchange(get(&format!("/bytes/{number}"))).status, 200, "{name}");
            }
        };
        ask(0..10);
        assert!(weir.ctl(&["drain", "web/a"]).status.success());
        let before = requests(&origins);
        assert_eq!(before.iter().sum::<u64>(), 10, "{name}");
        ask(10..20);
        assert_eq!(requests(&origins), [before[0], before[1] + 10], "{name}");
    }
}
