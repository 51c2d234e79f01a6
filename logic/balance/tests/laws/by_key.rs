//! Tests of algorithms that compare keys: each pick is the server that the original algorithm's loop finds.

use proptest::prelude::*;
use weir_balance::{Algorithm, Candidate, Pick, PickInput, Picker};

use crate::pool::{Pool, pick, slots};

fn active(candidate: &Candidate) -> u64 {
    u64::from(candidate.load.active())
}

fn weight(candidate: &Candidate) -> u64 {
    u64::from(candidate.weight.get())
}

/// Returns ip_vs_conn_overhead without inactive connections.
fn overhead(candidate: &Candidate) -> u64 {
    active(candidate) << 8
}

/// Runs the loop that all IPVS schedulers of this family share: the first server, until one is better.
fn first_best<'a>(
    servers: impl Iterator<Item = &'a Candidate>,
    is_better: impl Fn(&Candidate, &Candidate) -> bool,
) -> Option<usize> {
    let servers = servers.filter(|server| weight(server) > 0);
    servers.reduce(|best, server| if is_better(server, best) { server } else { best }).map(|best| best.slot)
}

/// Compares load / weight crosswise, as the kernel does.
fn is_less(load: impl Fn(&Candidate) -> u64) -> impl Fn(&Candidate, &Candidate) -> bool {
    move |new, best| load(best) * weight(new) > load(new) * weight(best)
}

/// Returns the choice of the original algorithm, written as its source is.
fn by_origin(algorithm: Algorithm, servers: &[Candidate]) -> Option<usize> {
    let all = || servers.iter();
    let sed = || first_best(all(), is_less(|server| active(server) + 1));
    match algorithm {
        Algorithm::IpvsLc => first_best(all(), |new, best| overhead(new) < overhead(best)),
        Algorithm::IpvsWlc => first_best(all(), is_less(overhead)),
        Algorithm::Sed => sed(),
        Algorithm::Nq => {
            let idle = all().find(|server| weight(server) > 0 && active(server) == 0);
            idle.map(|server| server.slot).or_else(sed)
        }
        Algorithm::First => all().find(|server| weight(server) > 0).map(|server| server.slot),
        Algorithm::Failover => first_best(all(), |new, best| weight(new) > weight(best)),
        Algorithm::Overflow => {
            let below = || all().filter(|server| active(server) <= weight(server));
            first_best(below(), |new, best| weight(new) > weight(best))
                .or_else(|| first_best(all(), is_less(active)))
        }
        other => unreachable!("{other} has laws of its own"),
    }
}

const BY_KEY: [Algorithm; 7] = [
    Algorithm::IpvsLc,
    Algorithm::IpvsWlc,
    Algorithm::Sed,
    Algorithm::Nq,
    Algorithm::First,
    Algorithm::Failover,
    Algorithm::Overflow,
];

proptest! {
    #[test]
    fn every_pick_is_that_of_the_origin(
        algorithm in prop::sample::select(&BY_KEY[..]),
        weights in prop::collection::vec(prop_oneof![0_u32..=4, 0_u32..=256], 1..30),
        ends in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), 1..300),
        order in any::<prop::sample::Index>(),
        excluded in prop::collection::vec(0_usize..30, 0..4),
    ) {
        let mut pool = Pool::new(algorithm, &weights);
        let first = order.index(weights.len());
        for candidate in &mut pool.candidates {
            candidate.rank = ((candidate.slot + weights.len() - first) % weights.len()) as u32;
        }
        let roster = pool.roster();
        let mut picker = Picker::new(7);
        let mut begun: Vec<usize> = Vec::new();
        for (random, end) in ends.iter().enumerate() {
            match end {
                Some(index) if !begun.is_empty() => {
                    let slot = begun.swap_remove(index.index(begun.len()));
                    roster.end(slot, &pool.candidates[slot].load);
                }
                _ => {
                    let mut in_order = pool.candidates.clone();
                    in_order.rotate_left(first);
                    let others: Vec<_> =
                        in_order.iter().filter(|server| !excluded.contains(&server.slot)).cloned().collect();
                    let expected = by_origin(algorithm, &others).or_else(|| by_origin(algorithm, &in_order));
                    let expected = expected.map_or(Pick::Nobody, Pick::Server);
                    let input = PickInput { random: random as u64, exclude: &excluded, ..PickInput::default() };
                    let picked = picker.pick(&roster, &input);
                    prop_assert_eq!(picked, expected);
                    if let Pick::Server(slot) = picked {
                        roster.begin(slot);
                        begun.push(slot);
                    }
                }
            }
        }
    }
}

#[test]
fn first_fills_one_server_after_the_other() {
    let mut pool = Pool::new(Algorithm::First, &[1, 256, 9]);
    for candidate in &mut pool.candidates {
        candidate.connections_max = Some(2);
    }
    assert_eq!(begun(&pool, 7), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn failover_leaves_the_heaviest_only_when_it_has_no_room() {
    let mut pool = Pool::new(Algorithm::Failover, &[1, 3, 2]);
    pool.candidates[1].connections_max = Some(2);
    assert_eq!(begun(&pool, 4), [1, 1, 2, 2]);
    pool.candidates[1].eligible = false;
    assert_eq!(begun(&pool, 2), [2, 2]);
}

#[test]
fn overflow_fills_each_server_to_one_more_than_its_weight_and_then_all_evenly() {
    // The condition "active <= weight" lets one more request in.
    let pool = Pool::new(Algorithm::Overflow, &[1, 2]);
    assert_eq!(begun(&pool, 8), [1, 1, 1, 0, 0, 1, 0, 1]);
}

#[test]
fn never_queue_serves_idle_servers_before_fast_ones() {
    assert_eq!(begun(&Pool::new(Algorithm::Nq, &[1, 8]), 4), [0, 1, 1, 1]);
    assert_eq!(begun(&Pool::new(Algorithm::Sed, &[1, 8]), 4), [1, 1, 1, 1]);
}

#[test]
fn static_rr_goes_round_haproxys_map() {
    // The expected order is that of map_get_server_rr; other tests compare the map with HAProxy's loop.
    let roster = Pool::new(Algorithm::StaticRr, &[2, 1]).roster();
    assert_eq!(slots(&mut Picker::new(0), &roster, 6), [0, 0, 1, 0, 0, 1]);
}

/// Begins requests that never end, and returns the slots that got them.
fn begun(pool: &Pool, requests: u64) -> Vec<usize> {
    let (roster, mut picker) = (pool.roster(), Picker::new(0));
    let mut slots = Vec::new();
    for random in 0..requests {
        if let Pick::Server(slot) = pick(&mut picker, &roster, random) {
            roster.begin(slot);
            slots.push(slot);
        }
    }
    slots
}
