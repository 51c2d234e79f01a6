//! Tests with several workers at once: no count may get lost.

#![allow(clippy::unwrap_used, reason = "a poisoned lock or a panicked worker fails the test")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use weir_balance::{
    Algorithm, Candidate, HashOptions, Key, MeasureOptions, Pick, PickInput, Picker, ResponseEnd, Roster,
    Scheduling, ServerLoad, Watch,
};
use weir_model::{Millis, Weight};

use crate::pool::{Pool, pick};

const WORKERS: u64 = 4;
const ROUNDS: u64 = 60;

/// Returns the next number of a small generator. Each worker has a different sequence, the same in each run.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 16
}

/// A request in progress.
struct Request {
    slot: usize,
    load: Arc<ServerLoad>,
    watch: Watch,
}

impl Request {
    /// Ends the request with one of several outcomes.
    fn end(mut self, roster: &Roster, now_ms: u64, random: u64) {
        let (watch, load) = (&mut self.watch, &self.load);
        match random % 4 {
            0 => {}
            1 => watch.overtaken(roster, load, now_ms, random % 1_000),
            counts => {
                watch.answered(roster, load, now_ms, random % 100_000, counts == 2);
                watch.moved(roster, load, now_ms, random % 10_000);
                watch.completed(roster, load, now_ms, counts == 2);
            }
        }
        watch.end(load);
        roster.end(self.slot, load);
    }
}

/// Returns one of a few keys.
fn key(number: u64) -> Key {
    Key::from(IpAddr::V4(Ipv4Addr::from_bits(number as u32 % 50)))
}

/// State shared by all workers.
struct Shared {
    roster: RwLock<Arc<Roster>>,
    is_settled: AtomicBool,
    now_ms: AtomicU64,
}

/// Keeps up to 30 requests in progress until `is_settled`, and then ends all of them. It fetches the current
/// roster only now and then.
fn work(seed: u64, shared: &Shared) {
    let Shared { roster, is_settled, now_ms } = shared;
    let mut state = seed;
    let mut picker = Picker::new(seed);
    let mut running: Vec<Request> = Vec::new();
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
        let now_ms = now_ms.fetch_add(random % 3, Ordering::Relaxed);
        let input = PickInput { random, key: Some(key(random >> 8)), now_ms, ..PickInput::default() };
        if let Pick::Server(slot) = picker.pick(&roster, &input)
            && roster.try_begin(slot)
            && let Some(candidate) = roster.candidate(slot)
        {
            let watch = roster.watch(slot, now_ms);
            running.push(Request { slot, load: Arc::clone(&candidate.load), watch });
        }
        while running.len() > (next(&mut state) % 30) as usize {
            let request = running.swap_remove(next(&mut state) as usize % running.len());
            request.end(&roster, now_ms, next(&mut state));
        }
    }
    for request in running {
        request.end(&roster, now_ms.load(Ordering::Relaxed), seed);
    }
}

/// Lets workers run while `change` changes the pool repeatedly. Returns the last roster.
#[allow(clippy::disallowed_methods, reason = "workers are threads: that is what is tested")]
fn run(pool: &mut Pool, change: impl Fn(&mut Pool, u64)) -> Arc<Roster> {
    let shared = Shared {
        roster: RwLock::new(Arc::new(pool.roster())),
        is_settled: AtomicBool::new(false),
        now_ms: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        let shared = &shared;
        for seed in 1..=WORKERS {
            scope.spawn(move || work(seed, shared));
        }
        for round in 0..ROUNDS {
            change(pool, round);
            let previous = Arc::clone(&shared.roster.read().unwrap());
            *shared.roster.write().unwrap() = Arc::new(pool.roster_after(&previous));
            std::thread::yield_now();
        }
        shared.is_settled.store(true, Ordering::Relaxed);
    });
    shared.roster.into_inner().unwrap()
}

/// Changes one of the servers.
fn something(pool: &mut Pool, round: u64) {
    let mut random = round;
    let slot = next(&mut random) as usize % pool.candidates.len();
    match next(&mut random) % 4 {
        0 => pool.candidates[slot].eligible = !pool.candidates[slot].eligible,
        1 => pool.candidates[slot].load = Arc::new(ServerLoad::default()),
        2 => pool.candidates[slot].connections_max = Some(5).filter(|_| !round.is_multiple_of(3)),
        _ => pool.candidates[slot].weight = Weight::new(1 + round as u32 % 9).unwrap(),
    }
}

