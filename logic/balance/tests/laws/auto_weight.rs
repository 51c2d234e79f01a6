//! Tests of `weight = "auto"`: weights follow the servers' speeds, slowly and within limits.

use proptest::prelude::*;
use weir_balance::{
    AVERAGE_WEIGHT, Algorithm, AutoWeight, AutoWeightRule, Hundredths, Judged, KnownSpeeds, Pick,
    RequestClass, RequestMix, ServiceTimes, SpeedEstimate, WeightUse, weigh,
};
use weir_model::Weight;

use crate::pool::{Pool, of_key};

const RULE: AutoWeightRule = AutoWeightRule { min: Weight::ONE, max: Weight::MAX, requests_min: 20 };

fn average_weight() -> Weight {
    Weight::new(AVERAGE_WEIGHT).unwrap()
}

/// Returns the weights of servers with these service times (dynamic, static) after this many updates.
fn settled(times_us: &[[u64; 2]], dynamic_share: f64, rounds: usize) -> Vec<AutoWeight> {
    let mut estimates = vec![SpeedEstimate::default(); times_us.len()];
    let mut weights = vec![average_weight(); times_us.len()];
    let mut last = Vec::new();
    for _ in 0..rounds {
        for (estimate, [dynamic, stored]) in estimates.iter_mut().zip(times_us) {
            let times = ServiceTimes::default();
            for _ in 0..50 {
                times.add(RequestClass::Dynamic, *dynamic);
                times.add(RequestClass::Static, *stored);
            }
            estimate.learn(&RULE, &times);
        }
        let judged: Vec<Judged<'_>> = estimates
            .iter()
            .zip(&weights)
            .map(|(estimate, weight)| Judged { weight: *weight, known: KnownSpeeds::default(), estimate })
            .collect();
        last = weigh(&RULE, dynamic_share, &judged);
        weights = last.iter().map(|judgement| judgement.weight).collect();
    }
    last
}

fn ratio(weights: &[AutoWeight]) -> f64 {
    f64::from(weights[0].weight.get()) / f64::from(weights[1].weight.get())
}

#[test]
fn a_server_twice_as_fast_weighs_twice_as_much() {
    let weights = settled(&[[10_000, 10_000], [20_000, 20_000]], 0.5, 20);
    assert!((1.8..=2.2).contains(&ratio(&weights)), "{weights:?}");
}

#[test]
fn what_most_requests_ask_for_decides() {
    // The first server computes four times as fast; the second fetches four times as fast.
    let times = [[5_000, 4_000], [20_000, 1_000]];
    let computing = settled(&times, 0.9, 30);
    let fetching = settled(&times, 0.1, 30);
    assert!(ratio(&computing) > 2.0, "{computing:?}");
    assert!(ratio(&fetching) < 0.5, "{fetching:?}");
    let even = settled(&times, 0.5, 30);
    assert!((0.9..1.1).contains(&ratio(&even)), "{even:?}");
}

#[test]
fn given_speeds_count_without_any_measurement() {
    let (estimate, rule) = (SpeedEstimate::default(), RULE);
    let known = |processor, storage| KnownSpeeds {
        processor: Some(Hundredths(processor)),
        storage: Some(Hundredths(storage)),
    };
    let servers = [
        Judged { weight: average_weight(), known: known(200, 50), estimate: &estimate },
        Judged { weight: average_weight(), known: known(100, 100), estimate: &estimate },
    ];
    let weights = weigh(&rule, 0.8, &servers);
    // 16 x (0.8 x 2 + 0.2 x 0.5)
    assert!((weights[0].wanted - 27.2).abs() < 1e-9, "{weights:?}");
    assert_eq!(weights[1].weight, average_weight());
    assert_eq!(weights[0].weight.get(), 20, "a quarter more at a time");
    assert_eq!(
        weights[0].to_string(),
        "20 = 16 x (0.80 x Pp + 0.20 x Pm), Pp 2.00, Pm 0.50; on its way to 27"
    );
}

fn add(times: &ServiceTimes, class: RequestClass, requests: u32, time_us: u64) {
    (0..requests).for_each(|_| times.add(class, time_us));
}

#[test]
fn too_few_requests_say_nothing_and_are_kept_until_they_are_enough() {
    let (times, mut estimate) = (ServiceTimes::default(), SpeedEstimate::default());
    let average_of = |estimate: &SpeedEstimate| {
        let known = KnownSpeeds::default();
        let mut average = SpeedEstimate::default();
        let usual = ServiceTimes::default();
        add(&usual, RequestClass::Dynamic, RULE.requests_min, 10_000);
        average.learn(&RULE, &usual);
        let judged =
            [estimate, &average].map(|estimate| Judged { weight: average_weight(), known, estimate });
        weigh(&RULE, 1.0, &judged)[0]
    };
    // A server that gets few requests: a few slow responses in each interval.
    for round in 0..3 {
        add(&times, RequestClass::Dynamic, 6, 40_000);
        assert_eq!(estimate.learn(&RULE, &times), [6, 0], "round {round}: only what is new");
        assert_eq!(average_of(&estimate).processor, None, "round {round}");
    }
    add(&times, RequestClass::Dynamic, 6, 40_000);
    add(&times, RequestClass::Static, 1, 40_000);
    assert_eq!(estimate.learn(&RULE, &times), [6, 1]);
    let judgement = average_of(&estimate);
    // A quarter of the other server's speed is half of the geometric mean.
    assert!(judgement.processor.is_some_and(|speed| (0.45..0.55).contains(&speed)), "{judgement:?}");
    assert_eq!((judgement.weight.get(), judgement.storage), (12, None));
    assert_eq!(estimate.learn(&RULE, &times), [0, 0]);
}

