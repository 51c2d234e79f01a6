//! Reads `[listener.NAME]`.

use ipnet::IpNet;
use weir_http::{ForwardedFor, ForwardingRules, HeadLimits, HostPattern, PathRules, RequestIdRule};
use weir_model::{BindAddress, ListenerName, Millis};

use super::keys::{LISTENER, SNI};
use super::paths;
use super::plan::{ClientTimeouts, ProxyProtocolIn};
use crate::common::addresses::addresses;
use crate::common::header::{check_name, is_token};
use crate::common::matching::{hosts, networks};
use crate::common::names;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::Located;
use crate::syntax::tree::{Node, short};
use crate::tls;
use crate::tls::plan::TlsIn;
use crate::values::subject::Subject;
use crate::values::table::Table;

/// The values of `[listener.NAME]`.
#[derive(Debug)]
pub(crate) struct ListenerSpec {
    pub(crate) name: Located<ListenerName>,
    pub(crate) bind: Vec<Located<BindAddress>>,
    pub(crate) pool: Option<Located<String>>,
    /// Storage area for requests that no route matches, instead of a pool.
    pub(crate) storage: Option<Located<String>>,
    /// True if there is a `pool`, even if it cannot be read, or an unknown key that may have been meant as
    /// one.
    pub(crate) leads_somewhere: bool,
    pub(crate) tls: Option<TlsIn>,
    pub(crate) proxy_protocol: Option<ProxyProtocolIn>,
    pub(crate) connections_max: Option<u32>,
    pub(crate) connections_per_client_max: Option<u32>,
    pub(crate) backlog: u32,
    pub(crate) mode: ModeSpec,
}

#[derive(Debug)]
pub(crate) enum ModeSpec {
    Http {
        timeouts: ClientTimeouts,
        limits: HeadLimits,
        paths: Option<PathRules>,
        forwarding: ForwardingRules,
        keep_alive_requests_max: Option<u32>,
        half_close: bool,
    },
    Tcp {
        sni: Vec<SniSpec>,
        idle_timeout: Millis,
        head_timeout: Millis,
    },
}

/// The values of `[[listener.NAME.sni]]`.
#[derive(Debug)]
pub(crate) struct SniSpec {
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) pool: Option<Located<String>>,
}

pub(crate) fn read(cx: &Context<'_>, name: &Located<String>, node: &Node) -> Option<ListenerSpec> {
    let subject = Subject::default().named("listener", &name.value);
    let table = Table::new(cx, subject, &LISTENER, node);
    let bind = addresses(&table, "bind");
    if let (Some(node), []) = (table.get("bind"), table.many("bind")) {
        table.error("bind", node.span, "expected at least one address");
    }
    let spec = ListenerSpec {
        name: names::name(cx, "listener", name)?,
        bind,
        pool: table.text_if("pool"),
        storage: storage(&table),
        leads_somewhere: table.get("pool").is_some()
            || table.get("storage").is_some()
            || table.has_unknown_keys(),
        tls: table.table_if("tls").map(|table| tls::read::inbound(&table)),
        proxy_protocol: table.table_if("proxy-protocol").map(|table| proxy_protocol(&table)),
        connections_max: table.number_if("max-connections"),
        connections_per_client_max: table.number_if("max-connections-per-client"),
        backlog: table.number("backlog"),
        mode: if table.text("mode") == "tcp" { tcp(&table) } else { http(&table) },
    };
    Some(spec)
}

/// Reads `storage`. Reports a `pool` beside it, and a listener without requests.
fn storage(table: &Table<'_, '_>) -> Option<Located<String>> {
    let name = table.text_if("storage")?;
    if let Some(pool) = table.get("pool") {
        let problem =
            Problem::error(name.span, format!("{}: only one of pool, storage can be there", table.subject));
        table.cx.report(problem.also(pool.span, "the other"));
    }
    if table.text("mode") == "tcp" {
        table.error("storage", name.span, "a listener with mode = \"tcp\" has no requests to answer");
    }
    Some(name)
}

fn http(table: &Table<'_, '_>) -> ModeSpec {
    if let Some(node) = table.get("sni") {
        table.error("sni", node.span, "only a listener with mode = \"tcp\" chooses by the TLS server name");
    }
    let timeouts = table.table("timeouts");
    let limits = table.table("limits");
    ModeSpec::Http {
        timeouts: ClientTimeouts {
            head: timeouts.duration("head"),
            idle: timeouts.duration("idle"),
            body: timeouts.duration("body"),
            body_bytes_per_second_min: timeouts.byte_rate("min-body-rate"),
            tunnel: timeouts.duration("tunnel"),
        },
        limits: head_limits(&limits),
        paths: paths::read::read(table),
        forwarding: forwarding(&table.table("forwarded")),
        keep_alive_requests_max: limits.number_if("requests-per-connection"),
        half_close: table.flag("half-close"),
    }
}

