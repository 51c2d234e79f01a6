//! Latency of a balancer in an open loop.

use std::time::Duration;

use serde::Serialize;

use crate::cpu;
use crate::error::Result;
use crate::openloop::{self, Arrivals, Load};
use crate::origin::Origin;
use crate::priority::{Ahead, First};
use crate::rivals::Balancer;
use crate::stalls::Lookouts;
use crate::statistics::quantile;
use crate::workshop::Workshop;

/// Result of one open-loop turn.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    pub(crate) rate_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
    /// Share of the requests that were left out because the machine stalled, 0 to 1.
    pub(crate) stalled: f64,
    /// True if the schedule was kept and the machine rarely stalled; otherwise the turn is shown and not
    /// judged.
    pub(crate) valid: bool,
    pub(crate) cpu_us_per_request: f64,
    /// Number of earlier attempts that did not keep the schedule.
    pub(crate) rejected: usize,
}

/// Most attempts at a turn that keeps its schedule. A late generator says nothing about the balancer, so
/// leaving out such attempts is fair.
const ATTEMPTS_MAX: usize = 6;

/// Returns the first attempt that keeps its schedule, or the last one.
pub(crate) fn measure(
    workshop: &Workshop,
    origin: &Origin,
    balancer: &Balancer,
    rate_per_s: f64,
    turn: Duration,
) -> Result<Sample> {
    // Otherwise, kernel work on these cores would affect one contestant and not another.
    let _ahead = Ahead::of(&[origin.pid(), balancer.process.pid()])?;
    let attempt = || attempt(workshop, balancer, rate_per_s, turn);
    let mut sample = attempt()?;
    while !sample.valid && sample.rejected + 1 < ATTEMPTS_MAX {
        sample = Sample { rejected: sample.rejected + 1, ..attempt()? };
    }
    Ok(sample)
}

/// Connections of the open loop: more than the responses in flight at half of any peak rate.
pub(crate) const CONNECTIONS: usize = 128;

/// Largest share of requests that may be left out of a turn that is judged.
const STALLED_MAX: f64 = 0.5;

/// Runs an open loop against a balancer once.
fn attempt(workshop: &Workshop, balancer: &Balancer, rate_per_s: f64, turn: Duration) -> Result<Sample> {
    let load = Load {
        address: balancer.address,
        path: "/1k",
        rate_per_s,
        arrivals: Arrivals::Even,
        duration: Duration::from_secs(1),
        connections: CONNECTIONS,
    };
    // The origin shares this core; a request that is due must not wait for it.
    let _first = First::on_this_core()?;
    openloop::run(&load)?;
    let lookouts = Lookouts::post(workshop)?;
    let before = cpu::cpu_time(balancer.process.pid());
    let outcome = openloop::run(&Load { duration: turn, ..load })?;
    let spent = cpu::cpu_time(balancer.process.pid()).saturating_sub(before);
    let all = outcome.answered.len().max(1) as f64;
    let outcome = outcome.outside(&lookouts.stalls()?);
    let stalled = 1.0 - outcome.answered.len() as f64 / all;
    let latencies_ns = outcome.latencies_ns();
    let us = |share| quantile(&latencies_ns, share) as f64 / 1e3;
    Ok(Sample {
        rate_per_s,
        p50_us: us(0.5),
        p99_us: us(0.99),
        p999_us: us(0.999),
        stalled,
        valid: outcome.is_valid() && stalled <= STALLED_MAX,
        rejected: 0,
        cpu_us_per_request: spent.as_secs_f64() * 1e6 / all,
    })
}
