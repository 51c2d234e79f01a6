//! Prints a plan as a config with all defaults. Loading that config gives the same plan, except for the
//! positions of routes in the file.

use crate::common::writer::Writer;
use crate::listener::route;
use crate::storage::third_party;
use crate::{Plan, fleet, listener, pool, process, storage};

/// Returns the plan as TOML, for readers and for [`crate::load`].
pub fn print(plan: &Plan) -> String {
    let mut writer = Writer::default();
    process::print::print(&mut writer, &plan.process);
    if let Some(admin) = &plan.admin {
        process::print::admin(&mut writer, admin);
    }
    if let Some(log) = &plan.access_log {
        process::print::access_log(&mut writer, log);
    }
    process::print::resolver(&mut writer, &plan.resolver);
    process::print::error_pages(&mut writer, &plan.error_pages);
    for listener in &plan.listeners {
        listener::print::print(&mut writer, &plan.pools, listener);
    }
    route::print::print_all(&mut writer, &plan.listeners, &plan.pools);
    for pool in &plan.pools {
        pool::print::print(&mut writer, pool);
    }
    plan.fleets.iter().for_each(|fleet| fleet::print::print(&mut writer, fleet));
    plan.storage_areas.iter().for_each(|area| storage::print::area(&mut writer, area));
    plan.token_issuers.iter().for_each(|issuer| storage::print::issuer(&mut writer, issuer));
    plan.token_endpoints.iter().for_each(|endpoint| storage::print::endpoint(&mut writer, endpoint));
    if !plan.storage_areas.is_empty() {
        third_party::print::print(&mut writer, &plan.third_party_copy);
    }
    writer.finish()
}
