//! A snapshot with an example of everything, and a handler that returns it.

#![allow(dead_code, unreachable_pub)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use weir_admin::{Handler, Replying};
use weir_control::{
    AdminState, CheckCode, CheckSnapshot, Command, ExpressionFailures, FleetDone, FleetSnapshot, Health,
    Latency, Level, ListenerSnapshot, Origin, PerSecond, PoolSnapshot, ProcessSnapshot, Protocol,
    RefusalCount, Reply, Responses, ServerSnapshot, Snapshot, TlsCounts, Traffic, TransferSnapshot,
    TransferTotals, TransfersSnapshot,
};

/// A handler that stores the commands and reports success.
#[derive(Debug, Default)]
pub struct Fake {
    pub commands: Mutex<Vec<Command>>,
    pub stopping: AtomicBool,
    /// Number of further servers of the first pool.
    pub crowd: AtomicUsize,
}

impl Handler for Fake {
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = snapshot();
        snapshot.process.stopping = self.stopping.load(Ordering::Relaxed);
        let crowd = (0..self.crowd.load(Ordering::Relaxed))
            .map(|index| server(&format!("crowd-{index}"), "10.0.0.1:80", Health::Up, 1));
        snapshot.pools[0].servers.extend(crowd);
        snapshot
    }

    fn handle(&self, command: Command) -> Replying<'_> {
        Box::pin(async move {
            // Replies may take a while: commands that arrive meanwhile must not be lost.
            tokio::task::yield_now().await;
            self.commands.lock().unwrap().push(command);
            Reply::done()
        })
    }
}

pub fn snapshot() -> Snapshot {
    Snapshot {
        time_unix_ms: 1_795_250_901_838,
        process: process(),
        listeners: listeners(),
        pools: vec![web(), mail()],
        fleets: vec![fleet()],
        storage: Vec::new(),
        transfers: transfers(),
    }
}

fn fleet() -> FleetSnapshot {
    FleetSnapshot {
        name: "front".to_owned(),
        pool: "web".to_owned(),
        leads: true,
        min: 2,
        max: 13,
        wanted: 4,
        demand: Some(3.25),
        active: 3,
        coming: 1,
        start_up_ms: 4_200,
        looks: 1_000,
        done: FleetDone { created: 5, drained: 2, cut: 1, ..FleetDone::default() },
        ..FleetSnapshot::default()
    }
}

fn transfers() -> TransfersSnapshot {
    let live = TransferSnapshot {
        id: 7,
        area: "data".to_owned(),
        direction: "pull".to_owned(),
        peer: "dav.example.org:443".to_owned(),
        path: "/data/run42".to_owned(),
        state: "moving".to_owned(),
        bytes: 1_000_000,
        size: Some(5_000_000),
        bytes_per_second: 250_000,
        age_ms: 4_000,
        sci_tag: Some(66),
    };
    let totals = TransferTotals {
        area: "data".to_owned(),
        direction: "pull".to_owned(),
        succeeded: 3,
        failed: 1,
        cancelled: 0,
        bytes: 123_456_789,
    };
    TransfersSnapshot { live: vec![live], totals: vec![totals] }
}

fn process() -> ProcessSnapshot {
    ProcessSnapshot {
        version: "0.1.0".to_owned(),
        host: "lb1".to_owned(),
        pid: 4_242,
        uptime_ms: 93_784_000,
        workers: 4,
        connections: Level { current: 1_312, max: 4_002, limit: Some(50_000) },
        connections_total: 912_345,
        connection_rate: PerSecond { current: 310, max: 2_100 },
        requests_total: 12_345_678,
        request_rate: PerSecond { current: 5_120, max: 18_400 },
        stopping: false,
        reloads: 3,
        reloads_failed: 1,
        reload_error: None,
        config_age_ms: 3_600_000,
        runtime_changes: 2,
        log_lines_dropped: 0,
        idle_connections_closed: 0,
        memory_bytes: Some(48 << 20),
        memory_limit_bytes: Some(1 << 30),
        memory_is_short: false,
        memory_shortages: 2,
        descriptors: Some(Level { current: 2_700, max: 8_100, limit: Some(100_000) }),
    }
}

fn listeners() -> Vec<ListenerSnapshot> {
    let https = ListenerSnapshot {
        name: "https".to_owned(),
        bind: vec!["0.0.0.0:443".to_owned(), "[::]:443".to_owned()],
        tls: true,
        connections: Level { current: 1_300, max: 4_000, limit: Some(40_000) },
        connections_total: 900_000,
        connection_rate: PerSecond { current: 300, max: 2_000 },
        connections_denied: 17,
        requests_total: 12_000_000,
        request_rate: PerSecond { current: 5_100, max: 18_000 },
        requests_denied: 4,
        expression_failures: ExpressionFailures { denied: 3, passed_over: 2 },
        request_errors: 230,
        refused: vec![RefusalCount { rule: "no-host".to_owned(), requests: 230 }],
        answered: Responses::from([0, 200, 900, 30, 400, 0]),
        intercepted: 1_120,
        client_aborts: 3_400,
        request_bytes: 9_876_543_210,
        response_bytes: 987_654_321_000,
        responses: Responses::from([12, 11_500_000, 300_000, 198_000, 1_988, 0]),
        tls_handshakes: TlsCounts { completed: 890_000, resumed: 610_000, failed: 900 },
        duration: latency(&[(800, 5_000_000), (2_300, 6_000_000), (41_000, 900_000), (870_000, 100_000)]),
        ..ListenerSnapshot::default()
    };
    let smtp = ListenerSnapshot {
        name: "smtp".to_owned(),
        bind: vec!["0.0.0.0:25".to_owned()],
        protocol: Protocol::Tcp,
        connections: Level { current: 12, max: 40, limit: None },
        connections_total: 12_345,
        requests_total: 12_345,
        ..ListenerSnapshot::default()
    };
    vec![https, smtp]
}

