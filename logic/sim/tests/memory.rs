//! Tests that a run needs memory for its servers and the requests in flight, not for all requests. A separate
//! program, because it counts the memory of all threads.

#![allow(clippy::unwrap_used)]

use std::io::{BufReader, Read};

use weir_balance::{Algorithm, Hundredths, SlowStart};
use weir_config::simulation::{
    Arrivals, BalancerPlan, CachePlan, Disturbance, Failure, Group, LogFormat, LoggedTimes, Pattern,
    Population, Replay, Scenario, SimKey, SimTime, StickySessions, Volume,
};
use weir_model::Millis;
use weir_sim::run;

/// Creates a scenario with a thousand servers.
fn scenario() -> Scenario {
    Scenario {
        warm_up: 1_000,
        groups: vec![Group { count: 1_000, ..Group::default() }],
        arrivals: Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(0.6) },
        // The simulator tracks clients; each of them has arrived long before the end.
        clients: Population { count: 10_000, zipf: 0.0 },
        ..Scenario::default()
    }
}

/// Returns the most bytes in use at the same time during a run of `requests` requests.
fn peak_bytes(scenario: &Scenario, algorithm: Algorithm, requests: u64) -> u64 {
    let scenario = Scenario { requests: Some(requests), ..scenario.clone() };
    let replayed = matches!(scenario.arrivals, Arrivals::Replay(_));
    let mut measured = 0;
    let counted = allocation_counter::measure(|| {
        let mut log = BufReader::new(Log { lines: requests, next: 0, left: Vec::new() });
        let log = if replayed { Some(&mut log as &mut dyn std::io::BufRead) } else { None };
        measured = run(&scenario, algorithm, 1, log, &mut |_| {}).unwrap().measured;
    });
    assert_eq!(measured, requests - 1_000);
    counted.bytes_max
}

fn assert_flat(scenario: &Scenario, algorithm: Algorithm, requests: u64) {
    let [some, twice] = [requests, 2 * requests].map(|requests| peak_bytes(scenario, algorithm, requests));
    // The number of requests in flight differs a little.
    assert!(twice as f64 <= some as f64 * 1.05, "{algorithm}: {some} bytes, then {twice}");
    assert!(some < 32 << 20, "{algorithm}: {some}");
}

#[test]
fn twice_as_many_requests_need_no_more_memory() {
    for algorithm in [
        Algorithm::RoundRobin,
        Algorithm::LeastConnections,
        Algorithm::PeakEwma,
        Algorithm::LeastRequest,
        Algorithm::Ring,
    ] {
        assert_flat(&scenario(), algorithm, 200_000);
    }
}

#[test]
fn tables_of_keys_and_caches_have_their_size_and_do_not_grow_with_requests() {
    let cached = Scenario {
        groups: vec![Group {
            count: 1_000,
            cache: Some(CachePlan { uris: 50, speed_up: 5.0 }),
            ..Group::default()
        }],
        uris: Population { count: 1_000, zipf: 0.0 },
        balancer: BalancerPlan { key: SimKey::Uri, ..BalancerPlan::default() },
        ..scenario()
    };
    for algorithm in [Algorithm::Rendezvous, Algorithm::Maglev, Algorithm::Lblc, Algorithm::Lblcr] {
        assert_flat(&cached, algorithm, 100_000);
    }
}

#[test]
fn sessions_lines_and_rising_weights_need_no_more_memory_either() {
    let second = |seconds: u64| SimTime(seconds * 1_000_000_000);
    let fails = Disturbance::Fail(Failure { at: second(1), lasts: second(1), servers: 100 });
    let slow_start = SlowStart { window: Millis::from_secs(1), aggression: Hundredths(100), min_percent: 10 };
    let pool = Scenario {
        groups: vec![Group {
            count: 1_000,
            connections_max: Some(1),
            disturbances: vec![fails],
            ..Group::default()
        }],
        // Each client is bound to a server long before the end.
        clients: Population { count: 5_000, zipf: 0.0 },
        balancer: BalancerPlan {
            sticky: Some(StickySessions { size: 2_000, ..StickySessions::default() }),
            is_fair: true,
            slow_start: Some(slow_start),
            down_after: second(0),
            up_after: second(0),
            ..BalancerPlan::default()
        },
        ..scenario()
    };
    for algorithm in [Algorithm::RoundRobin, Algorithm::LeastConnections] {
        assert_flat(&pool, algorithm, 300_000);
    }
}

#[test]
fn a_log_is_read_as_it_is_played_and_not_kept() {
    let replay =
        Replay { file: "log".into(), format: LogFormat::Csv, speed: 1.0, times: LoggedTimes::Logged };
    let replayed = Scenario { arrivals: Arrivals::Replay(replay), ..scenario() };
    for algorithm in [Algorithm::RoundRobin, Algorithm::Lblc] {
        assert_flat(&replayed, algorithm, 100_000);
    }
}

/// A log of `lines` requests, one millisecond apart, generated when it is read.
struct Log {
    lines: u64,
    next: u64,
    left: Vec<u8>,
}

impl Read for Log {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left.is_empty() && self.next <= self.lines {
            self.left = match self.next {
                0 => b"arrival_s,service_ms,client,uri\n".to_vec(),
                line => {
                    let (second, ms, client) = (line / 1_000, line % 1_000, line % 200);
                    format!("{second}.{ms:03},5,10.0.0.{client},/{}\n", line % 500).into_bytes()
                }
            };
            self.next += 1;
        }
        let bytes = self.left.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.left[..bytes]);
        self.left.drain(..bytes);
        Ok(bytes)
    }
}
