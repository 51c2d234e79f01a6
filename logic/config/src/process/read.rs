//! Reads `[weir]`, `[admin]`, `[access-log]` and `[resolver]`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use weir_model::BindAddress;

use super::keys::FACILITIES;
use super::plan::{
    AccessLogFormat, AccessLogPlan, AdminPlan, IdRange, LogTarget, MemoryLimit, ProcessPlan, ResolverPlan,
    SyslogFacility,
};
use crate::common::addresses::addresses;
use crate::common::matching::{hosts, networks};
use crate::common::paths::{path, path_if};
use crate::common::zone;
use crate::syntax::source::Located;
use crate::syntax::tree::short;
use crate::tls;
use crate::values::suggest;
use crate::values::table::Table;

pub(crate) fn process(table: &Table<'_, '_>) -> ProcessPlan {
    let user = table.text_if("user");
    if let (Some(group), None) = (table.get("group"), &user) {
        table.error("group", group.span, "only together with user");
    }
    let user_is_given = user.is_some();
    ProcessPlan {
        sandbox: table.get("sandbox").map_or(user.is_some(), |_| table.flag("sandbox")),
        user: user.map(|user| user.value),
        group: table.text_if("group").map(|group| group.value),
        act_as_ids: act_as_ids(table, user_is_given),
        core_dumps: table.flag("core-dumps"),
        workers: table.number_if("workers"),
        control: path_unless_off(table, "control"),
        state: path_unless_off(table, "state"),
        drain_timeout: table.duration("drain-timeout"),
        connections_max: table.number_if("max-connections"),
        memory_max: match table.is_off("max-memory") {
            true => MemoryLimit::Off,
            false => table.size_if("max-memory").map_or(MemoryLimit::Group, MemoryLimit::Bytes),
        },
        zone: zone::zone_name(table),
        node: node(table),
    }
}

fn act_as_ids(table: &Table<'_, '_>, user_is_given: bool) -> Vec<IdRange> {
    const KEY: &str = "act-as-ids";
    if let (Some(ids), false) = (table.get(KEY), user_is_given) {
        table.error(KEY, ids.span, "only together with user: without it areas may act as everybody");
    }
    table.many(KEY).iter().filter_map(|node| Some(table.parse_node(KEY, node)?.value)).collect()
}

/// Reads the name of this process among those that share a directory.
fn node(table: &Table<'_, '_>) -> Option<String> {
    let name = table.text_if("node")?;
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if !(1..=64).contains(&name.value.len()) || !name.value.bytes().all(sound) {
        let message =
            format!("{:?} is not 1 to 64 letters, digits, dots, hyphens and underscores", short(&name.value));
        table.error("node", name.span, message);
    }
    Some(name.value)
}

pub(crate) fn admin(table: &Table<'_, '_>) -> Located<AdminPlan> {
    let mut bind: Vec<BindAddress> =
        addresses(table, "bind").into_iter().map(|address| address.value).collect();
    if table.get("bind").is_none() {
        bind.extend(table.text("bind").parse::<BindAddress>());
    }
    let tls = table.table_if("tls").map(|tls| tls::read::inbound(&tls));
    let client_auth = tls.as_ref().and_then(|tls| tls.client_auth.as_ref());
    if let (Some(node), Some(false)) = (table.get("tls"), client_auth.map(|auth| auth.required)) {
        let message =
            "client-auth: with mode = \"optional\" certificates would decide nothing here: leave mode out";
        table.error("tls", node.span, message);
    }
    let plan = AdminPlan {
        bind,
        allow: networks(table, "allow"),
        htpasswd: path_if(table, "htpasswd"),
        tls,
        hosts: hosts(table, "hosts"),
    };
    Located { value: plan, span: table.get("bind").map_or(table.span(), |node| node.span) }
}

pub(crate) fn access_log(table: &Table<'_, '_>) -> AccessLogPlan {
    let format = match table.text("format").as_str() {
        "common" => AccessLogFormat::Common,
        "json" => AccessLogFormat::Json,
        "httplog" => AccessLogFormat::Httplog,
        _ => AccessLogFormat::Combined,
    };
    let target = match log_target(table) {
        Some(To::Stdout) | None => LogTarget::Stdout,
        Some(To::File(path)) => LogTarget::File(path),
        Some(To::Syslog(address)) => {
            LogTarget::Syslog { address, facility: facility(&table.text("facility")) }
        }
    };
    if let (Some(node), LogTarget::Stdout | LogTarget::File(_)) = (table.get("facility"), &target) {
        table.error("facility", node.span, "only syslog has facilities: to = \"syslog:...\"");
    }
    AccessLogPlan { format, target }
}

fn log_target(table: &Table<'_, '_>) -> Option<To> {
    let text = table.text_if("to")?;
    match text.value.parse::<To>() {
        Ok(to) => Some(to),
        Err(message) => {
            let help = suggest::closest(&text.value, ["stdout"].into_iter()).map(suggest::did_you_mean);
            table.report("to", text.span, message, help);
            None
        }
    }
}

pub(crate) fn resolver(table: &Table<'_, '_>) -> ResolverPlan {
    let servers = table.many("servers").iter();
    let servers = servers.filter_map(|node| table.parse_node::<NameServer>("servers", node));
    let plan = ResolverPlan {
        servers: servers.map(|server| server.value.0).collect(),
        timeout: table.duration("timeout"),
        ttl_min: table.duration("min-ttl"),
        ttl_max: table.duration("max-ttl"),
        obsolete_hold: table.duration("hold-obsolete"),
    };
    if plan.ttl_min > plan.ttl_max {
        let key = if table.get("min-ttl").is_some() { "min-ttl" } else { "max-ttl" };
        let span = table.get(key).map_or(table.span(), |node| node.span);
        table.error(key, span, format!("min-ttl {} is above max-ttl {}", plan.ttl_min, plan.ttl_max));
    }
    plan
}

fn path_unless_off(table: &Table<'_, '_>, key: &str) -> Option<PathBuf> {
    (!table.is_off(key)).then(|| path(table, key))
}

/// Destination of log lines, without the facility.
enum To {
    Stdout,
    File(PathBuf),
    Syslog(BindAddress),
}

impl FromStr for To {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "stdout" {
            return Ok(Self::Stdout);
        }
        if let Some(address) = text.strip_prefix("syslog:") {
            let address =
                if address.starts_with('/') { format!("unix:{address}") } else { address.to_owned() };
            return match address.parse::<BindAddress>() {
                Ok(BindAddress::Inet(address)) if address.port() == 0 => {
                    Err("syslog needs a port, usually 514".to_owned())
                }
                Ok(address) => Ok(Self::Syslog(address)),
                Err(cause) => Err(format!("syslog address: {cause}")),
            };
        }
        let path = text.strip_prefix("file:").unwrap_or(text);
        if path.starts_with('/') && !path.contains('\0') {
            return Ok(Self::File(PathBuf::from(path)));
        }
        Err(format!("{:?} is neither \"stdout\", nor an absolute path, nor \"syslog:...\"", short(text)))
    }
}

struct NameServer(SocketAddr);

impl FromStr for NameServer {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        const DNS_PORT: u16 = 53;
        let bare = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DNS_PORT));
        match bare.or_else(|_| text.parse()) {
            Ok(address) if address.port() != 0 => Ok(Self(address)),
            _ => Err(format!("{:?} is not an IP address, with or without a port", short(text))),
        }
    }
}

fn facility(name: &str) -> SyslogFacility {
    let number = FACILITIES.iter().position(|facility| *facility == name).unwrap_or_default();
    SyslogFacility(u8::try_from(number).unwrap_or_default())
}
