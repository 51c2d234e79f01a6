//! Prints `[listener.NAME]`.

use weir_http::{Action, ForwardedFor, ForwardingRules, HeadLimits, RequestIdRule};
use weir_model::{ByteSize, Millis};

use super::paths;
use super::plan::{ClientTimeouts, ListenerPlan, Mode, SniRoute, TcpPlan};
use super::route::print::{own_action, pool_name};
use crate::common::patterns::host_text;
use crate::common::writer::{OFF, Printed, Spelled, Writer, bare, table};
use crate::pool::plan::PoolPlan;
use crate::tls::print::tls_in;

/// Prints a listener. `pools`: the pools of the plan.
pub(crate) fn print(writer: &mut Writer, pools: &[PoolPlan], listener: &ListenerPlan) {
    let name = bare(listener.name.as_str());
    writer.table(&format!("[listener.{name}]"));
    writer.many("bind", &listener.bind.iter().map(Printed).collect::<Vec<_>>());
    match &listener.mode {
        Mode::Http(_) => writer.key("mode", "http"),
        Mode::Tcp(_) => writer.key("mode", "tcp"),
    }
    let (pool, storage) = match &listener.mode {
        Mode::Http(http) => match own_action(listener, http) {
            Some(Action::Pool(pool)) => (Some(*pool), None),
            Some(Action::Storage(area)) => (None, Some(area)),
            _ => (None, None),
        },
        Mode::Tcp(tcp) => (tcp.pool, None),
    };
    writer.key_if("pool", pool_name(pools, pool));
    writer.key_if("storage", storage.map(Printed));
    if let Some(proxy) = &listener.proxy_protocol {
        let from = proxy.trusted.iter().map(|network| network.to_string().spelled()).collect();
        writer.key("proxy-protocol", table([("from", Some(toml::Value::Array(from)))]));
    }
    writer.key_if("max-connections", listener.connections_max);
    writer.key_if("max-connections-per-client", listener.connections_per_client_max);
    writer.key("backlog", listener.backlog);
    if let Mode::Http(http) = &listener.mode {
        writer.key("half-close", http.half_close);
    }
    if matches!(&listener.mode, Mode::Http(http) if http.paths.is_none()) {
        writer.key("paths", OFF);
    }
    if let Mode::Tcp(TcpPlan { sni_routes, .. }) = &listener.mode {
        sni(writer, pools, sni_routes);
    }
    if let Some(tls) = &listener.tls {
        tls_in(writer, &format!("listener.{name}"), tls);
    }
    match &listener.mode {
        Mode::Http(http) => {
            timeouts(writer, &name, &http.timeouts);
            limits(writer, &name, &http.limits, http.keep_alive_requests_max);
            if let Some(rules) = &http.paths {
                paths::print::print(writer, &name, rules);
            }
            forwarded(writer, &name, &http.forwarding);
        }
        Mode::Tcp(tcp) => tcp_timeouts(writer, &name, tcp.head_timeout, tcp.idle_timeout),
    }
}

fn sni(writer: &mut Writer, pools: &[PoolPlan], routes: &[SniRoute]) {
    if routes.is_empty() {
        return;
    }
    let route = |route: &SniRoute| {
        let hosts = route.hosts.iter().map(|pattern| host_text(pattern).spelled()).collect();
        let pool = pool_name(pools, Some(route.pool)).map(Spelled::spelled);
        table([("host", Some(toml::Value::Array(hosts))), ("pool", pool)])
    };
    writer.lines("sni", routes.iter().map(route));
}

fn timeouts(writer: &mut Writer, name: &str, timeouts: &ClientTimeouts) {
    writer.table(&format!("[listener.{name}.timeouts]"));
    writer.key("head", Printed(timeouts.head));
    writer.key("idle", Printed(timeouts.idle));
    writer.key("body", Printed(timeouts.body));
    writer.key("min-body-rate", format!("{}/s", ByteSize(timeouts.body_bytes_per_second_min)));
    writer.key("tunnel", Printed(timeouts.tunnel));
}

fn tcp_timeouts(writer: &mut Writer, name: &str, head: Millis, tunnel: Millis) {
    writer.table(&format!("[listener.{name}.timeouts]"));
    writer.key("head", Printed(head));
    writer.key("tunnel", Printed(tunnel));
}

fn limits(writer: &mut Writer, name: &str, limits: &HeadLimits, requests_max: Option<u32>) {
    writer.table(&format!("[listener.{name}.limits]"));
    writer.key("head", Printed(ByteSize(limits.head_bytes_max.into())));
    writer.key("headers", limits.headers_max);
    writer.key("target", Printed(ByteSize(limits.target_bytes_max.into())));
    writer.key_if("requests-per-connection", requests_max);
}

fn forwarded(writer: &mut Writer, name: &str, rules: &ForwardingRules) {
    let word = |rule| match rule {
        ForwardedFor::Set => "set",
        ForwardedFor::Append => "append",
        ForwardedFor::Pass => "pass",
        ForwardedFor::Remove => "remove",
    };
    writer.table(&format!("[listener.{name}.forwarded]"));
    writer.key("x-forwarded", word(rules.x_forwarded));
    writer.key("forwarded", word(rules.forwarded));
    writer.many("trusted", &rules.trusted.iter().map(Printed).collect::<Vec<_>>());
    writer.many("identity-headers", &rules.identity_headers);
    writer.key_or_off("via", rules.via.as_ref());
    writer.key_or_off("request-id", rules.request_id.as_ref().map(request_id));
}

fn request_id(rule: &RequestIdRule) -> toml::Value {
    table([("header", Some(rule.header.spelled())), ("accept", Some(rule.accept.spelled()))])
}
