//! Lists changed keys of the process that take effect only after a restart.

use super::plan::{AdminPlan, ProcessPlan};
use crate::common::named::parts;

/// Returns the changed keys of `[weir]` that need a restart.
pub(crate) fn restart(old: &ProcessPlan, new: &ProcessPlan) -> Vec<&'static str> {
    parts([
        (old.workers != new.workers, "weir.workers"),
        (old.connections_max != new.connections_max, "weir.max-connections"),
        (old.control != new.control, "weir.control"),
        (old.state != new.state, "weir.state"),
        (old.node != new.node, "weir.node"),
        (old.user != new.user, "weir.user"),
        (old.group != new.group, "weir.group"),
        (old.sandbox != new.sandbox, "weir.sandbox"),
        (old.act_as_ids != new.act_as_ids, "weir.act-as-ids"),
        (old.core_dumps != new.core_dumps, "weir.core-dumps"),
    ])
}

/// Returns the changed keys of `[admin]` that need a restart.
pub(crate) fn admin_restart(was: Option<&AdminPlan>, is: Option<&AdminPlan>) -> Vec<&'static str> {
    parts([
        (was.map(|it| &it.bind) != is.map(|it| &it.bind), "admin.bind"),
        (was.map_or(&[][..], |it| &it.allow) != is.map_or(&[][..], |it| &it.allow), "admin.allow"),
        (was.and_then(|it| it.htpasswd.as_ref()) != is.and_then(|it| it.htpasswd.as_ref()), "admin.htpasswd"),
        (was.and_then(|it| it.tls.as_ref()) != is.and_then(|it| it.tls.as_ref()), "admin.tls"),
        (was.map_or(&[][..], |it| &it.hosts) != is.map_or(&[][..], |it| &it.hosts), "admin.hosts"),
    ])
}
