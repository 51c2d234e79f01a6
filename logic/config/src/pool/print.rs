//! Prints `[pool.NAME]` with its servers.

use toml::{Table, Value};
use weir_balance::ConcurrencyAlgorithm;
use weir_health::InitialState;
use weir_model::{ByteSize, Millis};

use super::offload::plan::{LocationFiles, OffloadPlan};
use super::plan::{
    AutoWeightPlan, CheckKind, CheckPlan, Fairness, HttpCheck, PoolPlan, ProxyProtocolOut, ServerPlan,
};
use super::redirect::plan::RedirectPlan;
use super::{balance, sticky};
use crate::common::patterns;
use crate::common::print::{path, response};
use crate::common::secret::secret;
use crate::common::writer::{OFF, Percent, Printed, Share, Spelled, Writer, bare, table};
use crate::storage;
use crate::tls::print::tls_out;

pub(crate) fn print(writer: &mut Writer, pool: &PoolPlan) {
    let name = bare(pool.name.as_str());
    writer.table(&format!("[pool.{name}]"));
    balance::print::print(writer, pool.algorithm, &pool.hash, &pool.measure);
    writer.lines("servers", pool.servers.iter().map(server));
    writer.key_if("max-connections", pool.connections_max);
    writer.key_or_off(
        "proxy-protocol",
        pool.proxy_protocol.map(|version| match version {
            ProxyProtocolOut::V1 => "v1",
            ProxyProtocolOut::V2 => "v2",
        }),
    );
    spread(writer, pool);
    writer.key_or_off("buffer-requests", pool.collected_body_bytes_max.map(|bytes| Printed(ByteSize(bytes))));
    if pool.concurrency.is_none() {
        writer.key("concurrency", OFF);
    }
    if pool.check.is_none() {
        writer.key("check", OFF);
    }
    if pool.ejection.is_none() {
        writer.key("eject", OFF);
    }
    if pool.breaker.is_none() {
        writer.key("breaker", OFF);
    }
    if pool.hedge.is_none() {
        writer.key("hedge", OFF);
    }
    if pool.redirect.is_none() {
        writer.key("redirect", OFF);
    }
    if pool.tls.is_none() {
        writer.key("tls", OFF);
    }
    if pool.sticky.is_none() {
        sticky::print::print_off(writer);
    }
    writer.many("lenient", &pool.lenient.names());
    if let Some(sticky) = &pool.sticky {
        sticky::print::print(writer, &name, sticky);
    }
    if let Some(check) = &pool.check {
        print_check(writer, &name, check);
    }
    print_ejection(writer, &name, pool);
    print_breaker(writer, &name, pool);
    if let Some(tls) = &pool.tls {
        tls_out(writer, &format!("pool.{name}.tls"), tls);
    }
    print_concurrency(writer, &name, pool);
    print_offload(writer, &name, pool);
    print_traffic(writer, &name, pool);
}

fn server(server: &ServerPlan) -> Value {
    let auto = server.auto_weight;
    table([
        ("name", Some(Printed(&server.name).spelled())),
        ("address", Some(Printed(&server.address).spelled())),
        ("weight", Some(auto.map_or_else(|| server.weight.get().spelled(), |_| "auto".spelled()))),
        ("processor", auto.and_then(|known| known.processor).map(|speed| Share(speed.0).spelled())),
        ("storage", auto.and_then(|known| known.storage).map(|speed| Share(speed.0).spelled())),
        ("backup", Some(server.backup.spelled())),
        ("priority", (server.priority > 0).then(|| server.priority.spelled())),
        ("zone", server.zone.as_ref().map(|zone| Printed(zone).spelled())),
        ("agent-port", server.agent_port.map(|port| port.spelled())),
        ("max-connections", server.connections_max.map(|max| max.spelled())),
    ])
}

