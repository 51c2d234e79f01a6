//! Cost of choosing a server. It measures:
//!
//! - pick, begin and end for every algorithm with 3, 100 and 10,000 servers, with and without the options
//!   that change the choice;
//! - the worst cases of each algorithm;
//! - building a roster;
//! - a worker's first pick after a change of weights, which happens within a request.
//!
//! `make bench-picks`. The servers have three different weights, and a tenth of them have requests in flight.
//! Each pick has another client and another random number. A few requests are still running at the next pick.

mod pool;
mod ways;
mod worst;

use std::collections::VecDeque;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use weir_balance::{Algorithm, Pick, PickInput, Picker, Roster};
use weir_model::Weight;

use pool::{SERVERS, candidates, spread};
use ways::ways;

/// Requests that run while picks are made.
const IN_FLIGHT: usize = 64;

fn picks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pick");
    for way in ways() {
        for servers in SERVERS {
            let mut candidates = candidates(servers);
            if way.has_equal_weights {
                candidates.iter_mut().for_each(|candidate| candidate.weight = Weight::ONE);
            }
            let loads: Vec<_> = candidates.iter().map(|candidate| Arc::clone(&candidate.load)).collect();
            let roster = Roster::new(way.scheduling, candidates, None);
            let mut picker = Picker::new(1);
            let mut under_way = VecDeque::with_capacity(IN_FLIGHT + 1);
            let mut number = 0;
            group.bench_function(BenchmarkId::new(way.name.as_str(), servers), |bencher| {
                bencher.iter(|| {
                    number += 1;
                    let random = spread(number);
                    let source = IpAddr::V4(Ipv4Addr::from_bits(random as u32));
                    let key = way.has_key.then(|| source.into());
                    let input = PickInput { key, random, now_ms: number, exclude: &[] };
                    if let Pick::Server(slot) = picker.pick(&roster, black_box(&input)) {
                        roster.begin(slot);
                        under_way.push_back(slot);
                    }
                    if under_way.len() > IN_FLIGHT
                        && let Some(slot) = under_way.pop_front()
                    {
                        roster.end(slot, &loads[slot]);
                    }
                });
            });
        }
    }
    group.finish();
}

fn rosters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("roster");
    group.sample_size(10);
    for algorithm in Algorithm::ALL {
        for servers in SERVERS {
            let candidates = candidates(servers);
            let before = Roster::new(algorithm, candidates.clone(), None);
            group.bench_function(BenchmarkId::new(algorithm.name(), servers), |bencher| {
                bencher.iter(|| Roster::new(algorithm, black_box(candidates.clone()), Some(&before)));
            });
        }
    }
    group.finish();
}

/// Measures picks that are each the first one after a change of a server's weight.
fn turns(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("turn_to");
    for algorithm in Algorithm::ALL {
        for servers in SERVERS {
            let mut candidates = candidates(servers);
            let before = Roster::new(algorithm, candidates.clone(), None);
            candidates[0].weight = Weight::new(2).unwrap_or_default();
            let after = Roster::new(algorithm, candidates, Some(&before));
            let mut picker = Picker::new(1);
            let mut number = 0;
            group.bench_function(BenchmarkId::new(algorithm.name(), servers), |bencher| {
                bencher.iter(|| {
                    number += 1;
                    let roster = if number % 2 == 0 { &before } else { &after };
                    let source = IpAddr::V4(Ipv4Addr::from_bits(spread(number % 64) as u32));
                    let input = PickInput {
                        key: Some(source.into()),
                        random: spread(number),
                        now_ms: number,
                        exclude: &[],
                    };
                    black_box(picker.pick(roster, black_box(&input)))
                });
            });
        }
    }
    group.finish();
}

/// Returns a configuration with short runs: they show how cost grows with the number of servers, not its
/// third digit.
fn brief() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(800))
}

criterion_group! {
    name = benches;
    config = brief();
    targets = picks, worst::picks, rosters, turns
}
criterion_main!(benches);
