//! Tests of snapshots.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::Instant;
use weir_control::{Level, PerSecond, RuntimeState};

use super::rig::{Rig, plan};
use crate::state::ServerCounters;

const TWO: &str = "[pool.web]\nservers = [
    { name = \"a\", address = \"127.0.0.1:1\", max-connections = 10 },
    { name = \"b\", address = \"127.0.0.1:2\", max-connections = 20 },
]";

fn two() -> Rig {
    Rig::still(plan(TWO), RuntimeState::default())
}

#[tokio::test]
async fn a_pool_never_forgets_what_its_departed_servers_did() {
    let rig = two();
    let a = rig.server("a");
    for worker in 0..2 {
        a.counters.of(worker).requests.add(10);
        a.counters.of(worker).responses.count(200);
        a.counters.of(worker).times.record(ServerCounters::TOTAL, 500);
        a.counters.of(worker).times.record(ServerCounters::FIRST_BYTE, 300);
    }
    let traffic = || rig.snapshot().pools.remove(0).traffic;
    let before = traffic();
    assert_eq!((before.tries_total, before.responses.success, before.total.count()), (20, 2, 2));
    assert_eq!((before.first_byte.sum_us(), before.total.sum_us()), (600, 1_000));
    rig.done(r#"{"remove-server": {"pool": "web", "server": "a", "force": true}}"#).await;
    assert_eq!(traffic().tries_total, 20);
    // A request in flight ends after the removal of its server.
    a.counters.of(0).requests.one();
    assert_eq!(traffic().tries_total, 21);
    drop(a);
    rig.controller.read_totals(Instant::now());
    for _ in 0..2 {
        let after = traffic();
        assert_eq!((after.tries_total, after.responses.success, after.total.count()), (21, 2, 2));
        rig.controller.read_totals(Instant::now());
    }
}

#[tokio::test]
async fn rates_and_highs_come_from_what_was_read_each_second() {
    let rig = two();
    let started = Instant::now();
    let seconds = Cell::new(0);
    let second = || {
        seconds.set(seconds.get() + 1);
        rig.controller.read_totals(started + Duration::from_secs(seconds.get()));
    };
    second();
    let roster = rig.pool("web").view();
    roster.roster.begin(0);
    roster.roster.begin(0);
    rig.server("a").counters.of(0).requests.add(30);
    rig.server("b").counters.of(1).requests.add(12);
    rig.pool("web").counters.of(0).requests.add(40);
    rig.pool("web").counters.of(1).active.add(2);
    let live = rig.shared.live();
    live.listeners[0].counters.of(1).requests.add(42);
    live.listeners[0].counters.of(1).connections.add(4);
    second();
    roster.roster.end(0, &rig.server("a").load);
    let snapshot = rig.snapshot();
    let pool = &snapshot.pools[0];
    assert_eq!(pool.traffic.request_rate, PerSecond { current: 40, max: 40 });
    assert_eq!(pool.traffic.active, Level { current: 1, max: 2, limit: Some(30) });
    assert_eq!(pool.servers[0].traffic.active, Level { current: 1, max: 2, limit: Some(10) });
    assert_eq!(pool.servers[1].traffic.request_rate, PerSecond { current: 12, max: 12 });
    assert_eq!(snapshot.listeners[0].connection_rate, PerSecond { current: 4, max: 4 });
    assert_eq!(snapshot.process.request_rate, PerSecond { current: 42, max: 42 });
    second();
    assert_eq!(rig.snapshot().pools[0].traffic.request_rate, PerSecond { current: 0, max: 40 });
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_had_nobody_left_tells_how_often_and_how_long() {
    let rig = two();
    let state = |server: &str, state: &str| {
        format!(r#"{{"server-state": {{"pool": "web", "server": "{server}", "state": "{state}"}}}}"#)
    };
    rig.done(&state("a", "drain")).await;
    tokio::time::advance(Duration::from_secs(5)).await;
    rig.done(&state("b", "drain")).await;
    tokio::time::advance(Duration::from_secs(3)).await;
    let pool = rig.snapshot().pools.remove(0);
    assert_eq!((pool.times_down, pool.downtime_ms, pool.changed_ms_ago), (1, 3_000, 3_000));
    assert_eq!((pool.status().name(), pool.servers[0].effective_weight), ("down", 0));
    rig.done(&state("a", "ready")).await;
    tokio::time::advance(Duration::from_secs(4)).await;
    let pool = rig.snapshot().pools.remove(0);
    assert_eq!((pool.times_down, pool.downtime_ms, pool.changed_ms_ago), (1, 3_000, 4_000));
}

#[tokio::test]
async fn a_pool_speaks_what_its_listeners_speak() {
    let rig = Rig::still(
        super::rig::whole_plan(&format!(
            "[weir]\ncontrol = false\nstate = false\n[listener.raw]\nbind = \":90\"\nmode = \"tcp\"\npool = \"web\"\n{TWO}"
        )),
        RuntimeState::default(),
    );
    let snapshot = rig.snapshot();
    assert_eq!((snapshot.pools[0].protocol.name(), snapshot.listeners[0].protocol.name()), ("tcp", "tcp"));
    assert_eq!(snapshot.process.connections.limit, Some(1_000));
    assert_eq!(snapshot.process.workers, 2);
}
