//! Turns a Spec into a Plan: replaces names by indices, and reports values that do not fit together.

mod bind;
mod fleet;
mod listener;
mod paths;
mod pools;
mod route;
mod storage;
mod token_endpoint;
mod unreachable;

use crate::Plan;
use crate::plan::{ListenerPlan, Mode};
use crate::pool::read::PoolSpec;
use crate::spec::Spec;
use crate::storage::read::AreaSpecs;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::Located;

/// Resolves a spec. The plan is meaningless if any error has been reported.
pub(crate) fn resolve(cx: &Context<'_>, spec: Spec) -> Plan {
    let mut pools = pools::Pools::new(&spec.pools);
    let mut areas = storage::Areas::new(&spec.storage_areas);
    bind::check(cx, &spec);
    let routes = route::by_listener(cx, &mut pools, &mut areas, &spec);
    let listeners = listener::resolve(cx, &mut pools, &mut areas, spec.listeners, routes);
    for (subject, area) in spec.pools.iter().flat_map(|pool| &pool.areas) {
        areas.find(cx, subject, area);
    }
    uploads_have_a_place(cx, &spec.pools, &spec.storage_areas);
    pools.warn_of_unused(cx);
    areas.warn_of_unused(cx);
    http_only(cx, &listeners, &spec.pools);
    let fleets = fleet::resolve(cx, &spec.pools, spec.fleets);
    let mut areas = spec.storage_areas;
    let token_endpoints = token_endpoint::resolve(cx, &mut areas, &spec.token_issuers, spec.token_endpoints);
    let (storage_areas, token_issuers) = storage::resolve(cx, areas, spec.token_issuers);
    let zone = spec.process.zone.clone();
    Plan {
        process: spec.process,
        admin: spec.admin.map(|admin| admin.value),
        access_log: spec.access_log,
        resolver: spec.resolver,
        listeners,
        pools: spec.pools.into_iter().map(|pool| pool.in_zone(zone.as_ref())).collect(),
        fleets,
        storage_areas,
        token_issuers,
        token_endpoints,
        third_party_copy: spec.third_party_copy,
        error_pages: spec.error_pages,
    }
}

/// Reports pools that store uploads in areas without write access.
fn uploads_have_a_place(cx: &Context<'_>, pools: &[PoolSpec], areas: &[AreaSpecs]) {
    let stores = |pool: &&PoolSpec| pool.plan.offload.as_ref().is_some_and(|offload| offload.uploads);
    for pool in pools.iter().filter(stores) {
        let named = |name: &str| areas.iter().find(|area| area.plan.name.as_str() == name);
        let is_writable =
            |(_, area): &(_, Located<String>)| named(&area.value).is_none_or(|area| !area.plan.read_only);
        if let Some((_, area)) = pool.areas.first()
            && !pool.areas.iter().any(is_writable)
        {
            let message = format!(
                "pool {}: offload.uploads: nothing can be written in the storage areas of its locations",
                pool.name.value
            );
            cx.report(Problem::error(area.span, message));
        }
    }
}

/// Reports settings of pools that a TCP listener does not support.
fn http_only(cx: &Context<'_>, listeners: &[ListenerPlan], pools: &[PoolSpec]) {
    for listener in listeners {
        let Mode::Tcp(tcp) = &listener.mode else { continue };
        let used = tcp.sni_routes.iter().map(|route| route.pool).chain(tcp.pool);
        for pool in used.filter_map(|index| pools.get(index)) {
            let keys = [
                ("concurrency", pool.plan.concurrency.is_some()),
                ("hedge", pool.plan.hedge.is_some()),
                ("redirect", pool.plan.redirect.is_some()),
                ("offload", pool.plan.offload.is_some()),
            ];
            for (key, _) in keys.iter().filter(|(_, is_there)| *is_there) {
                let message = format!(
                    "pool {}: {key}: goes by requests, and listener {} speaks TCP",
                    pool.name.value, listener.name
                );
                cx.report(Problem::error(pool.name.span, message));
            }
        }
    }
}
