use std::collections::BTreeMap;
use std::time::Duration;

use toml::{Table, Value};
use weir_model::Millis;
use weir_scale::forecast::Method;
use weir_scale::policy::{Floor, Predictive, Step, Target};
use weir_scale::{Capacity, Combination, Leaver, Policy, Rules, SignalKind, SignalRule, Statistic};

use super::process::path;
use super::writer::{OFF, Printed, Spelled, Writer, bare};
use crate::plan::{
    FleetBalancer, FleetCloud, FleetPlan, FleetPods, FleetProcesses, FleetProgram, FleetProvider,
    FleetRestart, FleetWorkload,
};

pub(super) fn print(writer: &mut Writer, fleet: &FleetPlan) {
    let name = bare(fleet.name.as_str());
    writer.table(&format!("[fleet.{name}]"));
    writer.key_if("pool", fleet.pool().map(Printed));
    writer.key_if("port", fleet.port);
    for (key, value) in &rules(&fleet.rules) {
        writer.key(key, value);
    }
    writer.key("interval", Printed(fleet.interval));
    writer.key("directory", path(&fleet.directory));
    writer.key_if("lease", fleet.lease.file().map(path));
    let files: Vec<String> = fleet.history.iter().map(|history| path(&history.file)).collect();
    match files.is_empty() {
        true => writer.key("history", OFF),
        false => writer.many("history", &files),
    }
    if let Some(history) = fleet.history.first() {
        writer.key("history-interval", Printed(history.interval));
        writer.key("history-size", Printed(history.bytes_max));
    }
    writer.key("act", fleet.act);
    if let Some(store) = fleet.lease.store() {
        super::lease::store(writer, &format!("fleet.{name}"), store);
    }
    if let FleetBalancer::Haproxy(haproxy) = &fleet.balancer {
        writer.table(&format!("[fleet.{name}.haproxy]"));
        writer.key("socket", path(&haproxy.socket));
        writer.key("backend", &haproxy.backend);
        writer.key("server", &haproxy.server);
        if let Some(template) = &haproxy.template {
            writer.table(&format!("[fleet.{name}.haproxy.template]"));
            writer.key("file", path(&template.file));
            writer.key("config", path(&template.config));
            writer.many("validate", &template.validate);
            writer.many("reload", &template.reload);
            writer.key("timeout", Printed(template.timeout));
        }
    }
    match &fleet.provider {
        FleetProvider::Process(processes) => {
            writer.table(&format!("[fleet.{name}.process]"));
            self::processes(writer, processes);
        }
        FleetProvider::Exec(program) => {
            writer.table(&format!("[fleet.{name}.exec]"));
            self::program(writer, program);
        }
        FleetProvider::OpenStack(cloud) => {
            writer.table(&format!("[fleet.{name}.openstack]"));
            self::cloud(writer, cloud);
        }
        FleetProvider::Kubernetes(pods) => {
            writer.table(&format!("[fleet.{name}.kubernetes]"));
            self::pods(writer, pods);
        }
    }
}

