//! Makes a snapshot that has some of everything, for the tests of `ctl` and `top`.

use weir_control::{
    AdminState, CheckCode, CheckSnapshot, Health, Latency, Level, ListenerSnapshot, Origin, PerSecond,
    PoolSnapshot, ProcessSnapshot, Responses, ServerSnapshot, Snapshot, Traffic, TransferSnapshot,
    TransfersSnapshot,
};

pub(crate) fn snapshot() -> Snapshot {
    let process = ProcessSnapshot {
        version: "0.1.0".to_owned(),
        host: "lb1".to_owned(),
        pid: 4_242,
        uptime_ms: 93_784_000,
        workers: 4,
        connections: Level { current: 1_312, max: 4_002, limit: Some(50_000) },
        requests_total: 12_345_678,
        request_rate: PerSecond { current: 5_120, max: 18_400 },
        config_age_ms: 3_600_000,
        memory_bytes: Some(48 << 20),
        ..ProcessSnapshot::default()
    };
    Snapshot {
        time_unix_ms: 1_795_250_901_838,
        process,
        listeners: vec![listener()],
        pools: vec![web(), mail()],
        fleets: Vec::new(),
        storage: Vec::new(),
        transfers: TransfersSnapshot { live: vec![transfer()], totals: Vec::new() },
    }
}

fn transfer() -> TransferSnapshot {
    TransferSnapshot {
        id: 7,
        area: "data".to_owned(),
        direction: "pull".to_owned(),
        peer: "dav.example.org:443".to_owned(),
        path: "/data/run42".to_owned(),
        state: "moving".to_owned(),
        bytes: 3 << 30,
        size: Some(10 << 30),
        bytes_per_second: 250 << 20,
        age_ms: 12_000,
        sci_tag: None,
    }
}

fn listener() -> ListenerSnapshot {
    ListenerSnapshot {
        name: "http".to_owned(),
        bind: vec!["0.0.0.0:80".to_owned(), "[::]:80".to_owned()],
        connections: Level { current: 1_300, max: 4_000, limit: Some(40_000) },
        requests_total: 12_000_000,
        request_rate: PerSecond { current: 5_100, max: 18_000 },
        responses: Responses::from([0, 11_500_000, 300_000, 198_000, 1_988, 0]),
        request_errors: 230,
        request_bytes: 9 << 30,
        response_bytes: 900 << 30,
        duration: latency(&[(800, 900), (41_000, 100)]),
        ..ListenerSnapshot::default()
    }
}

fn web() -> PoolSnapshot {
    let failing = ServerSnapshot {
        check: Some(check(CheckCode::L7Unexpected, Some(503), "expected 200 to 399")),
        ..server("w2", Health::GoingDown { failures: 2, fall: 3 }, 950)
    };
    let down = ServerSnapshot {
        check: Some(check(CheckCode::L4Refused, None, "Connection refused")),
        ..server("w3", Health::Down, 0)
    };
    let drained = ServerSnapshot {
        admin: AdminState::Drain,
        weight: 5,
        overridden: vec!["weight".to_owned(), "state".to_owned()],
        ..server("w4", Health::Up, 3)
    };
    let added = ServerSnapshot {
        origin: Origin::Runtime,
        backup: true,
        check: None,
        ..server("w9", Health::NoCheck, 0)
    };
    PoolSnapshot {
        name: "web".to_owned(),
        algorithm: "least-connections".to_owned(),
        traffic: traffic(1_353),
        queue: Level { current: 2, max: 57, limit: None },
        nobody_left: 5,
        servers: vec![server("w1", Health::Up, 400), failing, down, drained, added],
        ..PoolSnapshot::default()
    }
}

fn mail() -> PoolSnapshot {
    let servers = vec![server("m1", Health::Ejected { remaining_ms: 12_300 }, 0)];
    PoolSnapshot {
        name: "mail".to_owned(),
        algorithm: "source".to_owned(),
        servers,
        ..PoolSnapshot::default()
    }
}

fn server(name: &str, health: Health, active: u64) -> ServerSnapshot {
    ServerSnapshot {
        name: name.to_owned(),
        address: format!("10.0.0.1{}:8080", &name[1..]),
        weight: 1,
        effective_weight: 1,
        health,
        check: Some(check(CheckCode::L7Ok, Some(200), "")),
        changed_ms_ago: 3_723_000,
        traffic: traffic(active),
        ..ServerSnapshot::default()
    }
}

fn check(code: CheckCode, status: Option<u16>, text: &str) -> CheckSnapshot {
    CheckSnapshot { code, status, text: text.to_owned(), duration_us: 1_870, ms_ago: 800 }
}

fn traffic(active: u64) -> Traffic {
    Traffic {
        active: Level { current: active, max: active * 2, limit: Some(1_000) },
        requests_total: active * 10_000,
        request_rate: PerSecond { current: active * 4, max: active * 9 },
        connect_errors: active / 50,
        retries: active / 40,
        responses: Responses::from([0, active * 9_000, 0, 0, active / 7, 0]),
        total: latency(&[(800, active * 9_000), (44_000, active * 500)]),
        ..Traffic::default()
    }
}

fn latency(values: &[(u64, u64)]) -> Latency {
    let mut latency = Latency::default();
    values.iter().for_each(|(us, times)| latency.record(*us, *times));
    latency
}
