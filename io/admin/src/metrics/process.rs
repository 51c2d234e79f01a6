//! Metrics of the process.

use weir_control::{ProcessSnapshot, Snapshot};

use super::family::{Family, whole};
use super::text::{Kind, Labels, Text, Value};

/// Families of the process. Those under `process_` have the names of Prometheus' own client libraries.
const FAMILIES: &[Family<ProcessSnapshot>] = &[
    Family::gauge("weir_uptime_seconds", "Time since the process started.", |p| {
        Some(Value::Millis(p.uptime_ms))
    }),
    Family::gauge("weir_workers", "Worker threads.", |p| whole(p.workers.into())),
    Family::gauge("weir_stopping", "1 while nothing new is accepted and the rest is being finished.", |p| {
        whole(p.stopping.into())
    }),
    Family::gauge("weir_connections", "Client connections open now.", |p| whole(p.connections.current)),
    Family::gauge("weir_connections_limit", "Client connections that may be open at once.", |p| {
        p.connections.limit.map(Value::Whole)
    }),
    Family::counter("weir_connections_accepted", "Client connections accepted.", |p| {
        whole(p.connections_total)
    }),
    Family::counter("weir_requests", "Requests (TCP: connections) read by all listeners.", |p| {
        whole(p.requests_total)
    }),
    Family::gauge("weir_config_age_seconds", "Time since the config in force was read.", |p| {
        Some(Value::Millis(p.config_age_ms))
    }),
    Family::gauge("weir_config_last_reload_successful", "0 if the last reload was refused.", |p| {
        whole(p.reload_error.is_none().into())
    }),
    Family::gauge("weir_runtime_changes", "Servers with something that was changed at runtime.", |p| {
        whole(p.runtime_changes)
    }),
    Family::counter(
        "weir_access_log_lines_dropped",
        "Access log lines lost to a full or slow target.",
        |p| whole(p.log_lines_dropped),
    ),
    Family::counter(
        "weir_idle_connections_closed",
        "Idle connections to servers closed because few descriptors were left.",
        |p| whole(p.idle_connections_closed),
    ),
    Family::gauge("process_resident_memory_bytes", "Resident memory size in bytes.", |p| {
        p.memory_bytes.map(Value::Whole)
    }),
    Family::gauge("weir_memory_limit_bytes", "Memory that should not be exceeded (max-memory).", |p| {
        p.memory_limit_bytes.map(Value::Whole)
    }),
    Family::gauge("weir_memory_short", "1 while connections give way because memory is short.", |p| {
        whole(p.memory_is_short.into())
    }),
    Family::counter("weir_memory_shortages", "How often memory has become short.", |p| {
        whole(p.memory_shortages)
    }),
    Family::gauge("process_open_fds", "Number of open file descriptors.", |p| {
        p.descriptors.map(|descriptors| Value::Whole(descriptors.current))
    }),
    Family::gauge("process_max_fds", "Maximum number of open file descriptors.", |p| {
        p.descriptors?.limit.map(Value::Whole)
    }),
];

pub(super) fn write(text: &mut Text, snapshot: &Snapshot) {
    let process = &snapshot.process;
    text.family("weir_build_info", Kind::Gauge, "Always 1; the version is a label.");
    let labels = Labels::of(&[("version", &process.version)]);
    text.sample("weir_build_info", Kind::Gauge, &labels, Value::Whole(1));
    let start = "process_start_time_seconds";
    text.family(start, Kind::Gauge, "Start time of the process since unix epoch in seconds.");
    let start_unix_ms = snapshot.time_unix_ms.saturating_sub(process.uptime_ms);
    text.sample(start, Kind::Gauge, &Labels::default(), Value::Millis(start_unix_ms));
    for family in FAMILIES {
        family.write(text, &[(Labels::default(), process)]);
    }
    let reloads = "weir_config_reloads";
    text.family(reloads, Kind::Counter, "Reloads of the config, by what became of them.");
    for (result, count) in [("done", process.reloads), ("refused", process.reloads_failed)] {
        text.sample(reloads, Kind::Counter, &Labels::of(&[("result", result)]), Value::Whole(count));
    }
}
