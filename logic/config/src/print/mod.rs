//! The plan as a config with every default written out. Loading it gives the same plan again (but for the places that
//! routes remember).

mod balance;
mod fleet;
mod lease;
mod listener;
mod paths;
mod pool;
mod process;
mod route;
mod sticky;
mod storage;
mod third_party;
mod writer;

use crate::Plan;
use writer::Writer;

pub(crate) use fleet::rules;
pub use route::{host_text, path_text};

/// The plan as TOML, for people and for [`crate::load`].
pub fn print(plan: &Plan) -> String {
    let mut writer = Writer::default();
    process::print(&mut writer, plan);
    for listener in &plan.listeners {
        listener::print(&mut writer, plan, listener);
    }
    route::print_all(&mut writer, plan);
    for pool in &plan.pools {
        pool::print(&mut writer, pool);
    }
    plan.fleets.iter().for_each(|fleet| fleet::print(&mut writer, fleet));
    plan.storage_areas.iter().for_each(|area| storage::area(&mut writer, area));
    plan.token_issuers.iter().for_each(|issuer| storage::issuer(&mut writer, issuer));
    plan.token_endpoints.iter().for_each(|endpoint| storage::endpoint(&mut writer, endpoint));
    if !plan.storage_areas.is_empty() {
        third_party::print(&mut writer, &plan.third_party_copy);
    }
    writer.finish()
}
