//! Tests of round-robin and ipvs-rr: NGINX's sequence, turns after changes, and fractions of weights.

use std::collections::BTreeSet;

use proptest::prelude::*;
use weir_balance::{Algorithm, Pick, PickInput, Picker, Portion};

use crate::pool::{Pool, counts, slots};

/// Computes NGINX's formula unchanged, visiting every server.
fn nginx_sequence(weights: &[u32], count: usize) -> Vec<usize> {
    let total: i64 = weights.iter().map(|weight| i64::from(*weight)).sum();
    let mut current = vec![0_i64; weights.len()];
    let mut sequence = Vec::new();
    for _ in 0..count {
        for (current, weight) in current.iter_mut().zip(weights) {
            *current += i64::from(*weight);
        }
        let mut best = None;
        for slot in (0..weights.len()).filter(|slot| weights[*slot] > 0) {
            if best.is_none_or(|best: usize| current[slot] > current[best]) {
                best = Some(slot);
            }
        }
        let Some(best) = best else { break };
        current[best] -= total;
        sequence.push(best);
    }
    sequence
}

fn first_difference(a: &[usize], b: &[usize]) -> Option<usize> {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).position(|(a, b)| a != b)
}

fn pool(weights: &[u32]) -> Pool {
    Pool::new(Algorithm::RoundRobin, weights)
}

#[test]
fn the_example_of_nginx_comes_out() {
    let roster = pool(&[5, 1, 1]).roster();
    assert_eq!(slots(&mut Picker::new(0), &roster, 7), [0, 0, 1, 0, 2, 0, 0]);
}

#[test]
fn a_server_that_is_passed_over_loses_its_turn_and_the_others_share_by_weight() {
    let mut pool = pool(&[4, 2, 1, 1]);
    pool.candidates[0].connections_max = Some(0);
    let picked = slots(&mut Picker::new(0), &pool.roster(), 400);
    assert_eq!(counts(&picked, 4), [0, 200, 100, 100]);
}

#[test]
fn a_change_elsewhere_does_not_send_the_next_request_to_the_first_server_again() {
    let mut pool = pool(&[1; 10]);
    let mut picker = Picker::new(0);
    let mut roster = pool.roster();
    let mut picked = Vec::new();
    for change in 0..20 {
        picked.extend(slots(&mut picker, &roster, 3));
        pool.candidates[9].connections_max = Some(100 + change);
        pool.candidates[9].eligible = change % 2 == 0;
        roster = pool.roster_after(&roster);
    }
    let counts = counts(&picked, 10);
    assert!(counts[..9].iter().all(|count| (6..=7).contains(count)), "{counts:?}");
}

#[test]
fn light_servers_are_not_starved_by_frequent_changes() {
    let mut pool = pool(&[8, 1, 1]);
    let mut picker = Picker::new(0);
    let mut roster = pool.roster();
    let mut picked = Vec::new();
    for change in 0..2_000 {
        picked.extend(slots(&mut picker, &roster, 2));
        pool.candidates[0].weight = weir_model::Weight::new(8 + change % 2).unwrap();
        roster = pool.roster_after(&roster);
    }
    let counts = counts(&picked, 3);
    assert!(counts[1] > 200 && counts[2] > 200, "{counts:?}");
}

/// Creates servers of weight 1 with different portions: (100 + slot) thousandths.
fn of_many_parts(servers: usize) -> Pool {
    let mut pool = pool(&vec![1; servers]);
    for candidate in &mut pool.candidates {
        candidate.portion = Portion::thousandths(100 + candidate.slot as u32);
    }
    pool
}

#[test]
fn of_more_parts_of_weights_than_there_are_weights_each_server_gets_its_share_at_any_time() {
    let roster = of_many_parts(1_000).roster();
    let total: usize = (100..1_100).sum();
    for seed in [0, 1, 77] {
        let mut picker = Picker::new(seed);
        let mut picked = Vec::new();
        for _ in 0..20 {
            picked.extend(slots(&mut picker, &roster, 777));
            for (slot, count) in counts(&picked, 1_000).into_iter().enumerate() {
                let fair = picked.len() as f64 * (100 + slot) as f64 / total as f64;
                // Turns are evenly spaced, so a server is at most one turn early or late, and two after
                // rounding.
                assert!((count as f64 - fair).abs() < 2.0, "server {slot}: {count} of {fair}");
            }
        }
    }
}

