//! Resolves fleets: finds their pools, and reports things that fleets must not share.

use std::path::Path;

use weir_scale::SignalKind;

use super::pools::unknown;
use crate::fleet::read::FleetSpec;
use crate::plan::{FleetBalancer, FleetPlan, HaproxyBackend};
use crate::pool::read::PoolSpec;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;

/// Files and directories that two fleets must not share, because they would disturb each other silently.
const FILES: [(&str, PathsOf); 4] = [
    ("directory", |plan| vec![plan.directory.as_path()]),
    ("lease", |plan| plan.lease.file().into_iter().collect()),
    ("history", |plan| plan.history.iter().map(|history| history.file.as_path()).collect()),
    ("configuration of HAProxy", |plan| match &plan.balancer {
        FleetBalancer::Haproxy(HaproxyBackend { template: Some(template), .. }) => {
            vec![template.config.as_path()]
        }
        _ => Vec::new(),
    }),
];

type PathsOf = fn(&FleetPlan) -> Vec<&Path>;

/// Resolves fleets. Each fleet needs its own pool, with checks, and its own directory.
pub(super) fn resolve(cx: &Context<'_>, pools: &[PoolSpec], fleets: Vec<FleetSpec>) -> Vec<FleetPlan> {
    for (at, fleet) in fleets.iter().enumerate() {
        let before = &fleets[..at];
        for (what, of) in FILES {
            let ours = of(&fleet.plan);
            let same = |other: &&FleetSpec| of(&other.plan).iter().any(|path| ours.contains(path));
            if let Some(other) = before.iter().find(same) {
                let message = format!("{}: fleet {} has this {what} already", fleet.subject, other.plan.name);
                cx.report(Problem::error(fleet.name, message).also(other.name, "the other fleet"));
                // The files in a shared directory are the same, too.
                if what == "directory" {
                    break;
                }
            }
        }
        if let Some(store) = fleet.plan.lease.store() {
            let same =
                |other: &&FleetSpec| other.plan.lease.store().is_some_and(|there| there.is_same(store));
            if let Some(other) = before.iter().find(same) {
                let message = format!(
                    "{}: fleet {} has the key {} there already",
                    fleet.subject, other.plan.name, store.key
                );
                cx.report(Problem::error(fleet.name, message).also(other.name, "the other fleet"));
            }
        }
        let same = |other: &&FleetSpec| other.plan.balancer.is_same(&fleet.plan.balancer);
        if let Some(other) = before.iter().find(same) {
            let what = match &fleet.plan.balancer {
                FleetBalancer::Pool(pool) => format!("pool {pool}"),
                FleetBalancer::Haproxy(haproxy) => format!("backend {}", haproxy.backend),
            };
            let message = format!("{}: {what} has fleet {} already", fleet.subject, other.plan.name);
            cx.report(Problem::error(fleet.name, message).also(other.name, "the other fleet"));
        }
        let Some(named) = &fleet.pool else { continue };
        match pools.iter().find(|pool| pool.name.value.as_str() == named.value) {
            Some(pool) if pool.plan.check.is_none() => {
                let message = format!(
                    "{}: pool {} has no check: new servers would get requests before they can answer them",
                    fleet.subject, pool.name.value
                );
                let problem = Problem::error(named.span, message).also(pool.name.span, "the pool");
                cx.report(problem.help("add one to the pool, such as check = \"GET /health\""));
            }
            Some(pool) if pool.plan.agent.is_none() && goes_by_cpu(fleet) => {
                let message = format!(
                    "{}: pool {} has no agent: nobody tells how busy processors are",
                    fleet.subject, pool.name.value
                );
                let problem = Problem::error(named.span, message).also(pool.name.span, "the pool");
                cx.report(
                    problem.help("give the pool one, such as agent = 9999, whose answers have a cpu:63%"),
                );
            }
            Some(_) => {}
            None if cx.is_incomplete() => {}
            None => {
                let names = pools.iter().map(|pool| pool.name.value.as_str());
                cx.report(unknown(cx, &fleet.subject, "pool", named, names));
            }
        }
    }
    let of_fleet = |pool: &PoolSpec| fleets.iter().any(|fleet| fleet.plan.pool() == Some(&pool.name.value));
    for (pool, at) in pools.iter().filter_map(|pool| Some((pool, pool.empty_at?))) {
        if !of_fleet(pool) {
            let message = format!(
                "pool {}: no servers: requests are answered as if all were down until one is added",
                pool.name.value
            );
            cx.report(Problem::warning(at, message));
        }
    }
    fleets.into_iter().map(|fleet| fleet.plan).collect()
}

fn goes_by_cpu(fleet: &FleetSpec) -> bool {
    fleet.plan.rules.signals.iter().any(|signal| signal.kind == SignalKind::Cpu)
}