fn tcp(table: &Table<'_, '_>) -> ModeSpec {
    let timeouts = table.table("timeouts");
    if let Some(node) = table.get("half-close") {
        let message = "a listener with mode = \"tcp\" always passes on that one direction has ended";
        table.error("half-close", node.span, message);
    }
    for key in ["limits", "paths", "forwarded"] {
        if let Some(node) = table.get(key) {
            table.error(key, node.span, "a listener with mode = \"tcp\" has none");
        }
    }
    for key in ["idle", "body", "min-body-rate"] {
        if let Some(node) = timeouts.get(key) {
            let help = "the idle time of a TCP connection is timeouts.tunnel".to_owned();
            timeouts.report(key, node.span, "a listener with mode = \"tcp\" has none", Some(help));
        }
    }
    if let (Some(node), Some(_)) = (table.get("sni"), table.get("tls")) {
        let message = "the server name is read from TLS that is passed on, and tls ends it here";
        table.report("sni", node.span, message, Some("leave out tls or sni".to_owned()));
    }
    let sni = table.many("sni").iter().enumerate();
    ModeSpec::Tcp {
        sni: sni.map(|(index, node)| sni_route(table, index, node)).collect(),
        idle_timeout: timeouts.duration("tunnel"),
        head_timeout: timeouts.duration("head"),
    }
}

fn sni_route(table: &Table<'_, '_>, index: usize, node: &Node) -> SniSpec {
    let subject = table.subject.entry(&SNI, index, node);
    let table = Table::new(table.cx, subject, &SNI, node);
    SniSpec { hosts: hosts(&table, "host"), pool: table.text_if("pool") }
}

fn proxy_protocol(table: &Table<'_, '_>) -> ProxyProtocolIn {
    let trusted = networks(table, "from");
    if let (Some(node), []) = (table.get("from"), table.many("from")) {
        table.error("from", node.span, "expected at least one network");
    }
    everyone_is_trusted(table, "from", &trusted);
    ProxyProtocolIn { trusted }
}

fn head_limits(table: &Table<'_, '_>) -> HeadLimits {
    let limits = HeadLimits {
        head_bytes_max: u32::try_from(table.size("head").0).unwrap_or(u32::MAX),
        headers_max: table.number("headers"),
        target_bytes_max: u32::try_from(table.size("target").0).unwrap_or(u32::MAX),
    };
    if limits.target_bytes_max > limits.head_bytes_max {
        let key = if table.get("target").is_some() { "target" } else { "head" };
        let span = table.get(key).map_or(table.span(), |node| node.span);
        let (target, head) = (table.size("target"), table.size("head"));
        table.error(key, span, format!("a target of {target} does not fit into a head of {head}"));
    }
    limits
}

fn forwarding(table: &Table<'_, '_>) -> ForwardingRules {
    let rule = |key| match table.text(key).as_str() {
        "append" => ForwardedFor::Append,
        "pass" => ForwardedFor::Pass,
        "remove" => ForwardedFor::Remove,
        _ => ForwardedFor::Set,
    };
    let trusted = networks(table, "trusted");
    everyone_is_trusted(table, "trusted", &trusted);
    ForwardingRules {
        x_forwarded: rule("x-forwarded"),
        forwarded: rule("forwarded"),
        trusted,
        identity_headers: identity_headers(table),
        via: via(table),
        request_id: request_id(table),
    }
}

fn identity_headers(table: &Table<'_, '_>) -> Vec<String> {
    let mut names = vec!["X-VOMS-*".to_owned(), "X-Remote-User".to_owned()];
    for node in table.many("identity-headers") {
        let Some(name) = node.text() else { continue };
        // A `*` is a token character, but here it means any rest and may only be the last one.
        let stem = name.strip_suffix('*').unwrap_or(name);
        if !is_token(stem) || stem.contains('*') {
            table.error(
                "identity-headers",
                node.span,
                format!("{:?} is not a header name, or its beginning and *", short(name)),
            );
        } else if !names.iter().any(|there| there.eq_ignore_ascii_case(name)) {
            names.push(name.to_owned());
        }
    }
    names
}

fn via(table: &Table<'_, '_>) -> Option<String> {
    if table.is_off("via") {
        return None;
    }
    let name = table.text("via");
    if let Some(node) = table.get("via").filter(|_| !is_token(&name)) {
        table.error(
            "via",
            node.span,
            format!("{:?} is not a pseudonym (RFC 9110 section 7.6.3): letters, digits, - . _", short(&name)),
        );
    }
    Some(name)
}

fn request_id(table: &Table<'_, '_>) -> Option<RequestIdRule> {
    if table.is_off("request-id") {
        return None;
    }
    let table = table.table("request-id");
    let header = table.text("header");
    if let Some(node) = table.get("header") {
        check_name(&table, "header", node.span, &header);
    }
    Some(RequestIdRule { header, accept: table.flag("accept") })
}

fn everyone_is_trusted(table: &Table<'_, '_>, key: &str, networks: &[IpNet]) {
    if let (Some(node), true) = (table.get(key), networks.iter().any(|network| network.prefix_len() == 0)) {
        let message = format!("{}: everyone is believed about who the client is", table.subject.key(key));
        table.cx.report(crate::syntax::diagnostic::Problem::warning(node.span, message));
    }
}
