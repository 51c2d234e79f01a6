//! Tests of pools with too many servers to read all of them each second.

use std::time::Duration;

use tokio::time::Instant;
use weir_control::{PerSecond, RuntimeState};

use super::rig::{Rig, eventually, plan};

const MANY: usize = 6_000;

/// Creates a pool of [`MANY`] servers, at ports from 1 on.
fn many(keys: &str) -> Rig {
    let servers: Vec<_> = (1..=MANY).map(|port| format!("\"127.0.0.1:{port}\"")).collect();
    let pool = format!("[pool.web]\nservers = [{}]\n{keys}", servers.join(", "));
    Rig::still(plan(&pool), RuntimeState::default())
}

#[tokio::test(start_paused = true)]
async fn each_server_has_its_true_rate_though_not_all_are_read_each_second() {
    let rig = many("");
    let view = rig.pool("web").view();
    for second in 1..=9 {
        tokio::time::advance(Duration::from_secs(1)).await;
        // Each server's rate differs from its neighbours' and is constant.
        for (server, rate) in view.servers.iter().flatten().zip((1..=7).cycle()) {
            server.counters.of(0).requests.add(rate);
        }
        rig.controller.read_totals(Instant::now());
        if second < 3 {
            continue;
        }
        let snapshot = rig.snapshot();
        for (server, rate) in snapshot.pools[0].servers.iter().zip((1..=7).cycle()) {
            let traffic = &server.traffic;
            assert_eq!(traffic.request_rate, PerSecond { current: rate, max: rate }, "{}", server.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_ejected_returns_in_time() {
    let rig = many("eject = { failures = 3, time = \"30s\", max-share = \"50%\", half-open-requests = 0 }");
    rig.controller.spawn_tasks();
    let failing = rig.server("127.0.0.1:5999");
    for _ in 0..3 {
        failing.counters.of(0).requests.one();
        failing.counters.of(0).failures.one();
        failing.failed();
    }
    // No worker raises the alarm, so the periodic round detects the failures.
    eventually("it is out", || rig.rotation().len() == MANY - 1).await;
    tokio::time::sleep(Duration::from_secs(28)).await;
    assert_eq!(rig.rotation().len(), MANY - 1);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(rig.rotation().len(), MANY);
}

#[tokio::test(start_paused = true)]
async fn while_a_server_fails_the_share_of_all_is_looked_at_each_second() {
    let rig = many(
        "eject = { failures = 0, errors = \"50%\", min-requests = 50, window = \"10s\", time = \"30s\" }",
    );
    let failing = rig.server("127.0.0.1:5999");
    // Thirty seconds are enough to read every server.
    let second = async |failures| {
        tokio::time::advance(Duration::from_secs(1)).await;
        failing.counters.of(0).requests.add(10);
        failing.counters.of(0).failures.add(failures);
        rig.pool("web").counters.of(0).server_failures.add(failures);
        rig.controller.read_totals(Instant::now());
    };
    for _ in 0..30 {
        second(0).await;
    }
    // The sixth failing second brings the share of the last ten seconds above one half.
    for _ in 0..4 {
        second(10).await;
        assert_eq!(rig.rotation().len(), MANY);
    }
    for _ in 0..2 {
        second(10).await;
    }
    assert_eq!(rig.rotation().len(), MANY - 1);
}
