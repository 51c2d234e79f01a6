use std::path::Path;

use weir_model::BindAddress;

use super::listener::tls_in;
use super::route::host_text;
use super::writer::{Printed, Writer};
use crate::Plan;
use crate::keys::FACILITIES;
use crate::plan::{AccessLogFormat, AccessLogPlan, LogTarget, MemoryLimit};

pub(super) fn print(writer: &mut Writer, plan: &Plan) {
    let process = &plan.process;
    writer.table("[weir]");
    writer.key_if("workers", process.workers);
    writer.key_or_off("control", process.control.as_deref().map(path));
    writer.key_or_off("state", process.state.as_deref().map(path));
    writer.key_if("user", process.user.as_ref());
    writer.key_if("group", process.group.as_ref());
    writer.many("act-as-ids", &process.act_as_ids.iter().map(Printed).collect::<Vec<_>>());
    writer.key("sandbox", process.sandbox);
    writer.key("core-dumps", process.core_dumps);
    writer.key("drain-timeout", Printed(process.drain_timeout));
    writer.key_if("max-connections", process.connections_max);
    match process.memory_max {
        MemoryLimit::Group => {}
        MemoryLimit::Off => writer.key("max-memory", false),
        MemoryLimit::Bytes(bytes) => writer.key("max-memory", Printed(bytes)),
    }
    writer.key_if("zone", process.zone.as_ref().map(Printed));
    writer.key_if("node", process.node.as_ref());
    if let Some(admin) = &plan.admin {
        writer.table("[admin]");
        writer.many("bind", &admin.bind.iter().map(Printed).collect::<Vec<_>>());
        writer.many("allow", &admin.allow.iter().map(Printed).collect::<Vec<_>>());
        writer.key_if("htpasswd", admin.htpasswd.as_deref().map(path));
        writer.many("hosts", &admin.hosts.iter().map(host_text).collect::<Vec<_>>());
        if let Some(tls) = &admin.tls {
            tls_in(writer, "admin", tls);
        }
    }
    if let Some(log) = &plan.access_log {
        access_log(writer, log);
    }
    writer.table("[resolver]");
    writer.many("servers", &plan.resolver.servers.iter().map(Printed).collect::<Vec<_>>());
    writer.key("timeout", Printed(plan.resolver.timeout));
    writer.key("min-ttl", Printed(plan.resolver.ttl_min));
    writer.key("max-ttl", Printed(plan.resolver.ttl_max));
    writer.key("hold-obsolete", Printed(plan.resolver.obsolete_hold));
    for (status, page) in &plan.error_pages {
        writer.table(&format!("[error-page.{status}]"));
        writer.key("content-type", &page.content_type);
        writer.key("body", &page.body);
    }
}

/// A path; configs are UTF-8, and so is every path that came from one.
pub(super) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn access_log(writer: &mut Writer, log: &AccessLogPlan) {
    writer.table("[access-log]");
    let format = match log.format {
        AccessLogFormat::Common => "common",
        AccessLogFormat::Combined => "combined",
        AccessLogFormat::Json => "json",
        AccessLogFormat::Httplog => "httplog",
    };
    writer.key("format", format);
    match &log.target {
        LogTarget::Stdout => writer.key("to", "stdout"),
        LogTarget::File(file) => writer.key("to", path(file)),
        LogTarget::Syslog { address, facility } => {
            writer.key("to", Printed(format!("syslog:{}", BindAddress::to_string(address))));
            writer.key_if("facility", FACILITIES.get(usize::from(facility.0)).copied());
        }
    }
}
