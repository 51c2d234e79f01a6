//! Tests of the open loop.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use weir_lab::{Arrivals, FlawKind, Mode, Run};
use weir_origin::Origin;

use crate::server::SlowServer;
use crate::{kinds, load, phases, rate, run, target};

#[test]
fn every_due_request_is_sent_and_answered_once() {
    let origin = Origin::builder().start().unwrap();
    for threads in [1, 3] {
        let before = origin.requests();
        let mut load = load(origin.addr(), "/bytes/100", rate("300@500ms,100..500@500ms"));
        load.threads = threads;
        let run = run(load);
        let summary = run.summary();
        assert_eq!(origin.requests() - before, 300);
        assert_eq!((summary.requests.sent, summary.requests.succeeded), (300, 300));
        assert_eq!(summary.bytes.bodies_in, 30_000);
        assert_eq!(summary.statuses, [(200, 300)]);
        let facts = run.facts.unwrap();
        assert_eq!((facts.due, facts.unsent), (300, 0));
    }
}

#[test]
fn poisson_arrivals_are_as_many_for_the_same_seed_with_any_number_of_threads() {
    let origin = Origin::builder().start().unwrap();
    let sent = |seed, threads| {
        let mode = Mode::Open { phases: phases("200"), arrivals: Arrivals::Poisson { seed } };
        let mut load = load(origin.addr(), "/bytes/1", mode);
        load.threads = threads;
        run(load).summary().requests.sent
    };
    assert_eq!(sent(7, 1), sent(7, 2));
}

/// Returns a run that kept its schedule, with its server. On a machine that is too busy, returns `None` after
/// three tries. In that case the generator has correctly declared each run invalid.
fn kept(server: impl Fn() -> SlowServer, mode: &str) -> Option<(SlowServer, Run)> {
    (0..3).find_map(|_| {
        let server = server();
        let run = run(load(server.address, "/", rate(mode)));
        let was_hindered = |kind: &FlawKind| matches!(kind, FlawKind::Late | FlawKind::Cpu);
        (!kinds(&run).iter().any(was_hindered)).then_some((server, run))
    })
}

#[test]
fn percentiles_are_those_of_the_servers_delays_within_one_percent() {
    // 400 delays between 50 and 850 ms, in mixed order.
    let delay = |number: u64| Duration::from_millis(50 + (number * 149 % 400) * 2);
    let server = || SlowServer::start(move |number, came| came + delay(number));
    let Some((server, run)) = kept(server, "200@2s") else {
        return weir_testkit::untested("the machine is too busy to keep the schedule");
    };
    let took = server.took();
    assert_eq!(took.len(), 400);
    let latency = run.summary().latency_ms;
    for (share, seen_ms) in [(0.5, latency.p50), (0.9, latency.p90), (0.95, latency.p95), (0.99, latency.p99)]
    {
        // The real time of the server, because a busy machine sleeps longer than requested.
        let true_ms = took[(share * 400.0) as usize - 1].as_secs_f64() * 1e3;
        assert!((seen_ms / true_ms - 1.0).abs() < 0.01, "{share}: {seen_ms} instead of {true_ms} ms");
    }
}

/// Starts a server that stalls for a second, from 300 ms after the first request.
fn stalling() -> SlowServer {
    let first = OnceLock::new();
    SlowServer::start(move |_, came| {
        let first: Instant = *first.get_or_init(|| came);
        let (from, to) = (first + Duration::from_millis(300), first + Duration::from_millis(1_300));
        if came >= from { to.max(came) } else { came }
    })
}

#[test]
fn a_stall_of_a_second_is_seen_by_all_who_came_in_it() {
    let Some((_, run)) = kept(stalling, "100@2s") else {
        return weir_testkit::untested("the machine is too busy to keep the schedule");
    };
    let latency = run.summary().latency_ms;
    // 100 of 200 requests came during the stall. Half of them waited longer than half a second.
    assert!((latency.max - 1_000.0).abs() < 100.0, "{latency:?}");
    assert!(latency.p90 > 700.0 && latency.p90 < 900.0, "{latency:?}");
    let moments = run.summary().moments;
    let stalled = moments.iter().filter(|moment| moment.max_us.is_some_and(|us| us > 100_000)).count();
    assert!((8..=12).contains(&stalled), "{stalled} of {} tenths of a second", moments.len());
}

#[test]
fn what_waited_for_the_only_connection_waited_nonetheless() {
    let mut load = load(stalling().address, "/", rate("100@2s"));
    load.connections_max = 1;
    let run = run(load);
    let summary = run.summary();
    assert_eq!(summary.requests.answered, 200);
    // Measured from the start, only one request was slow. A closed-loop generator sees no more than that.
    assert!(summary.raw_latency_ms.p99 < 500.0, "{:?}", summary.raw_latency_ms);
    assert!(summary.latency_ms.p90 > 600.0, "{:?}", summary.latency_ms);
    // The run also reports that it did not keep the schedule.
    assert!(kinds(&run).contains(&FlawKind::Late), "{:?}", run.flaws());
}

#[test]
fn a_log_is_replayed_when_and_as_it_says() {
    let origin = Origin::builder().start().unwrap();
    let mode = Mode::Replay { log: "a log".to_owned(), speed: 1.0 };
    let mut load = load(origin.addr(), "/", mode);
    let url = |path: &str| format!("http://{}{path}", origin.addr());
    load.targets = vec![target("GET", url("/bytes/1")), target("GET", url("/bytes/1000"))];
    load.log = vec![(0, 1), (1_000_000, 0), (50_000_000, 1)];
    let summary = run(load).summary();
    assert_eq!(summary.bytes.bodies_in, 2_001);
    assert_eq!(summary.targets.iter().map(|part| part.sent).collect::<Vec<_>>(), [1, 2]);
}
