//! Prints `[fleet.NAME]`.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::lease;
use super::plan::{
    FleetBalancer, FleetCloud, FleetPlan, FleetPods, FleetProcesses, FleetProgram, FleetProvider,
    FleetRestart, FleetWorkload,
};
use super::rules::{rules, whole};
use crate::common::print::path;
use crate::common::writer::{OFF, Printed, Spelled, Writer, bare};

pub(crate) fn print(writer: &mut Writer, fleet: &FleetPlan) {
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
        lease::print::store(writer, &format!("fleet.{name}"), store);
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
