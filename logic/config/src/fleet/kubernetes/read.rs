//! Reads `[fleet.NAME.kubernetes]`.

use weir_scale::{Leaver, Rules, Standby};

use crate::common::choice::exactly_one;
use crate::common::paths::path_if;
use crate::fleet::plan::{FleetPods, FleetWorkload};
use crate::syntax::tree::{Node, short};
use crate::values::table::Table;

/// Reads `[fleet.NAME.kubernetes]`.
pub(crate) fn pods(table: &Table<'_, '_>) -> Option<FleetPods> {
    let (key, ()) = exactly_one(table, [("deployment", ()), ("statefulset", ())])?;
    let name = name(table, key);
    let text = |key: &str| table.get(key).map(|_| self::name(table, key));
    Some(FleetPods {
        kubeconfig: path_if(table, "kubeconfig"),
        context: table.text_if("context").map(|text| text.value),
        namespace: text("namespace"),
        workload: match key {
            "deployment" => FleetWorkload::Deployment(name),
            _ => FleetWorkload::StatefulSet(name),
        },
        service: self::name(table, "service"),
        port_name: text("port-name"),
        start_timeout: table.duration("start-timeout"),
        timeout: table.duration("timeout"),
    })
}

/// Reports settings of the fleet that pods do not support, and adapts its rules.
pub(crate) fn suit(table: &Table<'_, '_>, pods: &FleetPods, rules: &mut Rules) {
    for key in ["standby", "prepared"] {
        if let Some(node) = table.get(key).filter(|node| node.integer().is_some_and(|number| number > 0)) {
            table.error(
                key,
                node.span,
                "pods cannot be stopped and woken: with kubernetes there is no standby",
            );
        }
    }
    rules.standby = Standby::default();
    if matches!(pods.workload, FleetWorkload::StatefulSet(_)) {
        if let (Some(node), false) = (table.get("goes-first"), rules.leaver == Leaver::Last) {
            let message =
                "of a StatefulSet the pod with the highest number goes: only \"last\" can stand here";
            table.error("goes-first", node.span, message);
        }
        rules.leaver = Leaver::Last;
    }
}

/// Reads a DNS name (RFC 1123), the syntax of Kubernetes object names.
fn name(table: &Table<'_, '_>, key: &str) -> String {
    let name = table.text(key);
    let permitted = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let inner = |c: char| "-.".contains(c);
    let good = (1..=253).contains(&name.len())
        && name.chars().all(permitted)
        && !name.starts_with(inner)
        && !name.ends_with(inner);
    if let (Some(node), false) = (table.get(key).filter(|node: &&Node| node.text().is_some()), good) {
        let message = format!("{:?} cannot be a name in Kubernetes: a-z, 0-9, - and .", short(&name));
        table.error(key, node.span, message);
    }
    name
}