/// Prints the settings for tiers, zones, subsets and new servers.
fn spread(writer: &mut Writer, pool: &PoolPlan) {
    writer.key("min-healthy", Percent(pool.membership.min_healthy_percent));
    let stay = pool.membership.zones.map(|rule| Percent(rule.stay_percent).spelled());
    let zone =
        pool.zone.as_ref().map(|zone| table([("name", Some(Printed(zone).spelled())), ("stay", stay)]));
    writer.key_or_off("zone", zone);
    let subset = pool.membership.subset.map(|subset| {
        table([
            ("size", Some(subset.size.spelled())),
            ("instance", Some(subset.instance.spelled())),
            ("instances", Some(subset.instances.spelled())),
        ])
    });
    writer.key_or_off("subset", subset);
    let slow_start = pool.slow_start.map(|rule| {
        table([
            ("window", Some(Printed(rule.window).spelled())),
            ("aggression", Some(Share(rule.aggression.0).spelled())),
            ("min-weight", Some(Percent(rule.min_percent).spelled())),
        ])
    });
    writer.key_or_off("slow-start", slow_start);
    if pool.auto_weight.is_on {
        let AutoWeightPlan { is_on: _, static_paths, interval, rule } = &pool.auto_weight;
        writer.key(
            "auto-weight",
            table([
                ("static", Some(Value::Array(static_paths.iter().map(patterns::path).collect()))),
                ("interval", Some(Printed(*interval).spelled())),
                ("min-requests", Some(rule.requests_min.spelled())),
                ("min", Some(rule.min.get().spelled())),
                ("max", Some(rule.max.get().spelled())),
            ]),
        );
    }
    let agent = pool.agent.as_ref().map(|agent| {
        table([
            ("port", Some(agent.port.spelled())),
            ("interval", Some(Printed(agent.interval).spelled())),
            ("timeout", Some(Printed(agent.timeout).spelled())),
            ("send", agent.send.as_ref().map(Spelled::spelled)),
        ])
    });
    writer.key_or_off("agent", agent);
}

fn print_check(writer: &mut Writer, name: &str, check: &CheckPlan) {
    writer.table(&format!("[pool.{name}.check]"));
    match &check.kind {
        CheckKind::Tcp => writer.key("tcp", true),
        CheckKind::Tls => writer.key("tls", true),
        CheckKind::Http(http) => writer.key("http", format!("{} {}", http.method, http.path)),
    }
    let timing = &check.timing;
    writer.key("interval", Printed(timing.interval));
    writer.key("fast-interval", Printed(timing.fast_interval));
    writer.key("jitter", Percent(timing.jitter_percent));
    writer.key("timeout", Printed(timing.timeout));
    writer.key("rise", timing.rise);
    writer.key("fall", timing.fall);
    writer.key("initial", if timing.initial == InitialState::Up { "up" } else { "down" });
    writer.key_if("port", check.port);
    if let CheckKind::Http(http) = &check.kind {
        print_http_check(writer, http);
    }
}

fn print_http_check(writer: &mut Writer, http: &HttpCheck) {
    writer.key_if("host", http.host.as_ref());
    let headers: Table = http.headers.iter().map(|(name, value)| (name.clone(), value.spelled())).collect();
    writer.key_if("headers", (!headers.is_empty()).then_some(Value::Table(headers)));
    let range = |(from, to): &(u16, u16)| match from == to {
        true => from.spelled(),
        false => format!("{from}-{to}").spelled(),
    };
    let status = Value::Array(http.expect_status.iter().map(range).collect());
    let header = http.expect_header.as_ref().map(|(name, value)| format!("{name}: {value}").spelled());
    let body = http.expect_body.as_ref().map(Spelled::spelled);
    writer.key("expect", table([("status", Some(status)), ("header", header), ("body", body)]));
}

fn print_ejection(writer: &mut Writer, name: &str, pool: &PoolPlan) {
    let Some(rule) = &pool.ejection else { return };
    writer.table(&format!("[pool.{name}.eject]"));
    writer.key("failures", rule.consecutive_failures);
    writer.key("errors", Percent(rule.error_percent));
    writer.key("min-requests", rule.requests_min);
    writer.key("window", Printed(rule.window));
    writer.key("time", Printed(rule.base_time));
    writer.key("max-time", Printed(rule.time_max));
    writer.key("max-share", Percent(rule.share_max_percent));
    writer.key("half-open-requests", rule.probes);
}

fn print_breaker(writer: &mut Writer, name: &str, pool: &PoolPlan) {
    let Some(rule) = &pool.breaker else { return };
    writer.table(&format!("[pool.{name}.breaker]"));
    writer.key("errors", Percent(rule.error_percent));
    writer.key("min-requests", rule.requests_min);
    writer.key("window", Printed(rule.window));
    writer.key("open", Printed(rule.open));
    writer.key("half-open-requests", rule.probes);
}

