//! Tests of ejection.

use std::time::Duration;

use weir_control::Health;

use super::rig::{Rig, eventually, plan};

const THREE: &str = "[pool.web]
servers = [
    { name = \"a\", address = \"127.0.0.1:1\" },
    { name = \"b\", address = \"127.0.0.1:2\" },
    { name = \"c\", address = \"127.0.0.1:3\" },
]
eject = { failures = 3, time = \"30s\", max-share = \"50%\", half-open-requests = 0 }";

/// Counts failed requests of a server, as a worker does.
fn fail(rig: &Rig, server: &str, times: u32) {
    let state = rig.server(server);
    for _ in 0..times {
        state.counters.of(0).requests.one();
        state.counters.of(0).failures.one();
        state.failed();
        state.probe_failed(state.probe_turn());
    }
    rig.shared.traffic_alarm.notify_one();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_requests_is_out_for_its_time_and_then_returns() {
    let rig = Rig::running(plan(THREE));
    fail(&rig, "b", 3);
    eventually("b is out", || rig.rotation() == ["a", "c"]).await;
    assert!(matches!(rig.shown("b").health, Health::Ejected { remaining_ms } if remaining_ms <= 30_000));
    assert_eq!(rig.shown("b").ejections, 1);
    assert!(rig.shown("b").effective_weight == 0);
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert_eq!(rig.rotation(), ["a", "c"]);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(rig.rotation(), ["a", "b", "c"]);
    assert_eq!(
        rig.lines(),
        [
            "pool web, server b (127.0.0.1:2): ejected for 30 s: 3 failures in a row; 2 of 3 servers left",
            "pool web, server b (127.0.0.1:2): back from ejection; 3 of 3 servers left",
        ]
    );
}

/// Counts successful requests of a server, as a worker does.
fn succeed(rig: &Rig, server: &str, times: u32) {
    let state = rig.server(server);
    for _ in 0..times {
        state.counters.of(0).requests.one();
        state.succeeded();
        state.probe_passed(state.probe_turn());
    }
    rig.shared.traffic_alarm.notify_one();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_returns_gets_a_few_requests_at_once_until_they_have_succeeded() {
    let rig = Rig::running(plan(&THREE.replace("half-open-requests = 0", "half-open-requests = 2")));
    let limit = || rig.shown("b").traffic.active.limit;
    fail(&rig, "b", 3);
    eventually("b is out", || rig.rotation() == ["a", "c"]).await;
    tokio::time::sleep(Duration::from_secs(32)).await;
    assert_eq!(rig.rotation(), ["a", "b", "c"]);
    assert_eq!((rig.shown("b").health, limit()), (Health::HalfOpen { successes: 0, of: 2 }, Some(2)));
    succeed(&rig, "b", 1);
    fail(&rig, "b", 1);
    eventually("b is out again", || rig.rotation() == ["a", "c"]).await;
    assert_eq!((rig.shown("b").ejections, limit()), (2, None));
    tokio::time::sleep(Duration::from_secs(62)).await;
    assert_eq!(rig.shown("b").health, Health::HalfOpen { successes: 0, of: 2 });
    succeed(&rig, "b", 2);
    eventually("b is fully back", || rig.shown("b").health == Health::NoCheck).await;
    assert_eq!((rig.rotation().len(), limit()), (3, None));
    // Workers use the limit in the roster.
    let slot = rig.server("b").slot;
    let permitted = || rig.pool("web").view().roster.candidate(slot).and_then(|there| there.connections_max);
    eventually("workers know", || permitted().is_none()).await;
    let half = "pool web, server b (127.0.0.1:2): half open after its ejection: gets 2 requests at once; 3 of 3 servers left";
    assert_eq!(
        rig.lines(),
        [
            "pool web, server b (127.0.0.1:2): ejected for 30 s: 3 failures in a row; 2 of 3 servers left",
            half,
            "pool web, server b (127.0.0.1:2): ejected for 60 s: it failed a request while it was half open; 2 of 3 servers left",
            half,
            "pool web, server b (127.0.0.1:2): back from ejection; 3 of 3 servers left",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_permitted_share_is_out_at_once() {
    let rig = Rig::running(plan(THREE));
    for server in ["a", "b", "c"] {
        fail(&rig, server, 3);
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(rig.rotation(), ["b", "c"], "half of three is one");
}

#[tokio::test(start_paused = true)]
async fn a_pool_without_the_rule_ejects_nobody() {
    let rig = Rig::running(plan(&THREE.replace("eject = {", "eject = false # {")));
    fail(&rig, "a", 100);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(rig.rotation(), ["a", "b", "c"]);
}