fn processes(writer: &mut Writer, plan: &FleetProcesses) {
    writer.many("command", &plan.command);
    writer.key("address", Printed(plan.address));
    writer.key_if("ports", plan.ports.map(|(first, last)| format!("{first}-{last}")));
    map(writer, "environment", &plan.environment);
    writer.key_if("working-directory", plan.working_directory.as_deref().map(path));
    let limits: Table = [
        ("open-files", plan.open_files_max.map(whole)),
        ("memory", plan.memory_max.map(|size| Printed(size).spelled())),
        ("cpu-time", plan.cpu_time_max.map(|time| Printed(time).spelled())),
        ("core", plan.core_max.map(|size| Printed(size).spelled())),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .collect();
    if !limits.is_empty() {
        writer.key("limits", Value::Table(limits));
    }
    let restart = match plan.restart {
        FleetRestart::Always => "always",
        FleetRestart::OnFailure => "on-failure",
        FleetRestart::Never => "never",
    };
    writer.key("restart", restart);
    writer.key("restart-pause", Printed(plan.restart_pause));
    writer.key("stop-grace", Printed(plan.stop_grace));
    writer.key("max-output", Printed(plan.output_max));
}

fn program(writer: &mut Writer, plan: &FleetProgram) {
    writer.many("command", &plan.command);
    map(writer, "environment", &plan.environment);
    writer.key_if("working-directory", plan.working_directory.as_deref().map(path));
    writer.key("timeout", Printed(plan.timeout));
    writer.key("settling", Printed(plan.settling));
}

fn cloud(writer: &mut Writer, plan: &FleetCloud) {
    writer.key_if("cloud", plan.cloud.as_ref());
    writer.key("image", &plan.image);
    writer.key("flavor", &plan.flavor);
    writer.many("networks", &plan.networks);
    writer.key_if("key-pair", plan.key_pair.as_ref());
    writer.key_if("user-data", plan.user_data.as_deref().map(path));
    map(writer, "metadata", &plan.metadata);
    writer.many("tags", &plan.tags);
    writer.key_if("server-group", plan.server_group.as_ref());
    writer.many("security-groups", &plan.security_groups);
    writer.key_if("availability-zone", plan.availability_zone.as_ref());
    writer.key("config-drive", plan.config_drive);
    writer.key("park", if plan.shelve { "shelve" } else { "stop" });
    writer.key_if("address-network", plan.address_network.as_ref());
    writer.key_if("address-family", plan.address_version.map(|version| format!("ipv{version}")));
    writer.key("floating", plan.floating);
    writer.key("build-timeout", Printed(plan.build_timeout));
    writer.key("timeout", Printed(plan.timeout));
}

fn pods(writer: &mut Writer, plan: &FleetPods) {
    writer.key_if("kubeconfig", plan.kubeconfig.as_deref().map(path));
    writer.key_if("context", plan.context.as_ref());
    writer.key_if("namespace", plan.namespace.as_ref());
    match &plan.workload {
        FleetWorkload::Deployment(name) => writer.key("deployment", name),
        FleetWorkload::StatefulSet(name) => writer.key("statefulset", name),
    }
    writer.key("service", &plan.service);
    writer.key_if("port-name", plan.port_name.as_ref());
    writer.key("start-timeout", Printed(plan.start_timeout));
    writer.key("timeout", Printed(plan.timeout));
}

fn map(writer: &mut Writer, key: &str, entries: &BTreeMap<String, String>) {
    if !entries.is_empty() {
        let entries = entries.iter().map(|(name, value)| (name.clone(), value.spelled()));
        writer.key(key, Value::Table(entries.collect()));
    }
}

/// Rules as the file has them, with every default.
pub(crate) fn rules(rules: &Rules) -> Vec<(&'static str, Value)> {
    let mut keys = vec![("min", whole(rules.bounds.min)), ("max", whole(rules.bounds.max))];
    keys.extend(rules.bounds.quota.map(|quota| ("quota", whole(quota))));
    keys.extend([("capacity", capacity(rules.capacity.standard))]);
    if !rules.capacity.others.is_empty() {
        let flavours = rules.capacity.others.iter().map(|(name, of)| (name.to_string(), flavour(*of)));
        keys.push(("flavours", Value::Table(flavours.collect())));
    }
    keys.extend([
        ("policy", one_or_many(rules.policies.iter().map(policy).collect())),
        ("signals", one_or_many(rules.signals.iter().map(signal).collect())),
        (
            "combine",
            match rules.combination {
                Combination::Max => "max",
                Combination::Mean => "mean",
                Combination::Min => "min",
            }
            .spelled(),
        ),
        ("cool-down-up", time(rules.cool_down.up)),
        ("cool-down-down", time(rules.cool_down.down)),
        ("goes-first", leaver(rules.leaver).spelled()),
        ("standby", whole(rules.standby.keep)),
        ("prepared", whole(rules.standby.prepare)),
        ("start-up", time(rules.start_up)),
        ("wake-up", time(rules.wake_up)),
        ("replace-after", time(rules.replace_after)),
        ("drain-deadline", time(rules.drain_deadline)),
        ("stale-after", time(rules.stale_after)),
    ]);
    keys
}

fn capacity(capacity: Capacity) -> Value {
    match capacity {
        Capacity::Given(requests_per_s) => Value::Float(requests_per_s),
        Capacity::Learned { initial, least, most, slower } => table([
            ("initial", Value::Float(initial)),
            ("least", Value::Float(least)),
            ("most", Value::Float(most)),
            ("slower", Value::Float(slower)),
        ]),
    }
}

/// Its bounds are those of the others.
fn flavour(capacity: Capacity) -> Value {
    match capacity {
        Capacity::Given(requests_per_s) => Value::Float(requests_per_s),
        Capacity::Learned { .. } => "auto".spelled(),
    }
}

fn leaver(leaver: Leaver) -> &'static str {
    Leaver::ALL.into_iter().find(|(_, known)| *known == leaver).map_or("fewest-requests", |(name, _)| name)
}

