//! Snapshots of listeners.

use weir_config::plan::{ListenerPlan, Mode};
use weir_control::{
    ExpressionFailures, Level, ListenerSnapshot, ListenerStatus, Protocol, RefusalCount, Responses, TlsCounts,
};
use weir_http::RefusalRule;

use crate::control::records::{LatencySum, ListenerRecord, Records};
use crate::early::EarlyEnd;
use crate::state::{Counter, ListenerCounters, StatusClasses};

/// Returns the listeners in plan order, then the removed listeners that still have connections.
pub(super) fn all(records: &Records) -> Vec<ListenerSnapshot> {
    let planned = records.plan.listeners.iter().filter_map(|plan| records.listeners.get(&plan.name));
    let mut closing: Vec<_> =
        records.listeners.iter().filter(|record| record.is_closing && record.state.open.now() > 0).collect();
    closing.sort_by_key(|record| record.state.plan.name.clone());
    planned.chain(closing).map(of).collect()
}

fn of(record: &ListenerRecord) -> ListenerSnapshot {
    let state = &record.state;
    let plan = &state.plan;
    let sum = |counter: fn(&ListenerCounters) -> &Counter| state.counters.sum(|shard| counter(shard).get());
    let (mut responses, mut answered) = ([0; 6], [0; 6]);
    let mut duration = LatencySum::default();
    for shard in state.counters.iter() {
        add(&mut responses, &shard.responses);
        add(&mut answered, &shard.answered);
        duration.add(&shard.duration);
    }
    let limit = plan.connections_max.map(u64::from);
    let open = u64::from(state.open.now());
    ListenerSnapshot {
        name: plan.name.to_string(),
        bind: plan.bind.iter().map(ToString::to_string).collect(),
        protocol: protocol(plan),
        tls: plan.tls.is_some(),
        status: match limit {
            _ if record.is_closing => ListenerStatus::Closing,
            Some(limit) if open >= limit => ListenerStatus::Full,
            _ => ListenerStatus::Open,
        },
        connections: Level { current: open, max: state.open.max().into(), limit },
        connections_total: record.connections_total(),
        connection_rate: record.connections.rate(),
        connections_denied: sum(|shard| &shard.connections_denied),
        requests_total: record.requests_total(),
        request_rate: record.requests.rate(),
        requests_denied: sum(|shard| &shard.requests_denied),
        expression_failures: ExpressionFailures {
            denied: sum(|shard| &shard.expressions_denied),
            passed_over: sum(|shard| &shard.expressions_passed_over),
        },
        request_errors: sum(|shard| &shard.request_errors),
        refused: refused(record),
        answered: Responses::from(answered),
        intercepted: sum(|shard| &shard.intercepted),
        client_aborts: sum(|shard| &shard.client_aborts),
        request_bytes: sum(|shard| &shard.bytes_in),
        response_bytes: sum(|shard| &shard.bytes_out),
        responses: Responses::from(responses),
        tls_handshakes: TlsCounts {
            completed: sum(|shard| &shard.tls_handshakes),
            resumed: sum(|shard| &shard.tls_resumed),
            failed: sum(|shard| &shard.tls_failures),
        },
        duration: duration.latency(),
    }
}

/// Counts the refusals by each rule that applies to the listener. In TCP mode these are the rules for the
/// start of a connection.
fn refused(record: &ListenerRecord) -> Vec<RefusalCount> {
    let rules: &[RefusalRule] = match record.state.plan.mode {
        Mode::Http(_) => RefusalRule::ALL,
        Mode::Tcp(_) => &EarlyEnd::RULES,
    };
    let count = |rule: &RefusalRule| RefusalCount {
        rule: rule.name().to_owned(),
        requests: record.state.counters.sum(|shard| shard.refused.of(*rule)),
    };
    rules.iter().map(count).collect()
}

fn add(sums: &mut [u64; 6], classes: &StatusClasses) {
    sums.iter_mut().zip(classes.get()).for_each(|(sum, count)| *sum += count);
}

fn protocol(plan: &ListenerPlan) -> Protocol {
    match plan.mode {
        Mode::Http(_) => Protocol::Http,
        Mode::Tcp(_) => Protocol::Tcp,
    }
}
