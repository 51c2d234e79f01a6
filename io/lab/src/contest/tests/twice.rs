//! Tests that simulated plays of the quick scenarios of Weir, and their repeats, have the same verdicts.

use weir_config::lab::Product;

use super::super::Shipped;
use super::*;
use crate::rng::Rng;

/// Standard deviation of the logarithm of a run's figure: 5 percent, as measured on a virtual machine with
/// two cores.
const NOISE: f64 = 0.05;

fn normal(rng: &mut Rng) -> f64 {
    // The sum of twelve uniform numbers is close enough to a normal distribution.
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// Simulates a quick play in which Weir has 0.6 of the others' figures, and every second one of these has 2
/// percent more. All rivals have occasional slow turns.
fn play(shipped: &Shipped, rng: &mut Rng) -> Analysis {
    let scenario = lab::load(&Source::new(shipped.name, shipped.text), true, &|_| None).unwrap();
    let mut results = Results::default();
    for (key, value) in
        [("scenario", shipped.text), ("form", "quick"), ("name", shipped.name), ("topology", "loopback")]
    {
        results.meta.insert(key.to_owned(), value.to_owned());
    }
    for repeat in 0..scenario.repeats {
        for case in &scenario.cases {
            let slowness = (normal(rng) * 0.2).exp();
            for (at, rival) in scenario.rivals.iter().enumerate() {
                let own = match rival.product {
                    Product::Weir => 0.6,
                    _ if at % 2 == 0 => 1.0,
                    _ => 1.02,
                };
                let figure = |measure| (measure, 10.0 * own * slowness * (normal(rng) * NOISE).exp());
                results.runs.push(Played {
                    case: case.name.clone(),
                    rival: rival.name.clone(),
                    repeat,
                    figures: Measure::ALL.map(figure).to_vec(),
                    sent: 100,
                    succeeded: 100,
                    ..Played::default()
                });
            }
        }
    }
    Analysis::of(results).unwrap()
}

#[test]
fn a_quick_repeat_of_a_scenario_that_comes_with_weir_reaches_the_same_verdicts() {
    let mut rng = Rng::new(6);
    let (mut same, mut all) = (0, 0);
    let (mut short_same, mut short_all) = (0, 0);
    for shipped in SHIPPED {
        for _ in 0..3 {
            let (one, again) = (play(shipped, &mut rng), play(shipped, &mut rng));
            let verdicts = compare(&one, &again).verdicts;
            assert_eq!(verdicts.contradictory, Vec::<String>::new(), "{}", shipped.name);
            let pairs = one.pairs.iter().filter(|pair| pair.case.is_none());
            let is_long = pairs.map(|pair| pair.difference.pairs).min() >= Some(20);
            let (own_same, own_all) =
                if is_long { (&mut same, &mut all) } else { (&mut short_same, &mut short_all) };
            *own_same += verdicts.same;
            *own_all += verdicts.count();
        }
    }
    assert!(all > 200 && same * 100 >= all * 95, "{same} of {all}");
    // Scenarios with long turns have fewer turns, so that one of two plays is undecided more often.
    assert!(short_all > 200 && short_same * 100 >= short_all * 85, "{short_same} of {short_all}");
}

#[test]
fn of_twenty_plays_of_the_same_balancer_twice_at_most_two_find_a_difference() {
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "same-twice").unwrap();
    let mut rng = Rng::new(20);
    let found = (0..20).filter(|_| {
        let pairs = play(shipped, &mut rng).pairs;
        pairs.iter().any(|pair| matches!(pair.standing(), Standing::Better | Standing::Worse))
    });
    let found = found.count();
    assert!(found <= 2, "{found}");
}

#[test]
fn without_a_margin_the_same_balancer_differs_from_itself_no_more_often_than_is_said() {
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "same-twice").unwrap();
    let mut rng = Rng::new(21);
    let (mut found, mut all) = (0, 0);
    for _ in 0..100 {
        let pairs = play(shipped, &mut rng).pairs;
        for mut pair in pairs.into_iter().filter(|pair| pair.case.is_none()) {
            pair.margin = 0.0;
            all += 1;
            found += u32::from(matches!(pair.standing(), Standing::Better | Standing::Worse));
        }
    }
    // 5 percent of 200, and three standard deviations of 3.1. If no play found a difference, the test would
    // show nothing.
    assert!(all == 200 && (1..20).contains(&found), "{found} of {all}");
}