fn policy(policy: &Policy) -> Value {
    let mut keys = vec![("kind", policy.name().spelled())];
    match policy {
        Policy::Reactive(rule) => {
            keys.extend([("period", time(rule.period)), ("baseline", whole(rule.baseline))]);
        }
        Policy::Target(rule) => keys.extend(target(rule)),
        Policy::Predictive(Predictive { target: rule, season, step, confidence, forecast }) => {
            keys.extend(target(rule));
            keys.extend([
                ("season", time(*season)),
                ("step", time(*step)),
                ("confidence", share(*confidence)),
                ("forecast", method(*forecast).spelled()),
            ]);
        }
        Policy::Schedule(rule) => {
            keys.push(("floors", one_or_many(rule.floors.iter().map(floor).collect())));
        }
    }
    table(keys)
}

fn method(forecast: Method) -> &'static str {
    Method::ALL.into_iter().find(|(_, known)| *known == forecast).map_or("auto", |(name, _)| name)
}

fn target(rule: &Target) -> Vec<(&'static str, Value)> {
    vec![
        ("utilisation", share(rule.utilisation)),
        ("up-after", time(rule.up_after)),
        ("down-after", time(rule.down_after)),
        ("hysteresis", share(rule.hysteresis)),
        ("stabilise-up", time(rule.stabilise_up)),
        ("stabilise-down", time(rule.stabilise_down)),
        ("step-up", step(rule.step_up)),
        ("step-down", step(rule.step_down)),
        ("damping", rule.damping.spelled()),
    ]
}

fn step(step: Option<Step>) -> Value {
    match step {
        None => OFF.spelled(),
        Some(step) => {
            table([("servers", whole(step.servers)), ("share", share(step.share)), ("per", time(step.per))])
        }
    }
}

fn floor(floor: &Floor) -> Value {
    table([
        ("begins", Printed(&floor.begins).spelled()),
        ("lasts", time(floor.lasts)),
        ("servers", whole(floor.servers)),
    ])
}

fn signal(signal: &SignalRule) -> Value {
    let mut keys = vec![("kind", signal.kind.name().spelled())];
    if signal.kind != SignalKind::Requests {
        keys.push(("per-server", Value::Float(signal.per_server)));
    }
    let statistic = match signal.statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::Max => "max".to_owned(),
        Statistic::Percentile(share) => format!("p{:.0}", share * 100.0),
    };
    keys.extend([("statistic", statistic.spelled()), ("window", time(signal.window))]);
    table(keys)
}

fn table(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn one_or_many(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
}

fn time(span: Duration) -> Value {
    Printed(Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))).spelled()
}

fn share(share: f64) -> Value {
    Value::String(format!("{:.0}%", share * 100.0))
}

fn whole(number: impl Into<u64>) -> Value {
    Value::Integer(i64::try_from(number.into()).unwrap_or(i64::MAX))
}
