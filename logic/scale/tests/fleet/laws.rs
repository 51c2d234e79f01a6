//! Property tests that hold for every demand.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Fleet, s};
use proptest::prelude::*;
use weir_scale::forecast::{Method, Seasonal};
use weir_scale::policy::{Floor, Predictive, Reactive, Schedule, Target};
use weir_scale::{Action, Now, Policy, Rules, Sample, Scaler, Server, ServerState, SignalKind, SignalRule};

fn policies() -> impl Strategy<Value = Vec<Policy>> {
    prop_oneof![
        Just(vec![Policy::default()]),
        Just(vec![Policy::Reactive(Reactive { period: s(10), baseline: 1 })]),
        Just(vec![Policy::Predictive(Predictive { season: s(60), step: s(5), ..Predictive::default() })]),
        Just(vec![Policy::Predictive(Predictive {
            season: s(60),
            step: s(5),
            forecast: Method::Mstl,
            ..Predictive::default()
        })]),
        Just(vec![Policy::default(), Policy::Reactive(Reactive::default())]),
        Just(vec![Policy::default(), five()]),
        Just(vec![Policy::Target(Target {
            utilisation: 0.7,
            hysteresis: 0.1,
            stabilise_up: s(5),
            stabilise_down: s(20),
            damping: false,
            ..Target::default()
        })]),
    ]
}

/// Returns a floor that always applies.
fn five() -> Policy {
    let floor = Floor { begins: "* * * * *".parse().unwrap(), lasts: s(3_600), servers: 5 };
    Policy::Schedule(Schedule { floors: vec![floor] })
}

/// Generates policies that depend on demand alone, with the seconds that they need to settle. Forecasts are
/// excluded, because they depend on the past.
fn steady() -> impl Strategy<Value = (Vec<Policy>, u64)> {
    let undamped = Policy::Target(Target { damping: false, ..Target::default() });
    prop_oneof![
        Just((vec![Policy::Reactive(Reactive::default())], 180_u64)),
        Just((vec![undamped.clone()], 180_u64)),
        Just((vec![undamped, five()], 180_u64)),
        // The default policy. Its patience depends on the past and has the time to fall back.
        Just((vec![Policy::default()], 900_u64)),
    ]
}

/// Generates periods of seconds, each with one rate; `None` = no measurement.
fn demand() -> impl Strategy<Value = Vec<(u64, Option<f64>)>> {
    let rate = prop_oneof![1 => Just(None), 4 => (0.0..200.0).prop_map(Some), 1 => Just(Some(0.0)), 1 => Just(Some(1e7))];
    proptest::collection::vec((1_u64..60, rate), 1..20)
}

