//! Tests of least-request and random: shares of draws, and Envoy's schedule.

#![allow(clippy::panic, clippy::unwrap_used, reason = "what is not there fails the test")]

use proptest::prelude::*;
use weir_balance::{Algorithm, Hundredths, MeasureOptions, Pick, PickInput, Picker, Roster, Scheduling};

use crate::pool::{Pool, counts};

fn roster(algorithm: Algorithm, measure: MeasureOptions, weights: &[u32]) -> Roster {
    let scheduling = Scheduling { measure, ..algorithm.into() };
    Roster::new(scheduling, Pool::new(algorithm, weights).candidates, None)
}

fn biased(bias: Option<u32>, weights: &[u32]) -> Roster {
    let options = MeasureOptions { bias: bias.map(Hundredths), ..MeasureOptions::default() };
    roster(Algorithm::LeastRequest, options, weights)
}

fn shares(roster: &Roster, servers: usize) -> Vec<f64> {
    const PICKS: u64 = 60_000;
    let mut picker = Picker::new(0);
    let mut one = |random| match picker.pick(roster, &PickInput { random, ..PickInput::default() }) {
        Pick::Server(slot) => slot,
        _ => panic!("nobody"),
    };
    let picked: Vec<usize> = (0..PICKS).map(&mut one).collect();
    counts(&picked, servers).into_iter().map(|count| count as f64 / PICKS as f64).collect()
}

#[test]
fn of_equal_servers_the_best_of_so_many_draws_is_chosen() {
    for choices in [1, 2, 3, 5] {
        for algorithm in [Algorithm::LeastRequest, Algorithm::Random] {
            let options = MeasureOptions { draws: choices, ..MeasureOptions::default() };
            let roster = roster(algorithm, options, &[1; 4]);
            roster.begin(0);
            let shares = shares(&roster, 4);
            // The busy server is chosen only if every draw gives it.
            let busy = 0.25_f64.powi(choices.into());
            assert!((shares[0] - busy).abs() < 0.01, "{algorithm}, {choices}: {shares:?}");
            for share in &shares[1..] {
                assert!((share - (1.0 - busy) / 3.0).abs() < 0.01, "{algorithm}, {choices}: {shares:?}");
            }
        }
    }
}

#[test]
fn light_servers_are_not_starved_by_frequent_changes() {
    let mut pool = Pool::new(Algorithm::LeastRequest, &[256, 1]);
    let mut roster = pool.roster();
    let mut picker = Picker::new(3);
    let mut light = 0;
    for change in 0..1_000 {
        for _ in 0..100 {
            let Pick::Server(slot) = picker.pick(&roster, &PickInput::default()) else { panic!("nobody") };
            light += usize::from(slot == 1);
        }
        pool.candidates[0].weight = weir_model::Weight::new(255 + change % 2).unwrap();
        roster = pool.roster_after(&roster);
    }
    // A fair share is 389.
    assert!((250..550).contains(&light), "{light}");
}

#[test]
fn without_bias_idle_and_busy_servers_follow_their_weights() {
    let roster = biased(Some(0), &[1, 2, 3]);
    (0..9).for_each(|_| assert!(roster.begin(2)));
    for (share, weight) in shares(&roster, 3).into_iter().zip([1.0, 2.0, 3.0]) {
        assert!((share - weight / 6.0).abs() < 0.001, "{share} for {weight}");
    }
}

proptest! {
    #[test]
    fn servers_of_different_weights_follow_envoys_schedule(
        weights in prop::collection::vec(1_u32..20, 2..12),
        bias in prop::option::of(prop::sample::select(vec![0_u32, 50, 100, 250])),
        steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 1..120),
    ) {
        prop_assume!(weights.windows(2).any(|two| two[0] != two[1]));
        let roster = biased(bias, &weights);
        let exponent = bias.map_or(1.0, |bias| f64::from(bias) / 100.0);
        let mut active = vec![0_u32; weights.len()];
        let due = |slot: usize, active: &[u32]| (f64::from(active[slot]) + 1.0).powf(exponent) / f64::from(weights[slot]);
        // Envoy's queue as a list: deadline, order of entry, server.
        let mut queue: Vec<(f64, usize, usize)> = (0..weights.len()).map(|slot| (due(slot, &active), slot, slot)).collect();
        let mut entered = weights.len();
        let mut picker = Picker::new(0);
        let mut running = Vec::new();
        for (ends, index) in steps {
            if ends && !running.is_empty() {
                let slot: usize = running.swap_remove(index.index(running.len()));
                active[slot] -= 1;
                roster.end(slot, &roster.candidate(slot).unwrap().load);
                continue;
            }
            let first = (0..queue.len()).min_by(|a, b| {
                queue[*a].0.total_cmp(&queue[*b].0).then(queue[*a].1.cmp(&queue[*b].1))
            });
            let (now, _, expected) = queue.remove(first.unwrap());
            let picked = picker.pick(&roster, &PickInput::default());
            // Sums of fractions: a tie in one computation may not be one in the other.
            let is_tie = queue.iter().any(|(deadline, _, _)| (deadline - now).abs() < 1e-9);
            if !is_tie {
                prop_assert_eq!(picked, Pick::Server(expected));
            }
            let Pick::Server(slot) = picked else { panic!("nobody") };
            if slot != expected {
                return Ok(());
            }
            queue.push((now + due(slot, &active), entered, slot));
            entered += 1;
            roster.begin(slot);
            active[slot] += 1;
            running.push(slot);
        }
    }
}

#[test]
fn workers_start_at_different_places_of_the_schedule() {
    let roster = biased(None, &[1, 2, 3, 4, 5, 6]);
    let first = |seed| match Picker::new(seed).pick(&roster, &PickInput::default()) {
        Pick::Server(slot) => slot,
        _ => panic!("nobody"),
    };
    let mut firsts: Vec<usize> = (0..50).map(first).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert!(firsts.len() > 2, "{firsts:?}");
}
