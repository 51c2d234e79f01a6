//! Tests of slow start, zones and subsets.

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_origin::OriginHandle;

use crate::{origin, pool};

const ONE_WORKER: &str = "[weir]\nworkers = 1\n";

fn start(origins: &[OriginHandle], keys: &str) -> Weir {
    let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
    Weir::start(&pool(&servers, keys))
}

fn set_state(weir: &Weir, server: &str, state: &str) {
    weir.obey(&json!({"server-state": {"pool": "web", "server": server, "state": state}}));
}

/// Sends this many requests and returns the number that each server gets.
fn shares<const N: usize>(weir: &Weir, origins: &[OriginHandle; N], requests: usize) -> [u64; N] {
    let before = origins.each_ref().map(OriginHandle::requests);
    let mut client = weir.client();
    for _ in 0..requests {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    let mut before = before.into_iter();
    origins.each_ref().map(|origin| origin.requests() - before.next().unwrap())
}

#[test]
fn a_server_that_returns_gets_little_at_first_and_one_that_was_there_at_the_start_its_part() {
    let origins = ["a", "b"].map(origin);
    let weir = start(&origins, &format!("balance = \"round-robin\"\nslow-start = \"1h\"\n{ONE_WORKER}"));
    assert_eq!(shares(&weir, &origins, 20), [10, 10]);
    set_state(&weir, "b", "drain");
    assert_eq!(shares(&weir, &origins, 20), [20, 0]);
    set_state(&weir, "b", "ready");
    // The server starts with a tenth of its weight.
    assert_eq!(shares(&weir, &origins, 110), [100, 10]);
    let shown = weir.ctl(&["show", "pools"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("(10%)"), "{shown:?}");
}

#[test]
fn a_slow_start_comes_to_its_end() {
    let origins = ["a", "b"].map(origin);
    let weir = start(&origins, &format!("balance = \"round-robin\"\nslow-start = \"200ms\"\n{ONE_WORKER}"));
    set_state(&weir, "b", "drain");
    set_state(&weir, "b", "ready");
    weir_testkit::wait_until("both get the same", weir_testkit::PATIENCE, || {
        shares(&weir, &origins, 20) == [10, 10]
    });
}

#[test]
fn requests_stay_in_the_zone_while_it_has_enough_and_go_abroad_as_far_as_it_has_not() {
    let origins = ["a", "b", "c", "d"].map(origin);
    let zones = [", zone = \"home\"", ", zone = \"home\"", ", zone = \"abroad\"", ", zone = \"abroad\""];
    let servers: Vec<_> = origins.iter().zip(zones).collect();
    let weir =
        Weir::start(&pool(&servers, &format!("balance = \"round-robin\"\n{ONE_WORKER}zone = \"home\"\n")));
    assert_eq!(shares(&weir, &origins, 40), [20, 20, 0, 0]);
    set_state(&weir, "a", "maintenance");
    // Half of the zone's weight is up, which is less than 70%. So 5 of 7 requests stay.
    let [a, b, c, d] = shares(&weir, &origins, 700);
    assert_eq!((a, b + c + d), (0, 700));
    assert!((490..=510).contains(&b) && c.abs_diff(d) <= 2, "{b} {c} {d}");
    set_state(&weir, "b", "maintenance");
    assert_eq!(shares(&weir, &origins, 40), [0, 0, 20, 20]);
}

#[test]
fn each_weir_uses_its_own_part_of_the_servers_and_all_together_all_of_them() {
    let origins = ["a", "b", "c", "d", "e", "f"].map(origin);
    let used: Vec<Vec<usize>> = (0..3)
        .map(|instance| {
            let keys = format!(
                "balance = \"round-robin\"\nsubset = {{ size = 2, instance = {instance}, instances = 3 }}\n{ONE_WORKER}"
            );
            let weir = start(&origins, &keys);
            let shares = shares(&weir, &origins, 60);
            let used: Vec<usize> = (0..6).filter(|server| shares[*server] > 0).collect();
            assert!(used.iter().all(|server| shares[*server] == 30), "{shares:?}");
            used
        })
        .collect();
    assert!(used.iter().all(|part| part.len() == 2), "{used:?}");
    let mut all = used.concat();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_weir_whose_own_servers_are_gone_uses_the_others() {
    let origins = ["a", "b", "c", "d"].map(origin);
    let keys = format!(
        "balance = \"round-robin\"\nsubset = {{ size = 2, instance = 0, instances = 2 }}\n{ONE_WORKER}"
    );
    let weir = start(&origins, &keys);
    let own = shares(&weir, &origins, 20);
    assert_eq!(own.iter().filter(|count| **count > 0).count(), 2, "{own:?}");
    for (origin, _) in origins.iter().zip(own).filter(|(_, count)| *count > 0) {
        set_state(&weir, origin.name(), "maintenance");
    }
    let others = shares(&weir, &origins, 20);
    assert!(own.iter().zip(others).all(|(own, other)| (*own > 0) != (other > 0)), "{own:?} {others:?}");
}
