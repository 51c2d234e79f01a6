//! Prints the part of a snapshot that `weir ctl show` selects.

use weir_control::{
    NameFilter, Override, PoolSnapshot, RuntimeState, Snapshot, TransferSnapshot, What, human,
};

use super::table::{Align, Cell, Style, Table};
use super::tables;

/// Prints the selected part of a snapshot.
pub(super) fn snapshot(snapshot: &Snapshot, what: What, style: Style) -> String {
    let all = NameFilter::default();
    match what {
        What::Process => tables::process(&snapshot.process, style),
        What::Listeners => tables::listeners(&snapshot.listeners, style),
        What::Pools => {
            let pools: Vec<_> = snapshot.pools.iter().map(|pool| tables::pool(pool, &all, style)).collect();
            pools.join("\n")
        }
        What::Sticky => sticky(&snapshot.pools, style),
        What::Fleets => crate::fleet::status(&snapshot.fleets, style),
        What::Transfers => transfers(&snapshot.transfers.live, style),
        What::All | What::Runtime => tables::snapshot(snapshot, &all, style),
    }
}

/// Prints the pools with sticky clients.
fn sticky(pools: &[PoolSnapshot], style: Style) -> String {
    const COLUMNS: [(&str, Align); 9] = [
        ("POOL", Align::Left),
        ("BY", Align::Left),
        ("HITS", Align::Right),
        ("MISSES", Align::Right),
        ("REDISPATCHES", Align::Right),
        ("ENTRIES", Align::Right),
        ("LIMIT", Align::Right),
        ("EXPIRED", Align::Right),
        ("EVICTED", Align::Right),
    ];
    let mut table = Table::new(&COLUMNS);
    for (pool, sticky) in pools.iter().filter_map(|pool| Some((pool, pool.sticky.as_ref()?))) {
        let counts = [sticky.hits, sticky.misses, sticky.redispatches];
        let entries = match sticky.table {
            Some(table) => [table.entries, table.entries_max, table.expired, table.evicted].map(human::count),
            // Sticky cookies are stored by the clients, not in a table.
            None => ["-"; 4].map(str::to_owned),
        };
        let mut row: Vec<Cell> = vec![pool.name.as_str().into(), sticky.method.as_str().into()];
        row.extend(counts.map(|count| human::count(count).into()));
        row.extend(entries.map(Cell::from));
        table.row(row);
    }
    if pools.is_empty() { "no pool is sticky\n".to_owned() } else { table.render("", style) }
}

/// Prints the transfers between storage areas and other servers.
pub(crate) fn transfers(live: &[TransferSnapshot], style: Style) -> String {
    const COLUMNS: [(&str, Align); 9] = [
        ("ID", Align::Right),
        ("AREA", Align::Left),
        ("WAY", Align::Left),
        ("PEER", Align::Left),
        ("STATE", Align::Left),
        ("BYTES", Align::Right),
        ("RATE", Align::Right),
        ("AGE", Align::Right),
        ("PATH", Align::Left),
    ];
    if live.is_empty() {
        return "no transfer is under way\n".to_owned();
    }
    let mut table = Table::new(&COLUMNS);
    for transfer in live {
        let bytes = match transfer.size {
            Some(size) => format!("{} of {}", human::bytes(transfer.bytes), human::bytes(size)),
            None => human::bytes(transfer.bytes),
        };
        table.row(vec![
            transfer.id.to_string().into(),
            transfer.area.as_str().into(),
            transfer.direction.as_str().into(),
            transfer.peer.as_str().into(),
            transfer.state.as_str().into(),
            bytes.into(),
            format!("{}/s", human::bytes(transfer.bytes_per_second)).into(),
            human::span(transfer.age_ms).into(),
            transfer.path.as_str().into(),
        ]);
    }
    table.render("", style)
}

/// Prints the runtime changes.
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
        let weight = if added.auto_weight { "auto".to_owned() } else { added.weight.to_string() };
        parts.push(format!("added at {}, weight {weight}", added.address));
        if added.backup {
            parts.push("backup".to_owned());
        }
        if added.priority > 0 {
            parts.push(format!("priority {}", added.priority));
        }
        parts.extend(added.zone.as_ref().map(|zone| format!("in zone {zone}")));
        parts.extend(added.agent_port.map(|port| format!("agent at port {port}")));
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
