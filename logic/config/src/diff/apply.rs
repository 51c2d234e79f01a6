//! Applies changes to a plan.

use weir_model::Name;

use super::Change;
use super::listeners::PoolsMoved;
use crate::Plan;
use crate::common::named::reorder;
use crate::plan::PoolPlan;

/// Applies `changes` to `old` and returns the new plan. Leaves out changes that were made for another plan
/// and do not fit.
pub fn apply(old: &Plan, changes: &[Change]) -> Plan {
    let mut plan = old.clone();
    for change in changes {
        apply_to_pools(&mut plan.pools, change);
    }
    let moved = PoolsMoved::new(&old.pools, &plan.pools);
    plan.listeners = old.listeners.iter().map(|listener| moved.moved(listener)).collect();
    for change in changes {
        apply_to_rest(&mut plan, change);
    }
    plan
}

fn apply_to_pools(pools: &mut Vec<PoolPlan>, change: &Change) {
    match change {
        Change::PoolAdded(pool) => pools.push((**pool).clone()),
        Change::PoolRemoved(name) => pools.retain(|pool| pool.name != *name),
        Change::PoolsReordered(order) => reorder(pools, order, |pool| &pool.name),
        Change::PoolChanged { pool: new, .. } => {
            if let Some(pool) = find(pools, &new.name) {
                let servers = std::mem::take(&mut pool.servers);
                *pool = PoolPlan { servers, ..(**new).clone() };
            }
        }
        Change::ServerAdded { pool, server } => {
            if let Some(pool) = find(pools, pool) {
                pool.servers.push(server.clone());
            }
        }
        Change::ServerRemoved { pool, server } => {
            if let Some(pool) = find(pools, pool) {
                pool.servers.retain(|there| there.name != *server);
            }
        }
        Change::ServerChanged { pool, server } => {
            let servers = find(pools, pool).map(|pool| &mut pool.servers);
            if let Some(there) =
                servers.and_then(|servers| servers.iter_mut().find(|there| there.name == server.name))
            {
                *there = server.clone();
            }
        }
        Change::ServersReordered { pool, order } => {
            if let Some(pool) = find(pools, pool) {
                reorder(&mut pool.servers, order, |server| &server.name);
            }
        }
        _ => {}
    }
}

fn apply_to_rest(plan: &mut Plan, change: &Change) {
    match change {
        Change::Process { process, .. } => plan.process = process.clone(),
        Change::Admin { admin, .. } => plan.admin.clone_from(admin),
        Change::AccessLog(log) => plan.access_log.clone_from(log),
        Change::Resolver(resolver) => plan.resolver = resolver.clone(),
        Change::ErrorPages(pages) => plan.error_pages.clone_from(pages),
        Change::ListenerAdded(listener) => plan.listeners.push((**listener).clone()),
        Change::ListenerRemoved(name) => plan.listeners.retain(|listener| listener.name != *name),
        Change::ListenerChanged { listener: new, .. } => {
            if let Some(listener) = plan.listeners.iter_mut().find(|listener| listener.name == new.name) {
                *listener = (**new).clone();
            }
        }
        Change::Fleets { fleets, .. } => plan.fleets.clone_from(fleets),
        Change::StorageAreas { areas, .. } => plan.storage_areas.clone_from(areas),
        Change::TokenIssuers(issuers) => plan.token_issuers.clone_from(issuers),
        Change::TokenEndpoints(endpoints) => plan.token_endpoints.clone_from(endpoints),
        Change::ThirdPartyCopy(copy) => plan.third_party_copy = copy.clone(),
        Change::ListenersReordered(order) => reorder(&mut plan.listeners, order, |listener| &listener.name),
        _ => {}
    }
}

fn find<'p>(pools: &'p mut [PoolPlan], name: &Name) -> Option<&'p mut PoolPlan> {
    pools.iter_mut().find(|pool| pool.name == *name)
}