#[test]
fn of_many_parts_of_weights_light_servers_are_not_starved_by_frequent_changes() {
    let mut pool = of_many_parts(600);
    let mut picker = Picker::new(5);
    let mut roster = pool.roster();
    let mut picked = Vec::new();
    for change in 0..2_000 {
        picked.extend(slots(&mut picker, &roster, 10));
        pool.candidates[599].portion = Portion::thousandths(2_000 + change % 2);
        roster = pool.roster_after(&roster);
    }
    let light = counts(&picked, 600)[..100].iter().sum::<usize>() as f64;
    let total: u32 = (100..699).sum::<u32>() + 2_000;
    let fair = picked.len() as f64 * f64::from((100..200).sum::<u32>()) / f64::from(total);
    assert!((light / fair - 1.0).abs() < 0.15, "{light} of {fair}");
}

#[test]
fn of_many_parts_of_weights_a_server_that_is_passed_over_loses_its_turn() {
    let mut pool = of_many_parts(600);
    pool.candidates[..500].iter_mut().for_each(|candidate| candidate.connections_max = Some(0));
    let picked = slots(&mut Picker::new(0), &pool.roster(), 10_000);
    assert_eq!(picked.len(), 10_000);
    assert!(picked.iter().all(|slot| *slot >= 500));
}

#[test]
fn workers_with_different_seeds_start_at_different_servers() {
    let roster = pool(&[1; 100]).roster();
    let firsts: BTreeSet<usize> =
        (1..=20).flat_map(|seed| slots(&mut Picker::new(seed), &roster, 1)).collect();
    assert!(firsts.len() > 10, "{firsts:?}");
}

#[test]
fn a_pool_that_grows_and_shrinks_keeps_its_balance() {
    let mut picker = Picker::new(3);
    for size in [10, 3, 1, 20] {
        let roster = pool(&vec![2; size]).roster();
        assert_eq!(counts(&slots(&mut picker, &roster, size * 5), size), vec![5; size]);
    }
}

proptest! {
    #[test]
    fn the_sequence_is_that_of_nginx(weights in prop::collection::vec(0_u32..=8, 1..20)) {
        let count = 3 * weights.iter().sum::<u32>() as usize + 1;
        let mine = slots(&mut Picker::new(0), &pool(&weights).roster(), count);
        prop_assert_eq!(first_difference(&mine, &nginx_sequence(&weights, count)), None);
    }

    #[test]
    fn the_sequence_is_that_of_nginx_with_any_weights(weights in prop::collection::vec(1_u32..=256, 1..12)) {
        let mine = slots(&mut Picker::new(0), &pool(&weights).roster(), 5_000);
        prop_assert_eq!(first_difference(&mine, &nginx_sequence(&weights, 5_000)), None);
    }

    #[test]
    fn over_a_period_each_server_is_picked_as_often_as_it_weighs(
        weights in prop::collection::vec(1_u32..=16, 1..20), seed: u64,
    ) {
        let period = weights.iter().sum::<u32>() as usize;
        let picked = slots(&mut Picker::new(seed), &pool(&weights).roster(), period);
        let expected: Vec<usize> = weights.iter().map(|weight| *weight as usize).collect();
        prop_assert_eq!(counts(&picked, weights.len()), expected);
    }

    #[test]
    fn exclusions_do_not_disturb_the_balance_of_the_others(
        excluded in 0_usize..6, every in 2_usize..5, seed: u64,
    ) {
        // Each request that reaches `excluded` is retried elsewhere.
        let roster = pool(&[1; 6]).roster();
        let mut picker = Picker::new(seed);
        let mut picked = Vec::new();
        for request in 0..600 {
            let exclude = [excluded];
            let exclude = if request % every == 0 { &exclude[..] } else { &[] };
            match picker.pick(&roster, &PickInput { exclude, ..PickInput::default() }) {
                Pick::Server(slot) => {
                    prop_assert!(!exclude.contains(&slot));
                    picked.push(slot);
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
        let counts = counts(&picked, 6);
        let others: Vec<usize> = (0..6).filter(|slot| *slot != excluded).map(|slot| counts[slot]).collect();
        let spread = others.iter().max().unwrap_or(&0) - others.iter().min().unwrap_or(&0);
        prop_assert!(spread <= 1, "{counts:?}");
    }
}

#[test]
fn ipvs_rr_takes_one_server_after_the_other_whatever_they_weigh() {
    let mut pool = Pool::new(Algorithm::IpvsRr, &[5, 1, 0, 256]);
    let mut picker = Picker::new(0);
    assert_eq!(slots(&mut picker, &pool.roster(), 7), [0, 1, 3, 0, 1, 3, 0]);
    // It continues behind the last server, even if the weights have changed.
    pool.candidates[1].weight = weir_model::Weight::new(9).unwrap();
    assert_eq!(slots(&mut picker, &pool.roster(), 3), [1, 3, 0]);
    let mut others = Picker::new(0);
    pool.candidates[3].connections_max = Some(0);
    assert_eq!(slots(&mut others, &pool.roster(), 4), [0, 1, 0, 1], "who is full is passed over");
}