/// Makes all servers eligible and equal again.
fn restored(pool: &mut Pool, roster: &Roster) -> Roster {
    for candidate in &mut pool.candidates {
        (candidate.eligible, candidate.connections_max, candidate.weight) = (true, None, Weight::ONE);
        assert_eq!(candidate.load.active(), 0);
    }
    pool.roster_after(roster)
}

/// Asserts, after all workers have stopped, that picks match the actual loads.
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
    let roster = run(&mut pool, something);
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

/// The data that algorithms keep about requests must disappear with them, whatever happens to the servers
/// meanwhile.
#[test]
fn nothing_is_left_of_requests_whatever_the_algorithm() {
    for algorithm in Algorithm::ALL {
        let mut pool = Pool::new(algorithm, &[1; 10]);
        let roster = run(&mut pool, something);
        restored(&mut pool, &roster);
    }
}

#[test]
fn measured_algorithms_forget_who_waited_and_choose_all_servers_again() {
    let inflight = |until| MeasureOptions { until, inflight: true, ..MeasureOptions::default() };
    for (algorithm, measure) in [
        (Algorithm::LeastResponseTime, inflight(ResponseEnd::Header)),
        (Algorithm::LeastResponseTime, inflight(ResponseEnd::LastByte)),
        (Algorithm::LeastBandwidth, MeasureOptions::default()),
    ] {
        let mut pool = Pool::new(Scheduling { measure, ..algorithm.into() }, &[1; 10]);
        let roster = run(&mut pool, something);
        let roster = restored(&mut pool, &roster);
        // Long enough for all times to be forgiven and all bytes to be old. A request that still seemed to
        // wait would have waited for so long that its server would get nothing.
        let now_ms = 100_000_000;
        let mut picker = Picker::new(0);
        let mut one = |begins: bool| {
            let Pick::Server(slot) = picker.pick(&roster, &PickInput { now_ms, ..PickInput::default() })
            else {
                panic!("nobody is full")
            };
            if begins {
                let watch = roster.watch(slot, now_ms);
                assert!(roster.begin(slot));
                Request { slot, load: Arc::clone(&pool.candidates[slot].load), watch }
                    .end(&roster, now_ms, 0);
            }
            slot
        };
        // Each pick updates one server's figures.
        (0..20).for_each(|_| _ = one(false));
        let mut picked: Vec<usize> = (0..10).map(|_| one(true)).collect();
        picked.sort_unstable();
        assert_eq!(picked, (0..10).collect::<Vec<_>>(), "{algorithm} {measure:?}");
    }
}

#[test]
fn the_sum_that_a_bound_goes_by_is_that_of_all_requests_after_any_number_of_workers() {
    for algorithm in [Algorithm::Ring, Algorithm::Ketama, Algorithm::Random] {
        let hash = HashOptions { bounded_load_percent: Some(110), ..HashOptions::of(algorithm) };
        let scheduling = Scheduling { hash, ..algorithm.into() };
        let mut pool = Pool::new(scheduling, &[1; 10]);
        let roster = run(&mut pool, something);
        let roster = restored(&mut pool, &roster);
        let fresh = Pool::new(scheduling, &[1; 10]);
        let of = |roster: &Roster| -> Vec<Pick> {
            let mut picker = Picker::new(0);
            let mut one = |random: u64| {
                let input = PickInput { key: Some(key(7)), random, ..PickInput::default() };
                let picked = picker.pick(roster, &input);
                if let Pick::Server(slot) = picked {
                    roster.begin(slot);
                }
                picked
            };
            (0..200).map(&mut one).collect()
        };
        // All requests have one key, so the point at which a server has its share depends only on the sum.
        assert_eq!(of(&roster), of(&fresh.roster()), "{algorithm}");
    }
}

#[test]
fn keys_that_many_workers_ask_for_stay_where_they_are() {
    for algorithm in [Algorithm::Lblc, Algorithm::Lblcr] {
        let hash = HashOptions { expiration: Millis(50), ..HashOptions::of(algorithm) };
        let mut pool = Pool::new(Scheduling { hash, ..algorithm.into() }, &[1; 10]);
        let roster = run(&mut pool, something);
        let roster = restored(&mut pool, &roster);
        let mut picker = Picker::new(0);
        let mut owner = |number: u64| {
            let input = PickInput { key: Some(key(number)), now_ms: 1_000_000, ..PickInput::default() };
            picker.pick(&roster, &input)
        };
        for number in 0..50 {
            // At this pick the key may lose one of its servers.
            assert!(matches!(owner(number), Pick::Server(_)));
            let first = owner(number);
            assert!((0..5).all(|_| owner(number) == first), "{algorithm}: key {number}");
        }
    }
}
