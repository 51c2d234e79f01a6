//! Several workers at once: nothing may get lost.

#![allow(clippy::unwrap_used, reason = "a poisoned lock or a panicked worker fails the test")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use weir_balance::{Algorithm, Candidate, Pick, PickInput, Picker, Roster, ServerLoad};
use weir_model::Weight;

use crate::pool::{Pool, pick};

const WORKERS: u64 = 4;
const ROUNDS: u64 = 60;

/// A small generator, so that each worker does something else, the same each time.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 16
}

/// Keeps up to 30 requests running until `is_settled`, and ends all of them. Looks at what roster is
/// in place now and then only.
fn work(seed: u64, roster: &RwLock<Arc<Roster>>, is_settled: &AtomicBool) {
    let mut state = seed;
    let mut picker = Picker::new(seed);
    let mut running: Vec<(usize, Arc<ServerLoad>)> = Vec::new();
    let now = || Arc::clone(&roster.read().unwrap());
    let mut roster = now();
    let mut requests_left = seed;
    while requests_left > 0 {
        if is_settled.load(Ordering::Relaxed) {
            requests_left -= 1;
        }
        let random = next(&mut state);
        if random.is_multiple_of(100) {
            roster = now();
        }
        if let Pick::Server(slot) = picker.pick(&roster, &PickInput { random, ..PickInput::default() })
            && roster.try_begin(slot)
            && let Some(candidate) = roster.candidate(slot)
        {
            running.push((slot, Arc::clone(&candidate.load)));
        }
        while running.len() > (next(&mut state) % 30) as usize {
            let (slot, load) = running.swap_remove(next(&mut state) as usize % running.len());
            roster.end(slot, &load);
        }
    }
    for (slot, load) in running {
        roster.end(slot, &load);
    }
}

/// Lets workers work while `change` changes the pool again and again; returns the last roster.
#[allow(clippy::disallowed_methods, reason = "workers are threads: that is what is tested")]
fn run(pool: &mut Pool, change: impl Fn(&mut Pool, u64)) -> Arc<Roster> {
    let roster = RwLock::new(Arc::new(pool.roster()));
    let is_settled = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (roster, is_settled) = (&roster, &is_settled);
        for seed in 1..=WORKERS {
            scope.spawn(move || work(seed, roster, is_settled));
        }
        for round in 0..ROUNDS {
            change(pool, round);
            let previous = Arc::clone(&roster.read().unwrap());
            *roster.write().unwrap() = Arc::new(pool.roster_after(&previous));
            std::thread::yield_now();
        }
        is_settled.store(true, Ordering::Relaxed);
    });
    roster.into_inner().unwrap()
}

/// After all workers have stopped: picks must be those of the true loads.
fn assert_keys_are_true(pool: &Pool, roster: &Roster) {
    let mut picker = Picker::new(0);
    for random in 0..pool.candidates.len() as u64 * 3 {
        let key = |candidate: &Candidate| {
            let active = u64::from(candidate.load.active());
            if active == 0 { 0 } else { (active + 1) * 256 / u64::from(candidate.weight.get()) }
        };
        let has_room = |c: &&Candidate| c.connections_max.is_none_or(|max| c.load.active() < max);
        let smallest = pool.candidates.iter().filter(|c| c.eligible).filter(has_room).map(key).min();
        match pick(&mut picker, roster, random) {
            Pick::Server(slot) => {
                assert_eq!(Some(key(&pool.candidates[slot])), smallest);
                assert!(roster.try_begin(slot));
            }
            Pick::Busy => assert_eq!(smallest, None),
            Pick::Nobody => assert!(!pool.candidates.iter().any(|c| c.eligible)),
        }
    }
}

#[test]
fn no_count_gets_lost_while_workers_share_a_roster() {
    for servers in [1, 3, 100] {
        let mut pool = Pool::new(Algorithm::LeastConnections, &vec![2; servers]);
        let roster = run(&mut pool, |_, _| {});
        assert!(pool.candidates.iter().all(|candidate| candidate.load.active() == 0));
        assert_keys_are_true(&pool, &roster);
    }
}

#[test]
fn no_count_gets_lost_while_servers_change_come_and_go() {
    let mut pool = Pool::new(Algorithm::LeastConnections, &[1; 20]);
    let roster = run(&mut pool, |pool, round| {
        let mut random = round;
        let slot = next(&mut random) as usize % 20;
        match next(&mut random) % 4 {
            0 => pool.candidates[slot].eligible = !pool.candidates[slot].eligible,
            1 => pool.candidates[slot].load = Arc::new(ServerLoad::default()),
            2 => pool.candidates[slot].connections_max = Some(5).filter(|_| round % 3 > 0),
            _ => pool.candidates[slot].weight = Weight::new(1 + round as u32 % 9).unwrap(),
        }
    });
    assert!(pool.candidates.iter().all(|candidate| candidate.load.active() == 0));
    assert_keys_are_true(&pool, &roster);
}

#[test]
fn no_server_is_ever_given_more_than_its_limit() {
    let mut pool = Pool::new(Algorithm::LeastConnections, &[1; 5]);
    for candidate in &mut pool.candidates {
        candidate.connections_max = Some(3);
    }
    let roster = run(&mut pool, |pool, _| {
        assert!(pool.candidates.iter().all(|candidate| candidate.load.active() <= 3));
    });
    assert_keys_are_true(&pool, &roster);
}