fn rules(policies: Vec<Policy>, min: u32, max: u32) -> Rules {
    Rules { policies, ..Rules::by_requests(min, max, 10.0) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_fleet_never_leaves_its_bounds(
        policies in policies(), demand in demand(), min in 1_u32..5, more in 0_u32..10,
        quota in proptest::option::of(0_u32..6), start_up in 0_u64..40, keep in 0_u32..3, prepare in 0_u32..3,
    ) {
        let max = min + more;
        let mut rules = rules(policies, min, max);
        rules.bounds.quota = quota.map(|more| max + more);
        rules.standby.keep = keep;
        rules.standby.prepare = prepare;
        let bounds = rules.bounds;
        let mut fleet = Fleet::new(rules, min, s(start_up));
        for (seconds, rate) in demand {
            for _ in 0..seconds {
                let decision = fleet.second(rate);
                prop_assert!((min..=max).contains(&decision.wanted), "{decision:?}");
                prop_assert!((min..=max).contains(&fleet.running()), "{}: {}", fleet.running(), fleet.states());
                if let Some(quota) = bounds.quota {
                    prop_assert!(fleet.servers.len() as u32 <= quota, "{}", fleet.states());
                }
            }
        }
    }

    #[test]
    fn without_measurements_nothing_goes(policies in policies(), demand in demand(), servers in 2_u32..10) {
        let mut fleet = Fleet::new(rules(policies, 2, 10), servers, s(5));
        for (seconds, rate) in demand {
            (0..seconds).for_each(|_| drop(fleet.second(rate)));
        }
        // A fresh measurement may still cause an action.
        fleet.seconds(2, 15.0);
        (0..20).for_each(|_| drop(fleet.second(None)));
        let before = fleet.running();
        for _ in 0..300 {
            let decision = fleet.second(None);
            prop_assert!(decision.wanted >= before, "{decision:?}");
            prop_assert!(!decision.alarms.is_empty());
            prop_assert!(fleet.running() >= before, "{}", fleet.states());
        }
    }

    #[test]
    fn measurements_that_cannot_be_true_let_nothing_go(
        policies in policies(), servers in 2_u32..10,
        absurd in proptest::collection::vec(
            prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -1e9..-1e-9_f64, 1.6..1e12_f64],
            1..60,
        ),
    ) {
        let mut rules = rules(policies, 2, 10);
        rules.signals = vec![SignalRule::latest(SignalKind::Cpu, 0.7)];
        let fleet = Fleet::new(rules.clone(), servers, s(5));
        let mut scaler = Scaler::new(Arc::new(rules));
        let mut before = 0;
        for (second, cpu) in absurd.into_iter().enumerate() {
            let now = s(second as u64 + 1);
            scaler.observe(now, &Sample { cpu: Some(cpu), ..Sample::default() });
            let decision = scaler.decide(Now::at(now), &fleet.servers);
            prop_assert!(decision.wanted >= before.max(servers), "{decision:?}");
            let goes = |action: &Action| matches!(
                action,
                Action::Drain { .. } | Action::Stop { .. } | Action::Delete { .. } | Action::Replace { .. }
            );
            prop_assert!(!decision.actions.iter().any(goes), "{decision:?}");
            prop_assert!(!decision.alarms.is_empty());
            before = decision.wanted;
        }
    }

    #[test]
    fn more_demand_never_wants_fewer(
        demand in proptest::collection::vec((0_u64..12, 0_u64..4), 1..5), (policies, seconds) in steady(),
    ) {
        let mut low = Fleet::new(rules(policies.clone(), 1, 20), 2, s(0));
        let mut high = Fleet::new(rules(policies, 1, 20), 2, s(0));
        for (servers, more) in demand {
            // The time of a change depends on earlier sums, so both fleets get time to settle. The extra half
            // a server avoids differences by rounding.
            let rate = |servers: u64| servers as f64 * 10.0 + 5.0;
            let (low, high) = (low.seconds(seconds, rate(servers)), high.seconds(seconds, rate(servers + more)));
            prop_assert!(low.wanted <= high.wanted, "{low:?} {high:?}");
        }
    }

    #[test]
    fn noise_within_the_hysteresis_does_not_flap(
        base in 10.0..190.0_f64, noise in proptest::collection::vec(-1.0..1.0_f64, 200..600), damping in any::<bool>(),
        hysteresis in prop_oneof![Just(0.1), Just(Target::default().hysteresis)],
    ) {
        let target = Target { hysteresis, damping, ..Target::default() };
        let mut fleet = Fleet::new(rules(vec![Policy::Target(target)], 1, 30), 1, s(10));
        // The number of servers settles.
        fleet.seconds(900, base);
        let settled = fleet.seconds(1, base).wanted;
        let mut wanted = vec![settled];
        for share in noise {
            // The noise stays below the unused capacity that makes a server surplus, and rounding to whole
            // requests loses less than one request.
            let decision = fleet.second(Some(base + share * (base * hysteresis / 2.0 - 1.0).max(0.0) * 0.9));
            if wanted.last() != Some(&decision.wanted) {
                wanted.push(decision.wanted);
            }
        }
        prop_assert!(wanted.len() <= 2, "{wanted:?}");
    }

    #[test]
    fn no_measurement_panics(
        samples in proptest::collection::vec((0_u64..5_000, any::<u64>(), proptest::option::of(any::<f64>())), 1..60),
    ) {
        let mut rules = rules(vec![Policy::default(), Policy::Reactive(Reactive::default())], 1, 10);
        rules.signals.push(weir_scale::SignalRule::latest(weir_scale::SignalKind::Cpu, 0.7));
        let mut scaler = Scaler::new(Arc::new(rules));
        let mut now = Duration::ZERO;
        for (passed, requests, cpu) in samples {
            now += Duration::from_millis(passed);
            scaler.observe(now, &Sample { requests: Some(requests), cpu, ..Sample::default() });
            let decision = scaler.decide(Now::at(now), &[]);
            prop_assert!((1..=10).contains(&decision.wanted));
        }
    }

    #[test]
    fn no_forecast_is_absurd(
        values in prop_oneof![
            3 => proptest::collection::vec(
                prop_oneof![8 => 0.0..100.0_f64, 2 => Just(0.0), 1 => 0.0..1e9_f64],
                0..200,
            ),
            1 => proptest::collection::vec(any::<f64>(), 0..200),
        ],
        season in 0_usize..60, confidence in 0.5..0.99_f64,
    ) {
        let is_possible = values.iter().all(|value| (0.0..=Seasonal::VALUE_MAX).contains(value));
        let most = values.iter().copied().fold(0.0, f64::max) * Seasonal::GROWTH_MAX;
        match Seasonal::new(&values, season, confidence) {
            Ok(forecast) => {
                prop_assert!(is_possible && season >= 2 && values.len() >= 2 * season);
                for step in 0..season {
                    let band = forecast.ahead(step).unwrap();
                    prop_assert!((0.0..=most).contains(&band.likely), "{band:?}");
                    prop_assert!((band.likely..=most).contains(&band.at_most), "{band:?}");
                }
            }
            Err(_) => prop_assert!(!is_possible || season < 2 || values.len() < 2 * season),
        }
    }

    #[test]
    fn only_healthy_servers_are_capacity(states in proptest::collection::vec(0_u8..9, 0..12)) {
        let mut scaler = Scaler::new(Arc::new(Rules::by_requests(1, 20, 10.0)));
        let now = s(1_000);
        let states = states.into_iter().map(|kind| match kind {
            0 => ServerState::Active,
            1 => ServerState::Creating { ready: s(1_010), for_standby: false },
            2 => ServerState::Booting { ready: s(10) },
            3 => ServerState::Unhealthy { since: s(10) },
            4 => ServerState::Draining { since: s(999) },
            5 => ServerState::Stopping,
            6 => ServerState::Stopped,
            7 => ServerState::Failed,
            _ => ServerState::Deleting,
        });
        let mut fleet = Fleet::new(Rules::by_requests(1, 20, 10.0), 0, s(0));
        states.for_each(|state| fleet.make(state));
        let decision = scaler.decide(Now::at(now), &fleet.servers);
        let healthy = fleet.servers.iter().filter(|server: &&Server| server.state == ServerState::Active).count();
        let coming = fleet.servers.iter().filter(|server| server.state.name() == "creating").count();
        prop_assert_eq!(decision.fleet.healthy, healthy as f64);
        prop_assert_eq!(decision.fleet.coming, coming as f64);
    }
}
