//! A run needs memory for its servers and for what is in flight, not for the requests that come. In a program of its own: it counts
//! what every thread asks for.

#![allow(clippy::unwrap_used)]

use weir_balance::Algorithm;
use weir_config::simulation::{Arrivals, Group, Pattern, Population, Scenario, Volume};
use weir_sim::run;

/// The most bytes that were in use at the same time while so many requests came to a thousand servers.
fn peak_bytes(algorithm: Algorithm, requests: u64) -> u64 {
    let scenario = Scenario {
        requests: Some(requests),
        warm_up: 1_000,
        groups: vec![Group { count: 1_000, ..Group::default() }],
        arrivals: Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(0.6) },
        // They are told apart: each has been seen long before the end.
        clients: Population { count: 10_000, zipf: 0.0 },
        ..Scenario::default()
    };
    let mut measured = 0;
    let counted = allocation_counter::measure(|| {
        measured = run(&scenario, algorithm, 1, None, &mut |_| {}).unwrap().measured;
    });
    assert_eq!(measured, requests - 1_000);
    counted.bytes_max
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
        let (some, twice) = (peak_bytes(algorithm, 200_000), peak_bytes(algorithm, 400_000));
        // What is in flight differs a little.
        assert!(twice as f64 <= some as f64 * 1.05, "{algorithm}: {some} bytes, then {twice}");
        assert!(some < 16 << 20, "{algorithm}: {some}");
    }
}
