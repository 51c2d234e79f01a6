use weir_model::Weight;

use crate::bounded_load::load_key;
use crate::measure::{Average, Moment};
use crate::{Algorithm, Candidate, Portion, ResponseEnd, Scheduling, ServerLoad};

/// How a server's load becomes the key that servers are compared by; the smallest is chosen.
///
/// Fractions have 16 bits behind the point: two that differ, with weights up to 256, differ by at least
/// 1/(256 * 256), and so do the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    /// HAProxy's leastconn (lb_fwlc.c): 0 for an idle server whatever its weight, else
    /// (inflight + 1) * 4096 / eweight, where the effective weight is 16 times the configured one.
    LeastConnections,
    /// ip_vs_lc.c: overhead = active * 256 + inactive, whatever the weight. A proxy's connections are all active (a closed
    /// one is no longer known here), so that active alone compares alike.
    IpvsLeastConnections,
    /// ip_vs_wlc.c: overhead / weight; as above.
    IpvsWeightedLeastConnections,
    /// ip_vs_sed.c: (active + 1) / weight.
    ShortestExpectedDelay,
    /// ip_vs_nq.c: any idle server, else as the shortest expected delay.
    NeverQueue,
    /// HAProxy's first (lb_fas.c): the order of the servers alone.
    First,
    /// ip_vs_fo.c: the highest weight.
    Failover,
    /// ip_vs_ovf.c: the highest weight of those with active <= weight; the others after them, by active / weight.
    Overflow,
    /// ngx_http_upstream_least_time_module.c: the estimated time for what it has to do, over its weight.
    LeastResponseTime(ResponseRule),
    /// NetScaler's least bandwidth: bytes in 14 seconds, over the weight.
    LeastBandwidth,
    /// Requests in flight over the weight: what a bound on loads goes by.
    FairPart,
}

/// What counts as a response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseRule {
    until: ResponseEnd,
    inflight: bool,
    /// NGINX's fail_timeout.
    forgive_s: u32,
}

/// A unit of weight of which all counts.
const WHOLE: u64 = Portion::WHOLE.get() as u64;
const FRACTION_BITS: u32 = 16;
/// Loads over weights count up to here: 64 million requests for each unit of weight.
const PER_WEIGHT_MAX: u64 = (1 << 42) - 1;
/// Above every key of a server that is not overflowing.
const OVERFLOWING: u64 = 1 << 42;

impl KeyRule {
    /// The rule of an algorithm that goes by keys.
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

    /// Whether equal keys are chosen in turn; else the first server in the pool's order is.
    pub(crate) fn takes_turns(self) -> bool {
        matches!(self, Self::LeastConnections | Self::LeastResponseTime(_) | Self::LeastBandwidth)
    }

    /// Whether a key changes while nothing happens at its server.
    pub(crate) fn goes_by_time(self) -> bool {
        matches!(self, Self::LeastResponseTime(_) | Self::LeastBandwidth)
    }

    /// Notes that a server has been chosen, where that counts.
    pub(crate) fn chosen(self, load: &ServerLoad, moment: Moment) {
        if let Self::LeastResponseTime(rule) = self {
            load.measures().chosen(moment.now_ms, rule.forgive_s);
        }
    }

    /// The key: below 2^31 where turns are taken, for requests up to eight million per server; else below 2^43.
    pub(crate) fn key(self, entrant: &Candidate, active: u32, moment: Moment) -> u64 {
        const EFFECTIVE_WEIGHT_SCALE: u64 = 16;
        const EFFECTIVE_WEIGHT_MAX: u64 = 256 * EFFECTIVE_WEIGHT_SCALE;
        let active = u64::from(active);
        let load = &*entrant.load;
        let weight = u64::from(entrant.weight.get()).max(1);
        // In thousandths, as what counts of a weight is.
        let share = u64::from(entrant.share()).max(1);
        let per_weight =
            |load: u64| ((load << FRACTION_BITS).saturating_mul(WHOLE) / share).min(PER_WEIGHT_MAX);
        let lightest_last = u64::from(Weight::MAX.get()) - weight;
        match self {
            Self::LeastConnections if active == 0 => 0,
            Self::LeastConnections => {
                let of_weight_one = (active + 1) * (EFFECTIVE_WEIGHT_MAX / EFFECTIVE_WEIGHT_SCALE);
                // What most servers weigh. A request has four keys worked out, and a division is what takes longest in it.
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
    /// NGINX's estimated time until the server has done what it has to do, the new request included.
    fn eta_ms(self, load: &ServerLoad, active: u64, moment: Moment) -> u64 {
        /// Slower ones are equally bad: then requests alone count.
        const WORST_MS: u64 = 5_000;
        /// Response times within such a step are equally good, so that close ones take turns.
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

/// `value` / `share` as a number of 31 bits that compares alike, to 24 binary digits: equal quotients are equal.
fn ordered(value: u64, share: u64) -> u64 {
    // The bits of positive floating point numbers are in the order of the numbers.
    ((value as f64 * WHOLE as f64 / share as f64) as f32).to_bits().into()
}