fn print_concurrency(writer: &mut Writer, name: &str, pool: &PoolPlan) {
    let Some(rule) = &pool.concurrency else { return };
    writer.table(&format!("[pool.{name}.concurrency]"));
    match rule.algorithm {
        ConcurrencyAlgorithm::Gradient { tolerance_percent } => {
            writer.key("algorithm", "gradient");
            writer.key("tolerance", Percent(tolerance_percent));
        }
        ConcurrencyAlgorithm::Aimd { latency_max_us } => {
            writer.key("algorithm", "aimd");
            writer.key("max-latency", Printed(Millis(latency_max_us / 1_000)));
        }
    }
    writer.key("min", rule.min);
    writer.key("max", rule.max);
}

fn print_offload(writer: &mut Writer, name: &str, pool: &PoolPlan) {
    let Some(OffloadPlan { locations, x_sendfile, uploads }) = &pool.offload else { return };
    writer.table(&format!("[pool.{name}.offload]"));
    writer.key("x-sendfile", *x_sendfile);
    writer.key("uploads", *uploads);
    for location in locations {
        writer.table(&format!("[[pool.{name}.offload.location]]"));
        writer.key("prefix", &location.prefix);
        match &location.files {
            LocationFiles::Area(area) => writer.key("storage-area", Printed(area)),
            LocationFiles::Root { root, symlinks } => {
                writer.key("root", path(root));
                writer.key("symlinks", storage::print::symlinks(*symlinks));
            }
        }
        writer.key("percent-encoded", location.percent_encoded);
    }
}

fn print_redirect(writer: &mut Writer, name: &str, redirect: &RedirectPlan) {
    writer.table(&format!("[pool.{name}.redirect]"));
    writer.many("methods", &redirect.methods);
    secret(writer, "", Some(&redirect.key));
    writer.key("lifetime", Printed(redirect.lifetime));
    let nodes = redirect.nodes.iter().map(|(server, url)| (server.as_str().to_owned(), url.spelled()));
    writer.key("nodes", Value::Table(nodes.collect()));
}

fn print_traffic(writer: &mut Writer, name: &str, pool: &PoolPlan) {
    writer.table(&format!("[pool.{name}.timeouts]"));
    writer.key("connect", Printed(pool.timeouts.connect));
    writer.key("response", Printed(pool.timeouts.response));
    writer.key("idle", Printed(pool.timeouts.idle));
    writer.key("queue", Printed(pool.timeouts.queue));
    writer.table(&format!("[pool.{name}.queue]"));
    writer.key_if("max-length", pool.queue.length_max);
    writer.key_if("max-per-server", pool.queue.server_length_max);
    match &pool.queue.fair {
        Fairness::None => writer.key("fair", "none"),
        Fairness::Client => writer.key("fair", "client"),
        Fairness::Header(name) => writer.key("fair", table([("header", Some(name.spelled()))])),
    }
    writer.table(&format!("[pool.{name}.retry]"));
    writer.key("attempts", pool.retry.attempts);
    writer.key("budget", Percent(pool.retry.budget_percent));
    writer.key("min-per-second", pool.retry.budget_min_per_second);
    writer.key_if("at-once", pool.retry.at_once_percent.map(Percent));
    writer.key("min-at-once", pool.retry.at_once_min);
    if let Some(hedge) = &pool.hedge {
        writer.table(&format!("[pool.{name}.hedge]"));
        writer.key_if("delay", hedge.delay.map(Printed));
    }
    if let Some(redirect) = &pool.redirect {
        print_redirect(writer, name, redirect);
    }
    writer.table(&format!("[pool.{name}.reuse]"));
    writer.key("idle", pool.reuse.idle_max);
    writer.key("idle-timeout", Printed(pool.reuse.idle_timeout));
    writer.key("max-age", Printed(pool.reuse.age_max));
    writer.key_if("max-requests", pool.reuse.requests_max);
    writer.table(&format!("[pool.{name}.when-empty]"));
    writer.key("retry-after", Printed(Millis::from_secs(pool.nobody_left.retry_after_s.into())));
    writer.key_if("respond", pool.nobody_left.response.as_ref().map(response));
}
