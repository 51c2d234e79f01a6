//! Compares the shares of ipvs-twos with the formula of the kernel's twos.

use weir_balance::{Algorithm, Picker, Roster};

use crate::pool::{Pool, counts, slots};

const WEIGHTS: [u32; 4] = [1, 2, 5, 8];
const PICKS: usize = 200_000;

/// Returns each server's probability, where a server of weight 0 is full.
///
/// Every pair of numbers from 0 to the sum of weights is equally likely. The second draw wins if
/// weight2 * overhead1 > weight1 * overhead2 (ip_vs_twos.c).
fn expected(weights: [u32; 4], active: [u32; 4]) -> [f64; 4] {
    let total: u32 = weights.iter().sum();
    let walked = |number: u32| {
        let mut rest = i64::from(number);
        let ends = |weight: &u32| {
            rest -= i64::from(*weight);
            *weight > 0 && rest <= 0
        };
        weights.iter().position(ends).unwrap()
    };
    let overhead = |slot: usize| active[slot] * 256;
    let mut shares = [0.0; 4];
    for (first, second) in (0..=total).flat_map(|first| (0..=total).map(move |second| (first, second))) {
        let (first, second) = (walked(first), walked(second));
        let second_wins = weights[second] * overhead(first) > weights[first] * overhead(second);
        shares[if second_wins { second } else { first }] += 1.0 / f64::from((total + 1) * (total + 1));
    }
    shares
}

fn assert_shares(roster: &Roster, expected: &[f64]) {
    let counted = counts(&slots(&mut Picker::new(0), roster, PICKS), expected.len());
    for (count, share) in counted.iter().zip(expected) {
        // Five standard deviations; the random numbers are always the same.
        let bound = 5.0 * (PICKS as f64 * share * (1.0 - share)).sqrt() + 1e-6;
        assert!((*count as f64 - share * PICKS as f64).abs() <= bound, "{counted:?} for {expected:?}");
    }
}

#[test]
fn ipvs_twos_chooses_as_often_as_the_kernels_formula_says() {
    for active in [[0; 4], [1, 1, 1, 1], [0, 3, 5, 8], [2, 4, 10, 16], [0, 0, 9, 0]] {
        let roster = Pool::new(Algorithm::IpvsTwos, &WEIGHTS).roster();
        for (slot, requests) in active.into_iter().enumerate() {
            (0..requests).for_each(|_| assert!(roster.begin(slot)));
        }
        assert_shares(&roster, &expected(WEIGHTS, active));
    }
}

#[test]
fn ipvs_twos_goes_by_the_pools_order() {
    let mut pool = Pool::new(Algorithm::IpvsTwos, &[1, 1]);
    (pool.candidates[0].rank, pool.candidates[1].rank) = (1, 0);
    assert_shares(&pool.roster(), &[1.0 / 3.0, 2.0 / 3.0]);
}

#[test]
fn ipvs_twos_draws_among_those_that_have_room_alone() {
    // In the last pool nearly every draw gives the full server.
    for (weights, full) in [(WEIGHTS, 0), (WEIGHTS, 3), ([2, 256, 1, 1], 1)] {
        let active = [4, 2, 6, 1];
        let mut pool = Pool::new(Algorithm::IpvsTwos, &weights);
        pool.candidates[full].connections_max = Some(active[full]);
        let roster = pool.roster();
        for (slot, requests) in active.into_iter().enumerate() {
            (0..requests).for_each(|_| assert!(roster.begin(slot)));
        }
        let mut open = weights;
        open[full] = 0;
        assert_shares(&roster, &expected(open, active));
    }
}

#[test]
fn ipvs_twos_draws_by_weight_among_a_few_with_room_of_many() {
    const OPEN: [usize; 4] = [3, 400, 401, 998];
    let active = [4, 2, 6, 1];
    let mut pool = Pool::new(Algorithm::IpvsTwos, &[256; 1_000]);
    pool.candidates.iter_mut().for_each(|candidate| candidate.connections_max = Some(0));
    for (slot, weight) in OPEN.into_iter().zip(WEIGHTS) {
        pool.candidates[slot].weight = weir_model::Weight::new(weight).unwrap();
        pool.candidates[slot].connections_max = Some(7);
    }
    let roster = pool.roster();
    for (slot, requests) in OPEN.into_iter().zip(active) {
        (0..requests).for_each(|_| assert!(roster.begin(slot)));
    }
    let mut shares = vec![0.0; 1_000];
    OPEN.into_iter().zip(expected(WEIGHTS, active)).for_each(|(slot, share)| shares[slot] = share);
    assert_shares(&roster, &shares);
    // One more server fills up, and one has room again.
    (0..6).for_each(|_| assert!(roster.begin(998)));
    roster.end(400, &pool.candidates[400].load);
    let [first, second, third, _] = expected([1, 2, 5, 0], [4, 1, 6, 7]);
    OPEN.into_iter().zip([first, second, third, 0.0]).for_each(|(slot, share)| shares[slot] = share);
    assert_shares(&roster, &shares);
}
