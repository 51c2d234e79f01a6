//! Counters of listeners.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;
use weir_model::ListenerName;

use super::RateMeter;
use crate::state::{ListenerCounters, ListenerState, OpenConnections, Shards};

/// Counters of all listeners, including those that a reload has removed.
#[derive(Debug, Default)]
pub(in crate::control) struct ListenerBook {
    /// Listeners of the current plan, and removed ones that still have connections.
    by_name: HashMap<ListenerName, ListenerRecord>,
    /// Totals of listeners that have ended.
    connections_before: u64,
    requests_before: u64,
}

/// One listener.
#[derive(Debug)]
pub(in crate::control) struct ListenerRecord {
    /// State that workers see or saw last.
    pub(in crate::control) state: Arc<ListenerState>,
    /// Set when the listener is no longer in the plan.
    pub(in crate::control) is_closing: bool,
    pub(in crate::control) connections: RateMeter,
    pub(in crate::control) requests: RateMeter,
}

impl ListenerBook {
    /// Returns the counters of a listener with this name; new ones if there is none.
    pub(in crate::control) fn counters(
        &self,
        name: &ListenerName,
        threads: usize,
    ) -> (Arc<Shards<ListenerCounters>>, Arc<OpenConnections>) {
        match self.by_name.get(name) {
            Some(record) => (Arc::clone(&record.state.counters), Arc::clone(&record.state.open)),
            None => (Arc::new(Shards::new(threads)), Arc::default()),
        }
    }

    /// Replaces the listeners by those of the new plan and marks all others as closing.
    pub(in crate::control) fn set(&mut self, states: &[Arc<ListenerState>], now: Instant) {
        for record in self.by_name.values_mut() {
            record.is_closing = true;
        }
        for state in states {
            let entry = self.by_name.entry(state.plan.name.clone());
            let record = entry.or_insert_with(|| ListenerRecord {
                state: Arc::clone(state),
                is_closing: false,
                connections: RateMeter::starting(now),
                requests: RateMeter::starting(now),
            });
            record.state = Arc::clone(state);
            record.is_closing = false;
        }
    }

    /// Sums up and releases removed listeners whose last connection has ended. Must be called regularly.
    pub(in crate::control) fn fold(&mut self) {
        let (mut connections, mut requests) = (0, 0);
        self.by_name.retain(|_, record| {
            // Workers hold the counters while a connection is open, through the state of any earlier plan.
            let in_use = !record.is_closing || Arc::strong_count(&record.state.counters) > 1;
            if !in_use {
                connections += record.connections_total();
                requests += record.requests_total();
            }
            in_use
        });
        self.connections_before += connections;
        self.requests_before += requests;
    }

    pub(in crate::control) fn get(&self, name: &ListenerName) -> Option<&ListenerRecord> {
        self.by_name.get(name)
    }

    pub(in crate::control) fn iter(&self) -> impl Iterator<Item = &ListenerRecord> {
        self.by_name.values()
    }

    pub(in crate::control) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ListenerRecord> {
        self.by_name.values_mut()
    }

    /// Returns the client connections accepted since the start.
    pub(in crate::control) fn connections_total(&self) -> u64 {
        self.connections_before + self.iter().map(ListenerRecord::connections_total).sum::<u64>()
    }

    /// Returns the requests since the start.
    pub(in crate::control) fn requests_total(&self) -> u64 {
        self.requests_before + self.iter().map(ListenerRecord::requests_total).sum::<u64>()
    }
}

impl ListenerRecord {
    pub(in crate::control) fn connections_total(&self) -> u64 {
        self.state.counters.sum(|shard| shard.connections.get())
    }

    pub(in crate::control) fn requests_total(&self) -> u64 {
        self.state.counters.sum(|shard| shard.requests.get())
    }
}