#[test]
fn the_mix_of_requests_is_followed_slowly_and_a_few_do_not_change_it() {
    let mut mix = RequestMix::default();
    assert_eq!(mix.dynamic_share(), 0.5, "nothing is known");
    mix.learn(&RULE, [0, 1]);
    assert_eq!(mix.dynamic_share(), 0.5);
    // Includes the request from before.
    mix.learn(&RULE, [76, 23]);
    assert!((mix.dynamic_share() - 0.76).abs() < 1e-9);
    mix.learn(&RULE, [1, 0]);
    assert!((mix.dynamic_share() - 0.76).abs() < 1e-9, "one request of a quiet night");
    let mut before = mix.dynamic_share();
    for round in 0..20 {
        mix.learn(&RULE, [0, 1_000]);
        let now = mix.dynamic_share();
        assert!(now < before && now >= before * 0.69, "round {round}: {before} -> {now}");
        before = now;
    }
    assert!(before < 0.01, "{before}");
}

/// Returns the share of keys that move at the first update of ten servers, one of them fast and one slow.
fn moved_share(algorithm: Algorithm) -> f64 {
    const KEYS: u32 = 4_000;
    let mut weights = [AVERAGE_WEIGHT; 10];
    let before = Pool::new(algorithm, &weights).roster();
    (weights[2], weights[7]) = (20, 13);
    let after = Pool::new(algorithm, &weights).roster();
    let server = |roster, key: u32| {
        let address = std::net::Ipv4Addr::from_bits(key.wrapping_mul(0x9e37_79b9));
        match of_key(roster, std::net::IpAddr::V4(address).into(), &[]) {
            Pick::Server(slot) => slot,
            other => panic!("{other:?}"),
        }
    };
    (0..KEYS).filter(|key| server(&before, *key) != server(&after, *key)).count() as f64 / f64::from(KEYS)
}

#[test]
fn algorithms_say_truly_whether_changing_weights_move_their_keys() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.goes_by_key()) {
        let moved = moved_share(algorithm);
        match algorithm.weight_use() {
            // Four percent of the keys must move.
            WeightUse::Shares => assert!((0.02..0.1).contains(&moved), "{algorithm}: {moved}"),
            WeightUse::MovesKeys => assert!(moved > 0.13, "{algorithm}: {moved}"),
            WeightUse::Nothing => assert_eq!(moved, 0.0, "{algorithm}"),
            other => panic!("{algorithm}: {other:?}"),
        }
    }
}

#[test]
fn a_server_that_queues_most_requests_counts_by_those_that_did_not_wait() {
    let times = ServiceTimes::default();
    for number in 0..100 {
        times.add(RequestClass::Dynamic, if number % 3 == 0 { 1_000 } else { 50_000 });
    }
    let [dynamic, stored] = RequestClass::ALL.map(|class| times.take(class));
    assert_eq!((dynamic.requests, stored.requests), (100, 0));
    assert!((800.0..1_200.0).contains(&dynamic.typical_us), "{dynamic:?}");
    assert_eq!(times.requests(RequestClass::Dynamic), 0, "taken once");
}

proptest! {
    #[test]
    fn weights_stay_within_their_bounds_and_move_by_a_quarter_at_most(
        times in prop::collection::vec([0_u64..u64::MAX, 0_u64..u64::MAX], 1..20),
        share in prop_oneof![0.0..1.0_f64, Just(f64::NAN), Just(f64::INFINITY)],
        before in 1_u32..=256,
        bounds in (1_u32..=256, 1_u32..=256),
    ) {
        let (low, high) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1));
        let rule = AutoWeightRule { min: Weight::new(low).unwrap(), max: Weight::new(high).unwrap(), requests_min: 1 };
        let mut estimates = vec![SpeedEstimate::default(); times.len()];
        for (estimate, [dynamic, stored]) in estimates.iter_mut().zip(&times) {
            let measured = ServiceTimes::default();
            measured.add(RequestClass::Dynamic, *dynamic);
            measured.add(RequestClass::Static, *stored);
            estimate.learn(&rule, &measured);
        }
        let weight = Weight::new(before).unwrap();
        let judged: Vec<Judged<'_>> = estimates
            .iter()
            .map(|estimate| Judged { weight, known: KnownSpeeds::default(), estimate })
            .collect();
        for judgement in weigh(&rule, share, &judged) {
            let new = judgement.weight.get();
            prop_assert!((low..=high).contains(&new));
            let bounded = before.clamp(low, high);
            let allowed = (f64::from(before) * 0.25).max(1.0).round() as u32 + before.abs_diff(bounded);
            prop_assert!(new.abs_diff(before) <= allowed, "{before} -> {new}");
            prop_assert!(judgement.wanted.is_finite());
        }
    }
}
