//! Finds changes of the settings of the whole process.

use super::Change;
use crate::Plan;
use crate::process::diff::{admin_restart, restart};

pub(super) fn diff(old: &Plan, new: &Plan, changes: &mut Vec<Change>) {
    if old.process != new.process {
        let restart = restart(&old.process, &new.process);
        changes.push(Change::Process { process: new.process.clone(), restart });
    }
    if old.admin != new.admin {
        let restart = admin_restart(old.admin.as_ref(), new.admin.as_ref());
        changes.push(Change::Admin { admin: new.admin.clone(), restart });
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
