//! Compares the choices of least-response-time with NGINX's estimate of the time that each server needs.

use proptest::prelude::*;
use weir_balance::{Algorithm, MeasureOptions, ResponseEnd};
use weir_model::Millis;

use super::{Request, Rig};

/// One server as in ngx_http_upstream_least_time_module.c; its waiting time is updated when it is read.
#[derive(Default)]
struct Peer {
    weight: f64,
    average_ms: u64,
    checked_s: u64,
    conns: u64,
    /// Start times of the waiting requests.
    waiting: Vec<u64>,
    waited_ms: u64,
    /// Number of the pool's picks at the last update of the waiting time.
    sampled: u64,
}

/// Adds a time to the average `times` times; each counts a twentieth.
fn averaged(average: u64, ms: u64, times: u64) -> u64 {
    let kept = 0.95_f64.powi(times.min(10_000) as i32);
    match (average, times) {
        (_, 0) => average,
        (0, _) => ms,
        // Written like a single addition: where the sum lies between two numbers, another order of the terms
        // may round differently.
        (_, 1) => (0.5 + ms as f64 * 0.05 + average as f64 * 0.95) as u64,
        _ => (0.5 + ms as f64 * (1.0 - kept) + average as f64 * kept) as u64,
    }
}

impl Peer {
    fn look(&mut self, now_ms: u64, picks: u64) {
        if !self.waiting.is_empty() && picks > self.sampled {
            let sum: u64 = self.waiting.iter().map(|begun_ms| now_ms - begun_ms).sum();
            let mean_ms = sum / self.waiting.len() as u64;
            self.waited_ms = averaged(self.waited_ms, mean_ms, picks - self.sampled);
            self.sampled = picks;
        }
    }

    /// Returns the estimated time divided by the weight.
    fn eta(&self, now_ms: u64, rule: &MeasureOptions) -> f64 {
        let (idle_s, forgive_s) = (now_ms / 1_000 - self.checked_s, rule.forgive.0 / 1_000);
        let mut time = self.average_ms;
        if idle_s > forgive_s {
            let shift = idle_s / (forgive_s + 1);
            time = if shift < 64 { time >> shift } else { 0 };
        }
        if rule.inflight && !self.waiting.is_empty() {
            time = time.max(self.waited_ms);
        }
        time = if time > 5_000 { 5_000 } else { time + 20 - time % 20 };
        (time * (1 + self.conns)) as f64 / self.weight
    }

    fn chosen(&mut self, now_ms: u64, rule: &MeasureOptions) {
        if now_ms / 1_000 - self.checked_s > rule.forgive.0 / 1_000 {
            self.checked_s = now_ms / 1_000;
        }
        self.conns += 1;
        self.waiting.push(now_ms);
    }

    fn waits_no_longer(&mut self, begun_ms: u64) {
        let at = self.waiting.iter().position(|one| *one == begun_ms);
        self.waiting.swap_remove(at.unwrap());
    }
}

/// One step: the time that passes, whether a request begins, the request that ends otherwise, and whether its
/// time counts.
type Step = (u64, bool, prop::sample::Index, bool);

fn step() -> impl Strategy<Value = Step> {
    // Sometimes long enough for a server's time to be halved, once or several times.
    let pass = prop_oneof![6 => 0_u64..60, 2 => 0_u64..2_000, 1 => 0_u64..40_000];
    (pass, any::<bool>(), any::<prop::sample::Index>(), any::<bool>())
}

fn rule() -> impl Strategy<Value = MeasureOptions> {
    let forgive = prop::sample::select(vec![1, 3, 10]).prop_map(Millis::from_secs);
    let options = (any::<bool>(), any::<bool>(), forgive, any::<bool>());
    options.prop_map(|(last_byte, inflight, forgive, draws)| MeasureOptions {
        until: if last_byte { ResponseEnd::LastByte } else { ResponseEnd::Header },
        inflight,
        forgive,
        drawn: draws.then_some(2),
        ..MeasureOptions::default()
    })
}

proptest! {
    #[test]
    fn the_chosen_server_has_the_least_estimated_time_by_its_weight(
        mut weights in prop::collection::vec(1_u32..9, 1..20),
        rule in rule(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        if rule.drawn.is_some() {
            // With two servers, two different draws are all servers.
            weights.truncate(2);
        }
        let mut rig = Rig::new(Algorithm::LeastResponseTime, rule, &weights);
        let mut peers: Vec<Peer> =
            weights.iter().map(|weight| Peer { weight: (*weight).into(), ..Peer::default() }).collect();
        let mut running: Vec<Request> = Vec::new();
        // The pool counts from 1, and a pick counts itself.
        let mut picks = 1;
        for (pass, begins, index, counts) in steps {
            rig.pass_ms(pass);
            let now_ms = rig.now_ms();
            if begins || running.is_empty() {
                // An idle server's time is updated within one pick for each server.
                peers.iter().for_each(|_| _ = rig.pick());
                let request = rig.begin();
                peers.iter_mut().for_each(|peer| peer.look(now_ms, picks + 1));
                let etas: Vec<f64> = peers.iter().map(|peer| peer.eta(now_ms, &rule)).collect();
                let least = etas.iter().copied().fold(f64::MAX, f64::min);
                prop_assert!(etas[request.slot] <= least * (1.0 + 1e-6), "{} of {etas:?} at {now_ms} ms", request.slot);
                let peer = &mut peers[request.slot];
                peer.chosen(now_ms, &rule);
                peer.look(now_ms, picks);
                picks += 1;
                running.push(request);
            } else {
                let mut request = running.swap_remove(index.index(running.len()));
                let peer = &mut peers[request.slot];
                let begun_ms = request.begun_us / 1_000;
                if counts {
                    peer.average_ms = averaged(peer.average_ms, now_ms - begun_ms, 1);
                }
                if rule.until == ResponseEnd::LastByte {
                    // The average is updated when the head arrives, and the request continues to wait.
                    peer.look(now_ms, picks);
                }
                peer.waits_no_longer(begun_ms);
                peer.look(now_ms, picks);
                peer.conns -= 1;
                rig.answer(&mut request, counts);
                rig.finish(request, counts);
            }
        }
    }
}
