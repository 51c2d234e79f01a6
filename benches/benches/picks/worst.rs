//! Picks in the worst cases of each algorithm:
//!
//! - the largest number of different weights;
//! - new keys;
//! - loads at their bound;
//! - all servers, or all but one, are full;
//! - another worker picks at the same time.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use weir_balance::{Algorithm, HashOptions, Pick, PickInput, Picker, Portion, Roster, Scheduling};
use weir_model::Weight;

use crate::pool::{SERVERS, candidates, spread};

pub(crate) fn picks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("worst");
    for servers in SERVERS {
        weights(&mut group, servers);
        cold_keys(&mut group, servers);
        at_the_bound(&mut group, servers);
        full(&mut group, servers);
        contended(&mut group, servers);
    }
    group.finish();
}

fn input(number: u64) -> PickInput<'static> {
    let random = spread(number);
    let source = IpAddr::V4(Ipv4Addr::from_bits(random as u32));
    PickInput { key: Some(source.into()), random, now_ms: number, exclude: &[] }
}

/// Measures picks that follow each other; none of them begins a request.
fn pick_on(group: &mut BenchmarkGroup<'_, WallTime>, id: BenchmarkId, roster: &Roster) {
    let (mut picker, mut number) = (Picker::new(1), 0);
    group.bench_function(id, |bencher| {
        bencher.iter(|| {
            number += 1;
            black_box(picker.pick(roster, black_box(&input(number))))
        });
    });
}

/// Measures picks with all 256 weights, and with more fractions of weights than that.
fn weights(group: &mut BenchmarkGroup<'_, WallTime>, servers: usize) {
    for algorithm in [Algorithm::RoundRobin, Algorithm::IpvsWrr, Algorithm::LeastRequest] {
        let mut pool = candidates(servers);
        for candidate in &mut pool {
            candidate.weight = Weight::new(1 + candidate.slot as u32 % 256).unwrap_or_default();
        }
        let roster = Roster::new(algorithm, pool.clone(), None);
        pick_on(group, BenchmarkId::new(format!("{algorithm}/256 weights"), servers), &roster);
        if algorithm.weighs_portions() {
            for candidate in &mut pool {
                candidate.portion = Portion::thousandths(1 + candidate.slot as u32 % 9_999);
            }
            let roster = Roster::new(algorithm, pool, None);
            pick_on(group, BenchmarkId::new(format!("{algorithm}/parts of weights"), servers), &roster);
        }
    }
}

/// Measures picks whose keys are each the first in their buckets.
fn cold_keys(group: &mut BenchmarkGroup<'_, WallTime>, servers: usize) {
    const PICKS: u64 = 1_000;
    group.bench_function(BenchmarkId::new("rendezvous/new keys", servers), |bencher| {
        bencher.iter_custom(|iterations| {
            let mut passed = Duration::ZERO;
            for _ in 0..iterations.div_ceil(PICKS) {
                let roster = Roster::new(Algorithm::Rendezvous, candidates(servers), None);
                let mut picker = Picker::new(1);
                picker.pick(&roster, &input(u64::MAX));
                let start = Instant::now();
                for number in 0..PICKS {
                    black_box(picker.pick(&roster, &input(number)));
                }
                passed += start.elapsed();
            }
            passed.mul_f64(iterations as f64 / (iterations.div_ceil(PICKS) * PICKS) as f64)
        });
    });
}

/// Measures picks with a single key, whose nearest servers have the load that a tight bound permits.
fn at_the_bound(group: &mut BenchmarkGroup<'_, WallTime>, servers: usize) {
    for algorithm in [Algorithm::Ring, Algorithm::Random] {
        let hash = HashOptions { bounded_load_percent: Some(101), ..HashOptions::of(algorithm) };
        let roster = Roster::new(Scheduling { hash, ..algorithm.into() }, candidates(servers), None);
        let mut picker = Picker::new(1);
        let one_key = |number: u64| PickInput { key: input(7).key, ..input(number) };
        for number in 0..servers as u64 * 10 {
            if let Pick::Server(slot) = picker.pick(&roster, &one_key(number)) {
                roster.begin(slot);
            }
        }
        let mut number = 0;
        group.bench_function(BenchmarkId::new(format!("{algorithm}/at its bound"), servers), |bencher| {
            bencher.iter(|| {
                number += 1;
                black_box(picker.pick(&roster, black_box(&one_key(number))))
            });
        });
    }
}

/// Measures picks when all servers, or all but one, are full.
fn full(group: &mut BenchmarkGroup<'_, WallTime>, servers: usize) {
    for algorithm in Algorithm::ALL {
        for (what, room) in [("all full", 0), ("one has room", 1)] {
            let mut pool = candidates(servers);
            pool.iter_mut().for_each(|candidate| candidate.connections_max = Some(0));
            pool[servers / 2].connections_max = Some(room);
            let roster = Roster::new(algorithm, pool, None);
            pick_on(group, BenchmarkId::new(format!("{algorithm}/{what}"), servers), &roster);
        }
    }
}

/// Measures pick, begin and end while another thread does the same with the same roster.
fn contended(group: &mut BenchmarkGroup<'_, WallTime>, servers: usize) {
    for algorithm in
        [Algorithm::LeastConnections, Algorithm::LeastResponseTime, Algorithm::Lblc, Algorithm::Ring]
    {
        let candidates = candidates(servers);
        let loads: Vec<_> = candidates.iter().map(|candidate| Arc::clone(&candidate.load)).collect();
        let roster = Roster::new(algorithm, candidates, None);
        let work = |picker: &mut Picker, number: u64| {
            if let Pick::Server(slot) = picker.pick(&roster, black_box(&input(number))) {
                roster.begin(slot);
                roster.end(slot, &loads[slot]);
            }
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut picker, mut number) = (Picker::new(2), 1 << 40);
                while !is_over.load(Ordering::Relaxed) {
                    number += 1;
                    work(&mut picker, number);
                }
            });
            let (mut picker, mut number) = (Picker::new(1), 0);
            group.bench_function(BenchmarkId::new(format!("{algorithm}/two workers"), servers), |bencher| {
                bencher.iter(|| {
                    number += 1;
                    work(&mut picker, number);
                });
            });
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