fn web() -> PoolSnapshot {
    let up = server("w1", "10.0.0.11:8080", Health::Up, 400);
    let going_down = ServerSnapshot {
        check: Some(check(CheckCode::L7Unexpected, Some(503), "expected 200 to 399")),
        check_failures: 2,
        ..server("w2", "10.0.0.12:8080", Health::GoingDown { failures: 2, fall: 3 }, 380)
    };
    let down = ServerSnapshot {
        effective_weight: 0,
        check: Some(check(CheckCode::L4Refused, None, "Connection refused, \"again\"")),
        check_failures: 40,
        times_down: 3,
        downtime_ms: 754_000,
        ..server("w3", "web-3.example:8080", Health::Down, 0)
    };
    let drained = ServerSnapshot {
        admin: AdminState::Drain,
        weight: 5,
        effective_weight: 0,
        overridden: vec!["state".to_owned(), "weight".to_owned()],
        ..server("w4", "10.0.0.14:8080", Health::Up, 3)
    };
    let ejected = ServerSnapshot {
        effective_weight: 0,
        ejections: 2,
        ..server("w5", "10.0.0.15:8080", Health::Ejected { remaining_ms: 12_300 }, 0)
    };
    let added = ServerSnapshot {
        origin: Origin::Runtime,
        check: None,
        ..server("w6", "unix:/run/w6.sock", Health::NoCheck, 120)
    };
    let spare = ServerSnapshot {
        backup: true,
        admin: AdminState::Maintenance,
        effective_weight: 0,
        ..server("spare", "10.0.0.19:8080", Health::Up, 0)
    };
    let servers = vec![up, going_down, down, drained, ejected, added, spare];
    PoolSnapshot {
        name: "web".to_owned(),
        algorithm: "least-connections".to_owned(),
        traffic: Traffic { retries: 33, redispatches: 30, ..traffic(903) },
        queue: Level { current: 2, max: 57, limit: None },
        queued_total: 1_204,
        queue_time: latency(&[(12_000, 1_204)]),
        nobody_left: 5,
        busy: 9,
        retries_denied: 1,
        changed_ms_ago: 93_784_000,
        servers,
        ..PoolSnapshot::default()
    }
}

fn mail() -> PoolSnapshot {
    let down = ServerSnapshot {
        check: Some(check(CheckCode::L4Timeout, None, "")),
        times_down: 1,
        ..server("m1", "10.0.1.1:25", Health::GoingUp { successes: 1, rise: 2 }, 0)
    };
    PoolSnapshot {
        name: "mail".to_owned(),
        algorithm: "source".to_owned(),
        protocol: Protocol::Tcp,
        times_down: 2,
        downtime_ms: 61_000,
        changed_ms_ago: 5_000,
        servers: vec![down],
        ..PoolSnapshot::default()
    }
}

fn server(name: &str, address: &str, health: Health, active: u64) -> ServerSnapshot {
    ServerSnapshot {
        name: name.to_owned(),
        address: address.to_owned(),
        weight: 1,
        effective_weight: 1,
        health,
        check: Some(check(CheckCode::L7Ok, Some(200), "")),
        changed_ms_ago: 3_723_000,
        traffic: traffic(active),
        connections_idle: active / 10,
        connections_used: active,
        ..ServerSnapshot::default()
    }
}

fn check(code: CheckCode, status: Option<u16>, text: &str) -> CheckSnapshot {
    CheckSnapshot { code, status, text: text.to_owned(), duration_us: 1_870, ms_ago: 800 }
}

fn traffic(active: u64) -> Traffic {
    let requests = active * 10_000;
    Traffic {
        active: Level { current: active, max: active * 2, limit: Some(1_000) },
        requests_total: requests,
        tries_total: requests,
        request_rate: PerSecond { current: active * 4, max: active * 9 },
        request_bytes: requests * 700,
        response_bytes: requests * 40_000,
        connections_total: requests / 50,
        reuses: requests - requests / 50,
        connect_errors: active / 50,
        response_errors: active / 90,
        client_aborts: active,
        server_aborts: active / 100,
        retries: active / 40,
        connect_retries: active / 100,
        redispatches: active / 45,
        responses: Responses::from([0, requests * 96 / 100, requests / 50, requests / 60, active / 7, 0]),
        connect: latency(&[(210, requests / 50)]),
        first_byte: latency(&[(700, requests / 2), (2_100, requests / 3)]),
        total: latency(&[(800, requests / 2), (2_300, requests / 3), (44_000, requests / 60)]),
        idle_ms: (active > 0).then_some(40),
    }
}

fn latency(values: &[(u64, u64)]) -> Latency {
    let mut latency = Latency::default();
    values.iter().for_each(|(us, times)| latency.record(*us, *times));
    latency
}
