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
            (old.process.user != new.process.user, "weir.user"),
            (old.process.group != new.process.group, "weir.group"),
            (old.process.sandbox != new.process.sandbox, "weir.sandbox"),
            (old.process.act_as_ids != new.process.act_as_ids, "weir.act-as-ids"),
            (old.process.core_dumps != new.process.core_dumps, "weir.core-dumps"),
        ]);
        changes.push(Change::Process { process: new.process.clone(), restart });
    }
    if old.admin != new.admin {
        let (was, is) = (old.admin.as_ref(), new.admin.as_ref());
        let restart = parts([
            (was.map(|it| &it.bind) != is.map(|it| &it.bind), "admin.bind"),
            (was.map_or(&[][..], |it| &it.allow) != is.map_or(&[][..], |it| &it.allow), "admin.allow"),
            (
                was.and_then(|it| it.htpasswd.as_ref()) != is.and_then(|it| it.htpasswd.as_ref()),
                "admin.htpasswd",
            ),
            (was.and_then(|it| it.tls.as_ref()) != is.and_then(|it| it.tls.as_ref()), "admin.tls"),
            (was.map_or(&[][..], |it| &it.hosts) != is.map_or(&[][..], |it| &it.hosts), "admin.hosts"),
        ]);
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
