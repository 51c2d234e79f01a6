//! Reads the settings for tiers, zones, subsets and new servers.

use weir_balance::{Hundredths, SlowStart, Subset, ZoneRule};
use weir_model::ZoneName;

use crate::common::zone::{name, zone_name};
use crate::pool::plan::AgentPlan;
use crate::syntax::tree::{Node, Value};
use crate::values::table::Table;

/// Reads `slow-start = "30s"`, or its long form, of a pool or of a scenario's balancer.
pub(crate) fn slow_start(pool: &Table<'_, '_>) -> Option<SlowStart> {
    if pool.is_off("slow-start") {
        return None;
    }
    let table = pool.table("slow-start");
    let is_long = pool.get("slow-start").is_some_and(is_table);
    Some(SlowStart {
        window: if is_long { table.duration("window") } else { pool.duration("slow-start") },
        aggression: Hundredths(table.share("aggression").into()),
        min_percent: table.percent("min-weight"),
    })
}

/// Zone settings of a pool; `own` is `None` if the pool has no zone of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZoneSpec {
    pub(crate) own: Option<ZoneName>,
    pub(crate) is_off: bool,
    pub(crate) rule: ZoneRule,
}

pub(crate) fn zone(pool: &Table<'_, '_>) -> ZoneSpec {
    let table = pool.table("zone");
    let own = match pool.get("zone") {
        Some(node) if is_table(node) => name(&table, "name"),
        _ => zone_name(pool),
    };
    let is_off = pool.get("zone").is_some_and(|node| node.flag() == Some(false));
    ZoneSpec { own, is_off, rule: ZoneRule { stay_percent: table.percent("stay") } }
}

pub(crate) fn subset(pool: &Table<'_, '_>) -> Option<Subset> {
    let table = pool.table("subset");
    if pool.is_off("subset") {
        return None;
    }
    let subset = Subset {
        size: table.number("size"),
        instance: table.number("instance"),
        instances: table.number("instances"),
    };
    if let (Some(node), true) = (table.get("instance"), subset.instance >= subset.instances) {
        let message = format!("{} of {} instances: the first is 0", subset.instance, subset.instances);
        table.error("instance", node.span, message);
    }
    Some(subset)
}

pub(crate) fn agent(pool: &Table<'_, '_>) -> Option<AgentPlan> {
    let table = pool.table("agent");
    (!pool.is_off("agent")).then(|| AgentPlan {
        port: table.number("port"),
        interval: table.duration("interval"),
        timeout: table.duration("timeout"),
        send: table.text_if("send").map(|text| text.value),
    })
}

fn is_table(node: &Node) -> bool {
    matches!(node.value, Value::Table(_))
}
