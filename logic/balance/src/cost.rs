//! Comparisons of randomly drawn servers.

use crate::draw::Entrant;
use crate::measure::Seen;
use crate::{Candidate, MeasureOptions, Portion};

/// Returns true if the first server has fewer requests in flight relative to its share. Multiplies crosswise
/// to avoid rounding.
pub(crate) fn is_less_for_share(
    (active, share): (u32, u32),
    (other_active, other_share): (u32, u32),
) -> bool {
    let crosswise = |active: u32, share: u32| u64::from(active) * u64::from(share);
    crosswise(active, other_share) < crosswise(other_active, share)
}

/// Returns true if `a` has fewer requests in flight relative to its share.
pub(crate) fn is_less_loaded(a: &Entrant, b: &Entrant) -> bool {
    is_less_for_share((a.load.active(), a.share), (b.load.active(), b.share))
}

/// Returns true if `a` has the lower peak EWMA cost.
pub(crate) fn costs_less_by_peak(a: &Entrant, b: &Entrant, options: &MeasureOptions, now_ms: u64) -> bool {
    // Reads both servers before updating either average: with thousands of servers, neither is in a cache,
    // and the two reads overlap.
    let [a, b] = [a, b].map(|one| (one, one.load.active(), one.load.measures().peak.seen()));
    let cost = |(one, active, seen): (&Entrant, u32, Seen)| {
        let rtt_ms = one.load.measures().peak.ms(seen, now_ms, options.decay.0);
        peak_cost(rtt_ms, active, options) / f64::from(one.share)
    };
    cost(a) < cost(b)
}

/// Returns Envoy's peak EWMA cost at a weight of 1, with its default penalty: the round trip time times the
/// requests, counting the new one.
///
/// Without a measured round trip time it uses the default one, or a penalty if requests are in flight.
fn peak_cost(rtt_ms: Option<f32>, active: u32, options: &MeasureOptions) -> f64 {
    const PENALTY: f64 = 1_000_000.0;
    let active = f64::from(active);
    match rtt_ms.filter(|ms| *ms > 0.0) {
        None if active > 0.0 => PENALTY + active,
        rtt_ms => rtt_ms.map_or(options.default_rtt.0 as f64, f64::from) * (active + 1.0),
    }
}

/// Returns Envoy's weight of least request: weight / (active + 1)^bias.
pub(crate) fn request_weight(candidate: &Candidate, options: &MeasureOptions) -> f64 {
    let requests = f64::from(candidate.load.active()) + 1.0;
    let bias = options.bias.map_or(1.0, |bias| bias.as_f64());
    weight(candidate) / if bias == 1.0 { requests } else { requests.powf(bias) }
}

/// Returns the effective weight in whole units.
fn weight(candidate: &Candidate) -> f64 {
    f64::from(candidate.share().max(1)) / f64::from(Portion::WHOLE.get())
}
