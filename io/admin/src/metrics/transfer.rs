//! Metrics of third-party copies.

use std::collections::BTreeMap;

use weir_control::{TransferSnapshot, TransferTotals, TransfersSnapshot};

use super::text::{Kind, Labels, Text, Value};

/// Labels of a group of transfers: area, direction, peer and state.
type Group<'a> = [&'a str; 4];

/// Sums of a group.
#[derive(Default)]
struct Sum {
    count: u64,
    bytes: u64,
    bytes_per_second: u64,
}

/// Name, help text and value of a gauge.
type Gauge = (&'static str, &'static str, fn(&Sum) -> u64);

const GAUGES: [Gauge; 3] = [
    ("weir_transfer_live", "Third-party copies under way, by what they are at.", |sum| sum.count),
    ("weir_transfer_live_bytes", "Bytes of their files that those under way have transferred.", |sum| {
        sum.bytes
    }),
    ("weir_transfer_live_bytes_per_second", "How fast those under way are.", |sum| sum.bytes_per_second),
];

pub(super) fn write(text: &mut Text, transfers: &TransfersSnapshot) {
    let mut groups: BTreeMap<Group<'_>, Sum> = BTreeMap::new();
    for live in &transfers.live {
        let sum = groups.entry(group(live)).or_default();
        sum.count += 1;
        sum.bytes += live.bytes;
        sum.bytes_per_second += live.bytes_per_second;
    }
    for (name, help, value) in GAUGES {
        text.family(name, Kind::Gauge, help);
        for ([area, direction, peer, state], sum) in &groups {
            let labels = [("area", *area), ("direction", *direction), ("peer", *peer), ("state", *state)];
            text.sample(name, Kind::Gauge, &Labels::of(&labels), Value::Whole(value(sum)));
        }
    }
    let ended = "weir_transfer_ended";
    text.family(ended, Kind::Counter, "Third-party copies that have ended, by how.");
    for totals in &transfers.totals {
        for (result, count) in
            [("succeeded", totals.succeeded), ("failed", totals.failed), ("cancelled", totals.cancelled)]
        {
            text.sample(ended, Kind::Counter, &labels(totals).with("result", result), Value::Whole(count));
        }
    }
    let bytes = "weir_transfer_bytes";
    text.family(bytes, Kind::Counter, "Bytes of third-party copies over the network, failed tries included.");
    for totals in &transfers.totals {
        text.sample(bytes, Kind::Counter, &labels(totals), Value::Whole(totals.bytes));
    }
}

fn group(live: &TransferSnapshot) -> Group<'_> {
    [&live.area, &live.direction, &live.peer, &live.state]
}

fn labels(totals: &TransferTotals) -> Labels {
    Labels::of(&[("area", &totals.area), ("direction", &totals.direction)])
}
