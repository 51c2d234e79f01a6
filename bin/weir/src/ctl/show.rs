use weir_control::{Override, RuntimeState, Snapshot, What};

use super::table::{Align, Style, Table};
use super::tables;

/// The part of a snapshot that was asked for.
pub(super) fn snapshot(snapshot: &Snapshot, what: What, style: Style) -> String {
    match what {
        What::Process => tables::process(&snapshot.process, style),
        What::Listeners => tables::listeners(&snapshot.listeners, style),
        What::Pools => {
            let pools: Vec<_> = snapshot.pools.iter().map(|pool| tables::pool(pool, style)).collect();
            pools.join("\n")
        }
        What::All | What::Runtime => tables::snapshot(snapshot, style),
    }
}

/// What was changed at runtime.
pub(super) fn runtime(state: &RuntimeState, style: Style) -> String {
    if state.is_empty() {
        return "nothing was changed at runtime\n".to_owned();
    }
    let mut table = Table::new(&[("POOL", Align::Left), ("SERVER", Align::Left), ("CHANGE", Align::Left)]);
    for (pool, server, change) in state.iter() {
        table.row(vec![pool.as_str().into(), server.as_str().into(), describe(change).into()]);
    }
    table.render("", style)
}

fn describe(change: &Override) -> String {
    let mut parts = Vec::new();
    if let Some(added) = &change.added {
        parts.push(format!("added at {}, weight {}", added.address, added.weight));
        if added.backup {
            parts.push("backup".to_owned());
        }
        parts.extend(added.connections_max.map(|max| format!("at most {max} at once")));
    }
    if change.removed {
        parts.push("removed".to_owned());
    }
    parts.extend(change.state.map(|state| state.to_string()));
    parts.extend(change.weight.map(|weight| format!("weight {weight}")));
    parts.extend(change.address.as_ref().map(|address| format!("at {address}")));
    parts.join(", ")
}
