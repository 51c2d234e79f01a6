//! Tests of slow start, tiers, zones and subsets, from the config to the rosters.

use std::time::{Duration, Instant};

use weir_balance::Rank;
use weir_control::RuntimeState;

use super::{Rig, plan};
use crate::state::Terms;

fn drain(state: &str) -> String {
    format!(r#"{{"server-state": {{"pool": "web", "server": "a", "state": "{state}"}}}}"#)
}

fn percent(rig: &Rig, server: &str) -> Option<u32> {
    rig.shown(server).weight_percent
}

#[tokio::test(start_paused = true)]
async fn a_server_that_returns_rises_step_by_step_and_none_does_at_the_start() {
    let rig = Rig::running(plan(
        "[pool.web]\nservers = [{ name = \"a\", address = \"10.0.0.1:80\" }, { name = \"b\", address = \"10.0.0.2:80\" }]\n\
         slow-start = \"20s\"",
    ));
    assert_eq!((percent(&rig, "a"), percent(&rig, "b")), (None, None));
    rig.done(&drain("drain")).await;
    rig.done(&drain("ready")).await;
    assert_eq!((percent(&rig, "a"), percent(&rig, "b")), (Some(10), None));
    let mut generations = Vec::new();
    let mut seen = Vec::new();
    for _ in 0..250 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        seen.push(percent(&rig, "a"));
        generations.push(rig.pool("web").generation());
    }
    seen.dedup();
    generations.dedup();
    assert_eq!(seen.last(), Some(&None), "{seen:?}");
    assert!(seen.contains(&Some(50)) && seen.is_sorted_by_key(|percent| percent.unwrap_or(100)), "{seen:?}");
    assert!((15..=22).contains(&generations.len()), "one roster for each step: {}", generations.len());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_added_rises_and_many_that_rise_at_once_share_their_rosters() {
    let rig = Rig::running(plan(
        "[pool.web]\nservers = \"10.0.0.1:80\"\nslow-start = { window = \"10s\", min-weight = \"1%\" }",
    ));
    for number in 0..20 {
        let add = format!(
            r#"{{"add-server": {{"pool": "web", "server": {{"name": "n{number}", "address": "10.0.1.{number}:80"}}}}}}"#
        );
        rig.done(&add).await;
        tokio::time::sleep(Duration::from_millis(17)).await;
    }
    assert_eq!(percent(&rig, "n19"), Some(10), "a second counts at least: a tenth of the window");
    let before = rig.pool("web").generation();
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert_eq!((percent(&rig, "n0"), percent(&rig, "n19")), (None, None));
    let made = rig.pool("web").generation() - before;
    assert!(made <= 24, "{made} rosters");
}

#[tokio::test(start_paused = true)]
async fn a_server_rises_in_fewer_steps_where_a_roster_is_dear_to_make() {
    let rig = Rig::running(plan(
        "[pool.web]\nservers = [{ name = \"a\", address = \"10.0.0.1:80\" }, { name = \"b\", address = \"10.0.0.2:80\" }]\n\
         balance = { algorithm = \"maglev\", table-size = 5000011 }\nslow-start = \"4s\"",
    ));
    rig.done(&drain("drain")).await;
    rig.done(&drain("ready")).await;
    assert_eq!(percent(&rig, "a"), Some(25));
    let before = rig.pool("web").generation();
    // Far more than ten times the time of twenty tables. The largest table takes more than 33 ms on any
    // machine, which makes thirteen rises impossible.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(percent(&rig, "a"), None, "it ends whole");
    let made = rig.pool("web").generation() - before;
    assert!((1..=12).contains(&made), "{made} tables");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_one_server_of_its_key_looks_again_when_keys_move_in_slow_start() {
    for algorithm in ["ring", "maglev", "rendezvous"] {
        let rig = Rig::running(plan(&format!(
            "[pool.web]\nservers = [{{ name = \"a\", address = \"10.0.0.1:80\", max-connections = 1 }}, \
             {{ name = \"b\", address = \"10.0.0.2:80\", max-connections = 1 }}]\n\
             balance = {{ algorithm = \"{algorithm}\", fallback = false }}\nslow-start = \"20s\"",
        )));
        rig.done(&drain("drain")).await;
        rig.done(&drain("ready")).await;
        assert_eq!(percent(&rig, "a"), Some(10), "{algorithm}");
        let busy = rig.server("b");
        assert!(rig.pool("web").view().roster.try_begin(busy.slot), "{algorithm}");
        let terms = Terms { rank: Rank::default(), patience: Duration::from_secs(60) };
        let (_, mut called) = busy.bound.enter(&terms, false, u32::MAX, Instant::now()).unwrap();
        assert!(called.try_recv().is_err(), "{algorithm}: its server has no place");
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(percent(&rig, "a").is_some_and(|percent| percent > 10), "{algorithm}");
        assert!(called.try_recv().is_ok(), "{algorithm}: its key may be the other server's now");
    }
}

#[tokio::test]
async fn tiers_zones_and_subsets_reach_the_roster_and_the_faces() {
    let servers = "[pool.web]\nservers = [\
                   { name = \"a\", address = \"10.0.0.1:80\", zone = \"x\" }, \
                   { name = \"b\", address = \"10.0.0.2:80\", zone = \"y\" }, \
                   { name = \"c\", address = \"10.0.0.3:80\", zone = \"x\", priority = 1 }]\n";
    let rig = Rig::still(plan(servers), RuntimeState::default());
    assert_eq!(rig.rotation(), ["a", "b"]);
    assert!(rig.shown("c").stands_by && rig.shown("c").priority == 1);
    assert_eq!(rig.shown("b").zone.as_deref(), Some("y"));
    rig.reload(plan(&format!("{servers}zone = \"x\""))).await;
    assert_eq!(rig.rotation(), ["a"]);
    assert!(rig.shown("b").stands_by && rig.shown("b").effective_weight == 0);
    rig.done(&drain("drain")).await;
    assert_eq!(rig.rotation(), ["b"]);
    rig.done(&drain("ready")).await;
    rig.reload(plan(&format!("{servers}subset = {{ size = 1, instance = 1, instances = 2 }}"))).await;
    assert_eq!(rig.rotation(), ["b"]);
    assert!(rig.shown("a").stands_by);
}

#[tokio::test]
async fn a_server_added_at_runtime_has_a_tier_and_a_zone() {
    let rig =
        Rig::still(plan("[pool.web]\nservers = \"10.0.0.1:80\"\nzone = \"x\""), RuntimeState::default());
    let add = r#"{"add-server": {"pool": "web", "server": {"name": "n", "address": "10.0.0.2:80", "zone": "x", "priority": 3}}}"#;
    rig.done(add).await;
    let shown = rig.shown("n");
    assert_eq!((shown.priority, shown.zone.as_deref(), shown.stands_by), (3, Some("x"), true));
}
