//! Keys by which a tournament compares servers: one number from a server's load, weight and order.

use weir_model::Weight;

use crate::bounded_load::load_key;
use crate::measure::{Average, Moment};
use crate::{Algorithm, Candidate, Portion, ResponseEnd, Scheduling, ServerLoad};

/// Formula that turns a server's load into a comparison key; the server with the smallest key is chosen.
///
/// Fractions have 16 binary digits after the point. Two different fractions with weights up to 256 differ by
/// at least 1/(256 * 256), so their keys differ too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    /// HAProxy's leastconn (lb_fwlc.c): 0 for an idle server whatever its weight, else (inflight + 1) * 4096
    /// / eweight, where the effective weight is 16 times the configured one.
    LeastConnections,
    /// ip_vs_lc.c: overhead = active * 256 + inactive, whatever the weight. All connections of a proxy are
    /// active, because a closed one is forgotten at once. So `active` alone gives the same order.
    IpvsLeastConnections,
    /// ip_vs_wlc.c: overhead / weight, with `active` as the overhead, as above.
    IpvsWeightedLeastConnections,
    /// ip_vs_sed.c: (active + 1) / weight.
    ShortestExpectedDelay,
    /// ip_vs_nq.c: any idle server, else the shortest expected delay.
    NeverQueue,
    /// HAProxy's first (lb_fas.c): only the order of the servers.
    First,
    /// ip_vs_fo.c: the highest weight.
    Failover,
    /// ip_vs_ovf.c: the highest weight of the servers with active <= weight; the other servers follow, by
    /// active / weight.
    Overflow,
    /// ngx_http_upstream_least_time_module.c: the estimated time for all of a server's work, divided by its
    /// weight.
    LeastResponseTime(ResponseRule),
    /// NetScaler's least bandwidth: bytes in 14 seconds, divided by the weight.
    LeastBandwidth,
    /// Requests in flight divided by the weight; used by the bound on loads.
    FairPart,
}

/// The definition of a response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseRule {
    until: ResponseEnd,
    inflight: bool,
    /// NGINX's fail_timeout.
    forgive_s: u32,
}

/// Share of one unit of weight that counts in full, in thousandths.
const WHOLE: u64 = Portion::WHOLE.get() as u64;
const FRACTION_BITS: u32 = 16;
/// Largest quotient of load and weight that keys distinguish: 64 million requests for each unit of weight.
const PER_WEIGHT_MAX: u64 = (1 << 42) - 1;
/// Base of the keys of overflowing servers, above every key of a server that is not overflowing.
const OVERFLOWING: u64 = 1 << 42;

impl KeyRule {
    /// Returns the rule of an algorithm that compares keys, else `None`.
    pub(crate) fn of(scheduling: &Scheduling) -> Option<Self> {
        Some(match scheduling.algorithm {
            Algorithm::LeastConnections => Self::LeastConnections,
            Algorithm::IpvsLc => Self::IpvsLeastConnections,
            Algorithm::IpvsWlc | Algorithm::Lblc | Algorithm::Lblcr => Self::IpvsWeightedLeastConnections,
            Algorithm::Sed => Self::ShortestExpectedDelay,
            Algorithm::Nq => Self::NeverQueue,
            Algorithm::First => Self::First,
            Algorithm::Failover => Self::Failover,
            Algorithm::Overflow => Self::Overflow,
            Algorithm::LeastResponseTime => Self::LeastResponseTime(ResponseRule {
                until: scheduling.measure.until,
                inflight: scheduling.measure.inflight,
                forgive_s: u32::try_from(scheduling.measure.forgive.0 / 1_000).unwrap_or(u32::MAX),
            }),
            Algorithm::LeastBandwidth => Self::LeastBandwidth,
            Algorithm::RoundRobin
            | Algorithm::StaticRr
            | Algorithm::IpvsRr
            | Algorithm::IpvsWrr
            | Algorithm::Random
            | Algorithm::IpvsTwos
            | Algorithm::LeastRequest
            | Algorithm::PeakEwma
            | Algorithm::Source
            | Algorithm::Hash
            | Algorithm::Ring
            | Algorithm::Maglev
            | Algorithm::Ketama
            | Algorithm::Rendezvous
            | Algorithm::NginxIpHash
            | Algorithm::NginxHash
            | Algorithm::IpvsSh
            | Algorithm::IpvsDh
            | Algorithm::IpvsMh => return None,
        })
    }

