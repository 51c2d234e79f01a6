use super::Change;
use super::named::parts;
use crate::Plan;

pub(super) fn diff(old: &Plan, new: &Plan, changes: &mut Vec<Change>) {
    if old.process != new.process {
        let restart = parts([
            (old.process.workers != new.process.workers, "weir.workers"),
            (old.process.connections_max != new.process.connections_max, "weir.max-connections"),
            (old.process.control != new.process.control, "weir.control"),
            (old.process.state != new.process.state, "weir.state"),
            (old.process.node != new.process.node, "weir.node"),
        ]);
        changes.push(Change::Process { process: new.process.clone(), restart });
    }
    if old.admin != new.admin {
        changes.push(Change::Admin(new.admin.clone()));
    }
    if old.access_log != new.access_log {
        changes.push(Change::AccessLog(new.access_log.clone()));
    }
    if old.resolver != new.resolver {
        changes.push(Change::Resolver(new.resolver.clone()));
    }
    if old.error_pages != new.error_pages {
        changes.push(Change::ErrorPages(new.error_pages.clone()));
    }
}
