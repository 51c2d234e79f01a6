//! Metrics of fleets.

use weir_control::FleetSnapshot;

use super::family::{Family, whole};
use super::text::{Kind, Labels, Text, Value};

const FAMILIES: &[Family<FleetSnapshot>] = &[
    Family::gauge("weir_fleet_wanted_servers", "Servers that are wanted.", |fleet| {
        whole(fleet.wanted.into())
    }),
    Family::gauge(
        "weir_fleet_needed_servers",
        "Servers that would be wanted without `min` and `max`.",
        |fleet| whole(fleet.needed.into()),
    ),
    Family::gauge("weir_fleet_min_servers", "There are never fewer.", |fleet| whole(fleet.min.into())),
    Family::gauge("weir_fleet_max_servers", "There are never more that run.", |fleet| {
        whole(fleet.max.into())
    }),
    Family::gauge(
        "weir_fleet_demand_servers",
        "Servers that what is measured would keep busy; missing while nothing is measured.",
        // `Millis` is written divided by 1,000, which keeps three decimals.
        |fleet| fleet.demand.map(|demand| Value::Millis((demand * 1e3).round() as u64)),
    ),
    Family::gauge("weir_fleet_leads", "1 = this process acts for it.", |fleet| whole(fleet.leads.into())),
    Family::gauge("weir_fleet_paused", "1 = it is decided only.", |fleet| whole(fleet.paused.into())),
    Family::gauge("weir_fleet_alarms", "Things that somebody should look at.", |fleet| {
        whole(fleet.alarms.len() as u64)
    }),
    Family::gauge("weir_fleet_start_up_seconds", "How long a new server is expected to take.", |fleet| {
        Some(Value::Millis(fleet.start_up_ms))
    }),
    Family::gauge("weir_fleet_wake_up_seconds", "How long a stopped server is expected to take.", |fleet| {
        Some(Value::Millis(fleet.wake_up_ms))
    }),
    Family::counter("weir_fleet_decisions", "Decisions: one for each look at the pool.", |fleet| {
        whole(fleet.looks)
    }),
    Family::counter("weir_fleet_failed_looks", "Looks at which something did not work.", |fleet| {
        whole(fleet.done.failed)
    }),
    Family::counter(
        "weir_fleet_cut_requests",
        "Requests that were cut off because a time to drain was over.",
        |fleet| whole(fleet.done.cut),
    ),
];

pub(super) fn write(text: &mut Text, fleets: &[FleetSnapshot]) {
    let things: Vec<_> = fleets.iter().map(|fleet| (Labels::of(&[("fleet", &fleet.name)]), fleet)).collect();
    for family in FAMILIES {
        family.write(text, &things);
    }
    let name = "weir_fleet_servers";
    text.family(name, Kind::Gauge, "Servers by what they do: active, coming, draining or stopped.");
    for (labels, fleet) in &things {
        let states = [
            ("active", fleet.active),
            ("coming", fleet.coming),
            ("draining", fleet.draining),
            ("stopped", fleet.stopped),
        ];
        for (state, count) in states {
            text.sample(name, Kind::Gauge, &labels.with("state", state), Value::Whole(count.into()));
        }
    }
    let name = "weir_fleet_actions";
    text.family(name, Kind::Counter, "What was done with servers.");
    for (labels, fleet) in &things {
        let done = fleet.done;
        let actions = [
            ("create", done.created),
            ("wake", done.woken),
            ("drain", done.drained),
            ("recall", done.recalled),
            ("stop", done.stopped),
            ("delete", done.deleted),
            ("replace", done.replaced),
        ];
        for (action, count) in actions {
            text.sample(name, Kind::Counter, &labels.with("action", action), Value::Whole(count));
        }
    }
}