    /// Returns true if servers with equal keys take turns; else the first one in the pool's order is chosen.
    pub(crate) fn takes_turns(self) -> bool {
        matches!(self, Self::LeastConnections | Self::LeastResponseTime(_) | Self::LeastBandwidth)
    }

    /// Returns true if a key changes with time alone, without any event at its server.
    pub(crate) fn goes_by_time(self) -> bool {
        matches!(self, Self::LeastResponseTime(_) | Self::LeastBandwidth)
    }

    /// Records that a server was chosen, if the rule needs that.
    pub(crate) fn chosen(self, load: &ServerLoad, moment: Moment) {
        if let Self::LeastResponseTime(rule) = self {
            load.measures().chosen(moment.now_ms, rule.forgive_s);
        }
    }

    /// Computes the key. It is below 2^31 where servers take turns, for up to eight million requests per
    /// server; else below 2^43.
    pub(crate) fn key(self, entrant: &Candidate, active: u32, moment: Moment) -> u64 {
        const EFFECTIVE_WEIGHT_SCALE: u64 = 16;
        const EFFECTIVE_WEIGHT_MAX: u64 = 256 * EFFECTIVE_WEIGHT_SCALE;
        let active = u64::from(active);
        let load = &*entrant.load;
        let weight = u64::from(entrant.weight.get()).max(1);
        // The share is in thousandths, as the portion is.
        let share = u64::from(entrant.share()).max(1);
        let per_weight =
            |load: u64| ((load << FRACTION_BITS).saturating_mul(WHOLE) / share).min(PER_WEIGHT_MAX);
        let lightest_last = u64::from(Weight::MAX.get()) - weight;
        match self {
            Self::LeastConnections if active == 0 => 0,
            Self::LeastConnections => {
                let of_weight_one = (active + 1) * (EFFECTIVE_WEIGHT_MAX / EFFECTIVE_WEIGHT_SCALE);
                // Most servers have weight 1. Each request computes four keys, and the division is the
                // slowest part of each.
                if share == WHOLE { of_weight_one } else { of_weight_one * WHOLE / share }
            }
            Self::IpvsLeastConnections => active,
            Self::IpvsWeightedLeastConnections => per_weight(active),
            Self::NeverQueue if active == 0 => 0,
            Self::ShortestExpectedDelay | Self::NeverQueue => per_weight(active + 1),
            Self::First => 0,
            Self::Failover => lightest_last,
            Self::Overflow if active * WHOLE <= share => lightest_last,
            Self::Overflow => OVERFLOWING + per_weight(active),
            Self::LeastResponseTime(rule) => ordered(rule.eta_ms(load, active, moment), share),
            Self::LeastBandwidth => ordered(load.measures().traffic.bytes(moment.now_ms), share),
            Self::FairPart => load_key(active, share),
        }
    }
}

impl ResponseRule {
    /// Returns NGINX's estimate of the time in which the server finishes all its work, the new request
    /// included.
    fn eta_ms(self, load: &ServerLoad, active: u64, moment: Moment) -> u64 {
        /// Slower servers count as equally slow; then only the number of requests decides.
        const WORST_MS: u64 = 5_000;
        /// Response times within one such step count as equal, so that servers of similar speed take turns.
        const STEP_MS: u64 = 20;
        let measures = load.measures();
        let average: &Average = match self.until {
            ResponseEnd::Header => &measures.head,
            ResponseEnd::LastByte => &measures.whole,
        };
        let halvings = measures.halvings(moment.now_ms, self.forgive_s);
        let mut time_ms = average.ms().checked_shr(halvings).unwrap_or(0);
        if let Some(waited_ms) = self.inflight.then(|| measures.waiting.sampled_ms(moment)).flatten() {
            time_ms = time_ms.max(waited_ms);
        }
        let step_ms = if time_ms > WORST_MS { WORST_MS } else { time_ms + STEP_MS - time_ms % STEP_MS };
        step_ms * (active + 1)
    }
}

/// Returns `value` / `share` as a 31-bit number that keeps the order, to 24 binary digits. Equal quotients
/// give equal numbers.
fn ordered(value: u64, share: u64) -> u64 {
    // The bit patterns of positive floating point numbers sort like the numbers.
    ((value as f64 * WHOLE as f64 / share as f64) as f32).to_bits().into()
}
