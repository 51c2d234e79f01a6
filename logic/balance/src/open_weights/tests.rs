//! Tests of the weighted draw among servers with room, against the kernel's walk.

use std::sync::{Arc, Barrier};

use weir_model::{ServerAddress, Weight};

use super::*;
use crate::bounded_load::TotalLoad;
use crate::{Portion, ServerLoad};

const WEIGHTS: [u32; 5] = [3, 1, 7, 2, 256];

/// Creates a server with room for `connections_max` requests.
fn candidate(slot: usize, connections_max: u32) -> Candidate {
    Candidate {
        slot,
        rank: slot as u32,
        address: ServerAddress::Unix("/run/web.sock".into()),
        weight: Weight::ONE,
        name_key: 0,
        portion: Portion::WHOLE,
        priority: 0,
        backup: false,
        is_local: true,
        eligible: true,
        half_open: false,
        keeps_clients: true,
        connections_max: Some(connections_max),
        load: Arc::new(ServerLoad::default()),
    }
}

fn members(weights: &[u32]) -> Vec<(usize, u32)> {
    weights.iter().copied().enumerate().collect()
}

/// Returns a random number that `below` maps to `number`.
fn random_for(number: u64, limit: u64) -> u64 {
    let random = ((u128::from(number) << 64) / u128::from(limit) + 1) as u64;
    assert_eq!(below(random, limit), number);
    random
}

/// Walks over the servers with room as the kernel does, one number at a time.
fn walked(weights: &[u32], has_room: impl Fn(usize) -> bool, number: u64) -> Option<usize> {
    let mut rest = number.cast_signed();
    weights.iter().enumerate().filter(|(slot, _)| has_room(*slot)).find_map(|(slot, weight)| {
        rest -= i64::from(*weight);
        (rest <= 0).then_some(slot)
    })
}

/// Asserts that every number draws the server at which the kernel's walk over the open, not excluded servers
/// ends.
fn assert_walks(open: &OpenWeights, weights: &[u32], is_full: impl Fn(usize) -> bool, exclude: &[usize]) {
    let has_room = |slot: usize| !is_full(slot) && !exclude.contains(&slot);
    let total: u64 =
        (0..weights.len()).filter(|slot| has_room(*slot)).map(|slot| u64::from(weights[slot])).sum();
    for number in 0..=total {
        let drawn = open.draw(random_for(number, total + 1), exclude);
        assert_eq!(drawn, walked(weights, has_room, number), "{number} without {exclude:?}");
    }
}

#[test]
fn every_number_draws_the_server_that_the_kernels_walk_ends_at() {
    let open = OpenWeights::new(&members(&WEIGHTS));
    assert_walks(&open, &WEIGHTS, |_| false, &[]);
    let times = |slot| (0..=269).filter(|n| open.draw(random_for(*n, 270), &[]) == Some(slot)).count();
    assert_eq!([0, 1, 2, 3, 4].map(times), [4, 1, 7, 2, 256], "the first has one more");
}

#[test]
fn who_is_full_or_excluded_is_as_if_it_were_not_there() {
    let weights: Vec<u32> = (0..600).map(|slot| 1 + slot % 3).collect();
    let open = OpenWeights::new(&members(&weights));
    let is_full = |slot: usize| slot % 7 != 3;
    (0..600).filter(|slot| is_full(*slot)).for_each(|slot| open.refresh(slot, &candidate(slot, 0)));
    assert_walks(&open, &weights, is_full, &[]);
    // The first one, one in the middle, a full one, a slot without a server, and one twice.
    assert_walks(&open, &weights, is_full, &[3, 304, 305, 600, 304]);
    (0..600).filter(|slot| *slot != 8).for_each(|slot| open.refresh(slot, &candidate(slot, 0)));
    open.refresh(8, &candidate(8, 1));
    assert_walks(&open, &weights, |slot| slot != 8, &[]);
    assert_eq!(open.draw(7, &[8]), None);
}

#[test]
fn a_draw_among_ten_thousand_looks_at_five_lines() {
    assert_eq!(OpenWeights::new(&members(&[1; 10_000])).tree.levels(), 5);
    assert_eq!(OpenWeights::new(&members(&[1; 8])).tree.levels(), 1);
    assert_eq!(OpenWeights::new(&[]).draw(1, &[]), None);
}

/// Workers fill servers, make room at the same time, and stop repeatedly. At each stop all sums must be
/// right.
#[test]
#[allow(clippy::disallowed_methods, reason = "workers are threads: that is what is tested")]
fn whenever_all_workers_stop_every_sum_is_true() {
    const WORKERS: usize = 3;
    const STOPS: usize = 3_000;
    for count in [2, 9, 70] {
        let weights: Vec<u32> = (0..count).map(|slot| 1 + slot % 5).collect();
        let candidates: Vec<Candidate> = (0..weights.len()).map(|slot| candidate(slot, 2)).collect();
        let open = OpenWeights::new(&members(&weights));
        let total = TotalLoad::default();
        let (stop, go_on) = (Barrier::new(WORKERS + 1), Barrier::new(WORKERS + 1));
        let work = |worker: usize| {
            for round in 0..STOPS {
                for step in 0..4 + worker {
                    let slot = (round * 5 + step * worker) % candidates.len();
                    let (one, ends) = (&candidates[slot], step % 2 == 1);
                    if ends {
                        one.load.remove_one(&total)
                    } else {
                        one.load.add_one(&total)
                    }
                    open.refresh(slot, one);
                }
                stop.wait();
                go_on.wait();
            }
        };
        let is_true = || {
            let weight = |one: &Candidate| if one.has_room() { u64::from(weights[one.slot]) } else { 0 };
            let leaves_are =
                candidates.iter().all(|one| open.tree.leaf(one.slot).load(SeqCst) == weight(one));
            leaves_are && open.tree.is_settled(sum)
        };
        std::thread::scope(|scope| {
            let work = &work;
            for worker in 0..WORKERS {
                scope.spawn(move || work(worker));
            }
            let mut wrong = 0;
            for _ in 0..STOPS {
                stop.wait();
                wrong += usize::from(!is_true());
                go_on.wait();
            }
            assert_eq!(wrong, 0, "of {STOPS} times with {count} servers");
        });
    }
}
