//! Tests of pools that a reload removes while they are in use.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use weir_config::Plan;
use weir_control::RuntimeState;
use weir_testkit::RawServer;

use super::rig::{Rig, eventually, whole_plan};

/// Returns a plan with one pool of this name and two servers.
fn named(pool: &str) -> Plan {
    with(
        pool,
        "servers = [{ name = \"a\", address = \"127.0.0.1:1\" }, { name = \"b\", address = \"127.0.0.1:2\" }]",
    )
}

fn with(pool: &str, keys: &str) -> Plan {
    whole_plan(&format!(
        "[weir]\ncontrol = false\nstate = false\n[listener.web]\nbind = \":80\"\npool = \"{pool}\"\n[pool.{pool}]\n{keys}"
    ))
}

/// Does the periodic work of one second.
fn a_second_passes(rig: &Rig) {
    rig.controller.read_totals(Instant::now());
}

#[tokio::test]
async fn a_removed_pool_keeps_its_servers_until_the_last_who_uses_it_has_left() {
    let rig = Rig::still(named("web"), RuntimeState::default());
    let used = rig.pool("web");
    rig.reload(named("other")).await;
    a_second_passes(&rig);
    assert_eq!(used.view().roster.members(), [0, 1]);
    let shown: Vec<_> = rig.snapshot().pools.into_iter().map(|pool| pool.name).collect();
    assert_eq!(shown, ["other"]);
    let refused = rig.refused(r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#).await;
    assert!(refused.contains("web"), "{refused}");

    let (pool, server) = (Arc::downgrade(&used), Arc::downgrade(used.view().servers[0].as_ref().unwrap()));
    drop(used);
    assert!(rig.lines().is_empty());
    a_second_passes(&rig);
    assert!(pool.upgrade().is_none() && server.upgrade().is_none());
    assert_eq!(rig.lines(), ["pool web: no longer in the config, and nobody uses it any more"]);
}

#[tokio::test]
async fn however_often_a_pool_is_renamed_nothing_is_left_of_those_that_nobody_uses() {
    let rig = Rig::still(named("web"), RuntimeState::default());
    let mut pools = Vec::new();
    let mut servers = Vec::new();
    for n in 0..50 {
        rig.reload(named(&format!("web-{n}"))).await;
        let pool = rig.pool(&format!("web-{n}"));
        servers.extend(pool.view().servers.iter().flatten().map(Arc::downgrade));
        pools.push(Arc::downgrade(&pool));
    }
    a_second_passes(&rig);
    let alive = pools.iter().filter(|pool| pool.upgrade().is_some()).count();
    let serving = servers.iter().filter(|server| Weak::upgrade(server).is_some()).count();
    assert_eq!((alive, serving), (1, 2));
    assert!(rig.controller.records().retiring.is_empty());
}

#[tokio::test]
async fn a_pool_that_comes_back_while_it_is_still_used_is_the_same_one() {
    let rig = Rig::still(named("web"), RuntimeState::default());
    let (used, a) = (rig.pool("web"), rig.server("a"));
    used.counters.of(0).requests.add(4);
    rig.reload(named("other")).await;
    a_second_passes(&rig);
    rig.reload(named("web")).await;
    let back = rig.pool("web");
    assert!(Arc::ptr_eq(&used.counters, &back.counters) && Arc::ptr_eq(&used.queue, &back.queue));
    assert!(Arc::ptr_eq(&rig.server("a"), &a));
    rig.done(r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#).await;
    assert_eq!((used.view().roster.members(), back.view().roster.members()), (&[1][..], &[1][..]));
}

#[tokio::test]
async fn a_pool_that_comes_back_with_other_settings_is_let_go_only_with_all_that_it_was() {
    let rig = Rig::still(named("web"), RuntimeState::default());
    let first = rig.pool("web");
    rig.reload(with("web", "servers = \"127.0.0.1:1\"\nbalance = \"random\"")).await;
    rig.reload(named("other")).await;
    a_second_passes(&rig);
    assert_eq!(first.view().roster.members().len(), 1, "as it was when it went");
    assert_eq!(rig.controller.records().retiring.len(), 1);
    drop(first);
    a_second_passes(&rig);
    assert!(rig.controller.records().retiring.is_empty());
}

#[tokio::test]
async fn servers_of_a_removed_pool_are_checked_for_as_long_as_it_is_used() {
    let (dying, steady) = (RawServer::answering("a"), RawServer::answering("b"));
    let keys = format!(
        "servers = [{{ name = \"a\", address = \"{}\" }}, {{ name = \"b\", address = \"{}\" }}]\n\
         check = {{ tcp = true, interval = \"5ms\", fast-interval = \"5ms\", timeout = \"2s\" }}",
        dying.addr(),
        steady.addr()
    );
    let rig = Rig::running(with("web", &keys));
    eventually("the first checks", || rig.shown("a").check.is_some_and(|check| check.code.passed())).await;
    let used = rig.pool("web");
    rig.reload(named("other")).await;
    dying.kill();
    eventually("it is down", || used.view().roster.members() == [1]).await;
    assert!(rig.lines().iter().any(|line| line.starts_with("pool web, server a (")), "{:?}", rig.lines());

    drop(used);
    eventually("it is gone", || rig.lines().last().is_some_and(|line| line.ends_with("uses it any more")))
        .await;
    let asked = steady.connections();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(steady.connections() <= asked + 1, "checks end with their pool");
}

#[tokio::test]
async fn the_names_of_servers_are_looked_after_until_their_pool_is_gone() {
    let rig = Rig::still(with("web", "servers = \"localhost:80\""), RuntimeState::default());
    let used = rig.pool("web");
    rig.reload(named("other")).await;
    let is_known = || rig.controller.records().names.answer("localhost").is_some();
    a_second_passes(&rig);
    assert!(is_known());
    drop(used);
    a_second_passes(&rig);
    assert!(!is_known());
}
