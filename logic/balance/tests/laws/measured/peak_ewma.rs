//! Tests of peak-ewma, against Finagle's average and Envoy's cost.

use proptest::prelude::*;
use weir_balance::{Algorithm, MeasureOptions};
use weir_model::Millis;

use super::{Request, Rig};
use crate::pool::counts;

/// A server with Finagle's average and Envoy's cost.
#[derive(Default)]
struct Host {
    weight: f64,
    rtt_ms: f64,
    stamp_ms: f64,
    active: f64,
}

impl Host {
    fn observe(&mut self, rtt_ms: f64, now_ms: f64) {
        let kept = (-(now_ms - self.stamp_ms) / 10_000.0).exp();
        self.stamp_ms = now_ms;
        self.rtt_ms = if rtt_ms > self.rtt_ms { rtt_ms } else { rtt_ms * (1.0 - kept) + self.rtt_ms * kept };
    }

    fn cost(&mut self, now_ms: f64) -> f64 {
        self.observe(0.0, now_ms);
        let cost = match self.rtt_ms {
            rtt_ms if rtt_ms > 0.0 => rtt_ms * (self.active + 1.0),
            _ if self.active > 0.0 => 1_000_000.0 + self.active,
            _ => 10.0,
        };
        cost / self.weight
    }
}

fn rig(weights: &[u32]) -> Rig {
    Rig::new(Algorithm::PeakEwma, MeasureOptions::default(), weights)
}

proptest! {
    #[test]
    fn of_two_servers_the_one_with_the_lower_cost_is_chosen(
        weights in prop::array::uniform2(1_u32..9),
        steps in prop::collection::vec((0_u64..3_000, any::<bool>(), any::<prop::sample::Index>()), 1..100),
    ) {
        let mut rig = rig(&weights);
        let mut hosts = weights.map(|weight| Host { weight: weight.into(), ..Host::default() });
        let mut running: Vec<Request> = Vec::new();
        for (pass, begins, index) in steps {
            rig.pass_ms(pass);
            let now_ms = (rig.now_us / 1_000) as f64;
            if begins || running.is_empty() {
                let [first, second] = [hosts[0].cost(now_ms), hosts[1].cost(now_ms)];
                let request = rig.begin();
                if (first - second).abs() > 1e-3 * first.max(second) {
                    prop_assert_eq!(request.slot, usize::from(second < first), "{} {}", first, second);
                }
                hosts[request.slot].active += 1.0;
                running.push(request);
            } else {
                let request = running.swap_remove(index.index(running.len()));
                let took_ms = (rig.now_us - request.begun_us) as f64 / 1_000.0;
                hosts[request.slot].observe(took_ms.max(0.001), now_ms);
                hosts[request.slot].active -= 1.0;
                rig.end(request);
            }
        }
    }
}

#[test]
fn equal_servers_are_chosen_equally_often() {
    let mut rig = rig(&[1; 5]);
    let picked: Vec<usize> = (0..50_000).map(|_| rig.pick()).collect();
    for count in counts(&picked, 5) {
        // Five standard deviations; the random numbers are always the same.
        assert!((count as f64 - 10_000.0).abs() < 5.0 * (50_000.0_f64 * 0.2 * 0.8).sqrt(), "{count}");
    }
}

#[test]
fn the_slowest_of_all_is_never_chosen_and_the_fastest_by_every_pair_it_is_in() {
    let mut rig = rig(&[1; 5]);
    for (slot, ms) in [(0, 10), (1, 20), (2, 30), (3, 40), (4, 50)] {
        let request = rig.begin_at(slot);
        rig.pass_ms(ms);
        rig.end(request);
    }
    let picked: Vec<usize> = (0..40_000).map(|_| rig.pick()).collect();
    let counts = counts(&picked, 5);
    // Of the ten pairs of different servers, the k-th fastest is the better one in (5 - k).
    for (count, pairs) in counts.iter().zip([4.0, 3.0, 2.0, 1.0]) {
        assert!((*count as f64 / 40_000.0 - pairs / 10.0).abs() < 0.02, "{counts:?}");
    }
    assert_eq!(counts[4], 0);
}

#[test]
fn a_server_that_has_not_answered_yet_gets_nothing_more() {
    let mut rig = Rig::new(
        Algorithm::PeakEwma,
        MeasureOptions { default_rtt: Millis(1), ..MeasureOptions::default() },
        &[1, 1],
    );
    let hanging = rig.begin_at(0);
    let request = rig.begin_at(1);
    rig.pass_ms(900);
    rig.end(request);
    for _ in 0..100 {
        assert_eq!(rig.pick(), 1);
    }
    rig.drop(hanging);
}

#[test]
fn a_server_that_is_overtaken_again_and_again_is_as_slow_as_it_was_waited_for_at_least() {
    let mut rig = rig(&[1, 1]);
    for (slot, ms) in [(0, 5), (1, 40)] {
        let request = rig.begin_at(slot);
        rig.pass_ms(ms);
        rig.end(request);
    }
    assert_eq!(rig.pick(), 0);
    let stalling = rig.begin_at(0);
    rig.pass_ms(100);
    rig.overtake(stalling);
    assert!((0..20).all(|_| rig.pick() == 1));
    // A short wait says nothing about a slow server.
    let request = rig.begin_at(1);
    rig.pass_ms(1);
    rig.overtake(request);
    assert!((0..20).all(|_| rig.pick() == 1));
    let request = rig.begin_at(1);
    rig.pass_ms(200);
    rig.overtake(request);
    assert!((0..20).all(|_| rig.pick() == 0));
}
