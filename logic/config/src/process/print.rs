//! Prints the settings of the whole process.

use std::collections::BTreeMap;

use weir_model::BindAddress;

use super::keys::FACILITIES;
use super::plan::{
    AccessLogFormat, AccessLogPlan, AdminPlan, ErrorPage, LogTarget, MemoryLimit, ProcessPlan, ResolverPlan,
};
use crate::common::patterns::host_text;
use crate::common::print::path;
use crate::common::writer::{Printed, Writer};
use crate::tls::print::tls_in;

/// Prints `[weir]`.
pub(crate) fn print(writer: &mut Writer, process: &ProcessPlan) {
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
}

/// Prints `[admin]`.
pub(crate) fn admin(writer: &mut Writer, admin: &AdminPlan) {
    writer.table("[admin]");
    writer.many("bind", &admin.bind.iter().map(Printed).collect::<Vec<_>>());
    writer.many("allow", &admin.allow.iter().map(Printed).collect::<Vec<_>>());
    writer.key_if("htpasswd", admin.htpasswd.as_deref().map(path));
    writer.many("hosts", &admin.hosts.iter().map(host_text).collect::<Vec<_>>());
    if let Some(tls) = &admin.tls {
        tls_in(writer, "admin", tls);
    }
}

/// Prints `[resolver]`.
pub(crate) fn resolver(writer: &mut Writer, resolver: &ResolverPlan) {
    writer.table("[resolver]");
    writer.many("servers", &resolver.servers.iter().map(Printed).collect::<Vec<_>>());
    writer.key("timeout", Printed(resolver.timeout));
    writer.key("min-ttl", Printed(resolver.ttl_min));
    writer.key("max-ttl", Printed(resolver.ttl_max));
    writer.key("hold-obsolete", Printed(resolver.obsolete_hold));
}

/// Prints each `[error-page.STATUS]`.
pub(crate) fn error_pages(writer: &mut Writer, pages: &BTreeMap<u16, ErrorPage>) {
    for (status, page) in pages {
        writer.table(&format!("[error-page.{status}]"));
        writer.key("content-type", &page.content_type);
        writer.key("body", &page.body);
    }
}

/// Prints `[access-log]`.
pub(crate) fn access_log(writer: &mut Writer, log: &AccessLogPlan) {
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
