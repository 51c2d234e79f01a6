//! Finds the parts of a pool that have changed.

use std::fmt;

use serde::Serialize;
use weir_balance::Membership;

use super::plan::PoolPlan;
use crate::common::named::parts;

/// A part of a pool that can change by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolPart {
    /// `balance`.
    Balance,
    /// `sticky`.
    Sticky,
    /// `max-connections`.
    MaxConnections,
    /// `queue`.
    Queue,
    /// `concurrency`.
    Concurrency,
    /// `check`.
    Check,
    /// `agent`.
    Agent,
    /// `slow-start`.
    SlowStart,
    /// `auto-weight`.
    AutoWeight,
    /// `min-healthy`.
    MinHealthy,
    /// `zone`.
    Zone,
    /// `subset`.
    Subset,
    /// `eject`.
    Eject,
    /// `breaker`.
    Breaker,
    /// `tls`.
    Tls,
    /// `proxy-protocol`.
    ProxyProtocol,
    /// `timeouts`.
    Timeouts,
    /// `retry`.
    Retry,
    /// `hedge`.
    Hedge,
    /// `reuse`.
    Reuse,
    /// `buffer-requests`.
    BufferRequests,
    /// `when-empty`.
    WhenEmpty,
    /// `redirect`.
    Redirect,
    /// `lenient`.
    Lenient,
    /// `offload`.
    Offload,
}

/// Returns the parts that differ between two pools, without their servers.
pub(crate) fn changed_parts(old: &PoolPlan, new: &PoolPlan) -> Vec<PoolPart> {
    // Names every field, so that the compiler reports a new field here.
    let PoolPlan {
        name: _,
        algorithm,
        hash,
        sticky,
        measure,
        servers: _,
        connections_max,
        queue,
        concurrency,
        check,
        agent,
        slow_start,
        auto_weight,
        membership: Membership { min_healthy_percent, zones, subset },
        zone,
        ejection,
        breaker,
        tls,
        proxy_protocol,
        timeouts,
        retry,
        hedge,
        reuse,
        collected_body_bytes_max,
        nobody_left,
        redirect,
        lenient,
        offload,
    } = old;
    parts([
        ((algorithm, hash, measure) != (&new.algorithm, &new.hash, &new.measure), PoolPart::Balance),
        (*sticky != new.sticky, PoolPart::Sticky),
        (*connections_max != new.connections_max, PoolPart::MaxConnections),
        (*queue != new.queue, PoolPart::Queue),
        (*concurrency != new.concurrency, PoolPart::Concurrency),
        (*check != new.check, PoolPart::Check),
        (*agent != new.agent, PoolPart::Agent),
        (*slow_start != new.slow_start, PoolPart::SlowStart),
        (*auto_weight != new.auto_weight, PoolPart::AutoWeight),
        (*min_healthy_percent != new.membership.min_healthy_percent, PoolPart::MinHealthy),
        ((zones, zone) != (&new.membership.zones, &new.zone), PoolPart::Zone),
        (*subset != new.membership.subset, PoolPart::Subset),
        (*ejection != new.ejection, PoolPart::Eject),
        (*breaker != new.breaker, PoolPart::Breaker),
        (*tls != new.tls, PoolPart::Tls),
        (*proxy_protocol != new.proxy_protocol, PoolPart::ProxyProtocol),
        (*timeouts != new.timeouts, PoolPart::Timeouts),
        (*retry != new.retry, PoolPart::Retry),
        (*hedge != new.hedge, PoolPart::Hedge),
        (*reuse != new.reuse, PoolPart::Reuse),
        (*collected_body_bytes_max != new.collected_body_bytes_max, PoolPart::BufferRequests),
        (*nobody_left != new.nobody_left, PoolPart::WhenEmpty),
        (*redirect != new.redirect, PoolPart::Redirect),
        (*lenient != new.lenient, PoolPart::Lenient),
        (*offload != new.offload, PoolPart::Offload),
    ])
}

impl fmt::Display for PoolPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Balance => "balance",
            Self::Sticky => "sticky",
            Self::MaxConnections => "max-connections",
            Self::Queue => "queue",
            Self::Concurrency => "concurrency",
            Self::Check => "check",
            Self::Agent => "agent",
            Self::SlowStart => "slow-start",
            Self::AutoWeight => "auto-weight",
            Self::MinHealthy => "min-healthy",
            Self::Zone => "zone",
            Self::Subset => "subset",
            Self::Eject => "eject",
            Self::Breaker => "breaker",
            Self::Tls => "tls",
            Self::ProxyProtocol => "proxy-protocol",
            Self::Timeouts => "timeouts",
            Self::Retry => "retry",
            Self::Hedge => "hedge",
            Self::Reuse => "reuse",
            Self::BufferRequests => "buffer-requests",
            Self::WhenEmpty => "when-empty",
            Self::Redirect => "redirect",
            Self::Lenient => "lenient",
            Self::Offload => "offload",
        })
    }
}
