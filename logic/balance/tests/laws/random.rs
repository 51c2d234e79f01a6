//! Tests of random: shares by weight, and the better of two draws.

use weir_balance::{Algorithm, MeasureOptions, Picker, Scheduling};

use crate::pool::{Pool, counts, slots};

#[test]
fn equally_loaded_servers_are_drawn_by_weight() {
    let weights = [1, 2, 5, 8, 16];
    let picks = 320_000;
    let picked = slots(&mut Picker::new(0), &Pool::new(Algorithm::Random, &weights).roster(), picks);
    for (count, weight) in counts(&picked, 5).into_iter().zip(weights) {
        let share = f64::from(weight) / 32.0;
        let expected = share * picks as f64;
        // Five standard deviations: by chance this fails once in two million times, and the random numbers
        // are always the same.
        let bound = 5.0 * (picks as f64 * share * (1.0 - share)).sqrt();
        assert!((count as f64 - expected).abs() < bound, "weight {weight}: {count} for {expected}");
    }
}

#[test]
fn of_two_draws_the_less_loaded_server_for_its_weight_wins() {
    let pool = Pool::new(Algorithm::Random, &[1, 3]);
    let roster = pool.roster();
    let share_of_first = |picks: usize| {
        let picked = slots(&mut Picker::new(0), &roster, picks);
        counts(&picked, 2)[0] as f64 / picks as f64
    };
    // The probability of drawing the first server is 1/4. It wins whenever it is drawn, or only when both
    // draws give it.
    for _ in 0..4 {
        roster.begin(1);
    }
    assert!((share_of_first(50_000) - 7.0 / 16.0).abs() < 0.02);
    for _ in 0..2 {
        roster.begin(0);
    }
    assert!((share_of_first(50_000) - 1.0 / 16.0).abs() < 0.02);
}

#[test]
fn the_same_random_number_gives_the_same_server() {
    let roster = Pool::new(Algorithm::Random, &[3; 50]).roster();
    assert_eq!(slots(&mut Picker::new(1), &roster, 50), slots(&mut Picker::new(2), &roster, 50));
}

#[test]
fn of_two_draws_that_differ_the_busier_of_two_servers_never_wins() {
    let measure = MeasureOptions { distinct: true, ..MeasureOptions::default() };
    let scheduling = Scheduling { measure, ..Algorithm::Random.into() };
    let roster = Pool::new(scheduling, &[1, 1]).roster();
    roster.begin(0);
    assert_eq!(counts(&slots(&mut Picker::new(0), &roster, 1_000), 2), [0, 1_000]);
    // If there is no other server, both draws give the same one.
    let alone = Pool::new(scheduling, &[1]).roster();
    assert_eq!(slots(&mut Picker::new(0), &alone, 3), [0, 0, 0]);
}
