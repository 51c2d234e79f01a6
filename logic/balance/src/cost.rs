//! What drawn servers are compared by.

use crate::{Candidate, MeasureOptions, Portion};

/// Whether `a` has fewer requests in flight for its share: compared crosswise, so that nothing is rounded.
pub(crate) fn is_less_loaded(a: &Candidate, b: &Candidate) -> bool {
    let crosswise =
        |load: &Candidate, other: &Candidate| u64::from(load.load.active()) * u64::from(other.share());
    crosswise(a, b) < crosswise(b, a)
}

/// Envoy's cost of peak EWMA (its default penalty included), over the weight: the round trip time times the requests
/// with the new one; without a round trip time the default, and a penalty if there are requests that have brought none.
pub(crate) fn peak_cost(candidate: &Candidate, options: &MeasureOptions, now_ms: u64) -> f64 {
    const PENALTY: f64 = 1_000_000.0;
    let active = f64::from(candidate.load.active());
    let rtt_ms = candidate.load.measures().peak.ms(now_ms, options.decay.0);
    let cost = match rtt_ms.filter(|ms| *ms > 0.0) {
        None if active > 0.0 => PENALTY + active,
        rtt_ms => rtt_ms.map_or(options.default_rtt.0 as f64, f64::from) * (active + 1.0),
    };
    cost / weight(candidate)
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
