//! What drawn servers are compared by.

use crate::draw::Entrant;
use crate::measure::Seen;
use crate::{Candidate, MeasureOptions, Portion};

/// Whether so many requests in flight for that share are fewer than so many for the other: compared crosswise, so that nothing is
/// rounded.
pub(crate) fn is_less_for_share(
    (active, share): (u32, u32),
    (other_active, other_share): (u32, u32),
) -> bool {
    let crosswise = |active: u32, share: u32| u64::from(active) * u64::from(share);
    crosswise(active, other_share) < crosswise(other_active, share)
}

/// Whether `a` has fewer requests in flight for its share.
pub(crate) fn is_less_loaded(a: &Entrant, b: &Entrant) -> bool {
    is_less_for_share((a.load.active(), a.share), (b.load.active(), b.share))
}

/// Whether `a` has the lower cost of peak EWMA.
pub(crate) fn costs_less_by_peak(a: &Entrant, b: &Entrant, options: &MeasureOptions, now_ms: u64) -> bool {
    // Of thousands of servers neither is in a cache: both are looked at before either average is brought up to date.
    let [a, b] = [a, b].map(|one| (one, one.load.active(), one.load.measures().peak.seen()));
    let cost = |(one, active, seen): (&Entrant, u32, Seen)| {
        let rtt_ms = one.load.measures().peak.ms(seen, now_ms, options.decay.0);
        peak_cost(rtt_ms, active, options) / f64::from(one.share)
    };
    cost(a) < cost(b)
}

/// Envoy's cost of peak EWMA (its default penalty included) at a weight of 1: the round trip time times the requests
/// with the new one; without a round trip time the default, and a penalty if there are requests that have brought none.
fn peak_cost(rtt_ms: Option<f32>, active: u32, options: &MeasureOptions) -> f64 {
    const PENALTY: f64 = 1_000_000.0;
    let active = f64::from(active);
    match rtt_ms.filter(|ms| *ms > 0.0) {
        None if active > 0.0 => PENALTY + active,
        rtt_ms => rtt_ms.map_or(options.default_rtt.0 as f64, f64::from) * (active + 1.0),
    }
}

/// Envoy's weight of least request: weight / (active + 1)^bias.
pub(crate) fn request_weight(candidate: &Candidate, options: &MeasureOptions) -> f64 {
    let requests = f64::from(candidate.load.active()) + 1.0;
    let bias = options.bias.map_or(1.0, |bias| bias.as_f64());
    weight(candidate) / if bias == 1.0 { requests } else { requests.powf(bias) }
}

/// What counts of it.
fn weight(candidate: &Candidate) -> f64 {
    f64::from(candidate.share().max(1)) / f64::from(Portion::WHOLE.get())
}
