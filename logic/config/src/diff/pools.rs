//! Finds pools and servers that were added, removed or changed.

use super::Change;
use crate::common::named::Named;
use crate::plan::PoolPlan;
use crate::pool::diff::changed_parts;

pub(super) fn diff(old: &[PoolPlan], new: &[PoolPlan], changes: &mut Vec<Change>) {
    let named = Named::new(old, new, |pool| &pool.name);
    changes.extend(named.removed.into_iter().cloned().map(Change::PoolRemoved));
    for (old, new) in named.kept {
        let parts = changed_parts(old, new);
        if !parts.is_empty() {
            let pool = Box::new(PoolPlan { servers: Vec::new(), ..new.clone() });
            changes.push(Change::PoolChanged { pool, parts });
        }
        diff_servers(old, new, changes);
    }
    changes.extend(named.added.into_iter().cloned().map(Box::new).map(Change::PoolAdded));
    changes.extend(named.order.map(Change::PoolsReordered));
}

fn diff_servers(old: &PoolPlan, new: &PoolPlan, changes: &mut Vec<Change>) {
    let pool = || new.name.clone();
    let named = Named::new(&old.servers, &new.servers, |server| &server.name);
    let removed = named.removed.into_iter().cloned();
    changes.extend(removed.map(|server| Change::ServerRemoved { pool: pool(), server }));
    let changed = named.kept.into_iter().filter(|(old, new)| old != new).map(|(_, new)| new.clone());
    changes.extend(changed.map(|server| Change::ServerChanged { pool: pool(), server }));
    let added = named.added.into_iter().cloned();
    changes.extend(added.map(|server| Change::ServerAdded { pool: pool(), server }));
    changes.extend(named.order.map(|order| Change::ServersReordered { pool: pool(), order }));
}
