//! Tests of least-connections: its keys, its turns and its counts.

use std::sync::Arc;

use proptest::prelude::*;
use weir_balance::{Algorithm, Pick, PickInput, Picker, ServerLoad};
use weir_model::Weight;

use crate::pool::{Pool, counts, pick, slots};

fn pool(weights: &[u32]) -> Pool {
    Pool::new(Algorithm::LeastConnections, weights)
}

/// Computes HAProxy's key as its source does.
fn haproxy_key(candidate: &weir_balance::Candidate) -> u64 {
    let inflight = u64::from(candidate.load.active());
    if inflight == 0 { 0 } else { (inflight + 1) * 4096 / (u64::from(candidate.weight.get()) * 16) }
}

#[test]
fn idle_servers_are_chosen_in_turn_whatever_their_weights() {
    let roster = pool(&[1, 256, 3, 7]).roster();
    let mut picker = Picker::new(0);
    let mut picked = Vec::new();
    for random in 0..12 {
        let Pick::Server(slot) = pick(&mut picker, &roster, random) else { panic!("nobody") };
        assert!(roster.begin(slot));
        roster.end(slot, &roster.candidate(slot).unwrap().load);
        picked.push(slot);
    }
    assert_eq!(picked, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn among_equally_loaded_servers_the_one_chosen_longest_ago_is_next() {
    let pool = pool(&[1; 4]);
    let roster = pool.roster();
    for slot in [2, 0, 3, 1] {
        roster.begin(slot);
    }
    let mut picker = Picker::new(0);
    let mut picked = Vec::new();
    for random in 0..8 {
        let Pick::Server(slot) = pick(&mut picker, &roster, random) else { panic!("nobody") };
        roster.begin(slot);
        picked.push(slot);
    }
    assert_eq!(picked, [2, 0, 3, 1, 2, 0, 3, 1]);
}

#[test]
fn an_order_of_turns_survives_a_new_roster() {
    let mut pool = pool(&[1; 4]);
    let old = pool.roster();
    for slot in [2, 0, 3, 1] {
        old.begin(slot);
        old.end(slot, &pool.candidates[slot].load);
    }
    pool.candidates[3].weight = Weight::new(5).unwrap();
    let new = pool.roster_after(&old);
    assert_eq!(slots(&mut Picker::new(0), &new, 1), [2]);
}

#[test]
fn what_is_counted_on_an_old_roster_reaches_the_new_one() {
    let mut pool = pool(&[1; 3]);
    let old = pool.roster();
    pool.candidates[2].weight = Weight::new(2).unwrap();
    let new = pool.roster_after(&old);
    old.begin(0);
    old.begin(1);
    assert_eq!(slots(&mut Picker::new(0), &new, 1), [2]);
    old.end(1, &pool.candidates[1].load);
    new.begin(2);
    assert_eq!(slots(&mut Picker::new(0), &new, 1), [1]);
}

#[test]
fn a_roster_that_never_came_into_use_does_no_harm() {
    let pool = pool(&[1; 3]);
    let used = pool.roster();
    drop(pool.roster_after(&used));
    used.begin(0);
    used.begin(1);
    assert_eq!(slots(&mut Picker::new(0), &used, 1), [2]);
}

#[test]
fn a_request_that_outlives_its_server_leaves_the_next_one_in_its_slot_alone() {
    let mut pool = pool(&[1; 2]);
    let old = pool.roster();
    let departed = Arc::clone(&pool.candidates[0].load);
    old.begin(0);
    pool.candidates[0].load = Arc::new(ServerLoad::default());
    let new = pool.roster_after(&old);
    new.begin(0);
    new.begin(1);
    for roster in [&old, &new] {
        roster.end(0, &departed);
    }
    assert_eq!(departed.active(), 0);
    assert_eq!(pool.candidates[0].load.active(), 1);
    assert_eq!(slots(&mut Picker::new(0), &new, 1), [0], "both have one request, 0 waits longer");
}

#[test]
fn one_end_too_many_is_harmless() {
    let pool = pool(&[1; 2]);
    let roster = pool.roster();
    roster.end(0, &pool.candidates[0].load);
    assert_eq!(pool.candidates[0].load.active(), 0);
    assert_eq!(slots(&mut Picker::new(0), &roster, 1), [0]);
}

#[test]
fn the_last_free_place_of_a_server_is_given_away_once() {
    let mut pool = pool(&[1]);
    pool.candidates[0].connections_max = Some(2);
    let roster = pool.roster();
    assert!(roster.try_begin(0));
    assert!(roster.try_begin(0));
    assert!(!roster.try_begin(0));
    assert_eq!(pick(&mut Picker::new(0), &roster, 0), Pick::Busy);
    roster.end(0, &pool.candidates[0].load);
    assert_eq!(pick(&mut Picker::new(0), &roster, 0), Pick::Server(0));
    assert!(!roster.try_begin(7), "there is no such server");
}

#[test]
fn load_follows_the_weights() {
    let roster = pool(&[1, 2, 5]).roster();
    let mut picker = Picker::new(0);
    let mut picked = Vec::new();
    for random in 0..800 {
        let Pick::Server(slot) = pick(&mut picker, &roster, random) else { panic!("nobody") };
        roster.begin(slot);
        picked.push(slot);
    }
    let counts = counts(&picked, 3);
    for (count, expected) in counts.iter().zip([100, 200, 500]) {
        assert!(count.abs_diff(expected) <= 2, "{counts:?}");
    }
}

proptest! {
    #[test]
    fn the_chosen_server_has_the_smallest_key_of_all(
        servers in prop::collection::vec((1_u32..=256, prop::option::of(1_u32..20)), 1..100),
        steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 0_usize..4), 1..200),
    ) {
        let weights: Vec<u32> = servers.iter().map(|(weight, _)| *weight).collect();
        let mut pool = pool(&weights);
        for (candidate, (_, max)) in pool.candidates.iter_mut().zip(&servers) {
            candidate.connections_max = *max;
        }
        let roster = pool.roster();
        let mut picker = Picker::new(0);
        let mut running: Vec<usize> = Vec::new();
        for (ends, index, excluded) in steps {
            if ends && !running.is_empty() {
                let slot = running.swap_remove(index.index(running.len()));
                roster.end(slot, &pool.candidates[slot].load);
                continue;
            }
            let exclude: Vec<usize> = (0..excluded).map(|at| (at * 7 + excluded) % weights.len()).collect();
            let free = |c: &&weir_balance::Candidate| c.connections_max.is_none_or(|max| c.load.active() < max);
            let fresh = |c: &&weir_balance::Candidate| !exclude.contains(&c.slot);
            let best = pool.candidates.iter().filter(free).filter(fresh).map(haproxy_key).min();
            let best = best.or_else(|| pool.candidates.iter().filter(free).map(haproxy_key).min());
            match picker.pick(&roster, &PickInput { exclude: &exclude, ..PickInput::default() }) {
                Pick::Server(slot) => {
                    prop_assert_eq!(Some(haproxy_key(&pool.candidates[slot])), best);
                    prop_assert!(free(&&pool.candidates[slot]));
                    roster.begin(slot);
                    running.push(slot);
                }
                Pick::Busy => prop_assert_eq!(best, None),
                Pick::Nobody => prop_assert!(false),
            }
        }
    }
}
