//! Where a fleet's thread and those who ask and tell it meet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::timeout;
use weir_config::plan::{FleetBalancer, FleetPlan, FleetProvider};
use weir_control::{FleetEvent, FleetSnapshot};
use weir_scale::history::Row;

/// The fleet as it was left, and what is wished.
pub(super) struct Desk {
    state: Mutex<State>,
    news: Notify,
}

/// What operators want of a fleet. Kept over restarts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Wish {
    /// Whether decisions are only shown; `None` = as the config says.
    pub(super) paused: Option<bool>,
    /// So many; `None` = as demand says.
    pub(super) servers: Option<u32>,
}

struct State {
    snapshot: FleetSnapshot,
    looked: Option<Instant>,
    rows: VecDeque<Row>,
    wish: Wish,
    /// A command has come: what was kept from before does not count any more.
    is_wished: bool,
    acts: bool,
    over: bool,
}

/// Some three hours of looks, one a second.
const ROWS_MAX: usize = 10_000;
const EVENTS_MAX: usize = 50;

impl Desk {
    pub(super) fn new(plan: &FleetPlan) -> Self {
        let provider = match plan.provider {
            FleetProvider::Process(_) => "process",
            FleetProvider::Exec(_) => "exec",
            FleetProvider::OpenStack(_) => "openstack",
        };
        let snapshot = FleetSnapshot {
            name: plan.name.to_string(),
            pool: match &plan.balancer {
                FleetBalancer::Pool(pool) => pool.to_string(),
                FleetBalancer::Haproxy(haproxy) => format!("haproxy:{}", haproxy.backend),
            },
            provider: provider.to_owned(),
            min: plan.rules.bounds.min,
            max: plan.rules.bounds.max,
            ..FleetSnapshot::default()
        };
        let state = State {
            snapshot,
            looked: None,
            rows: VecDeque::new(),
            wish: Wish::default(),
            is_wished: false,
            acts: plan.act,
            over: false,
        };
        Self { state: Mutex::new(state), news: Notify::new() }
    }

    /// The thread is to end.
    pub(super) fn end(&self) {
        self.state().over = true;
        self.news.notify_one();
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().over
    }

    /// Changes what is wished. Returns whether that is something else than before.
    pub(super) fn wish(&self, change: impl FnOnce(&mut Wish)) -> bool {
        let mut state = self.state();
        let before = (state.wish.servers, state.is_paused());
        change(&mut state.wish);
        state.is_wished = true;
        let changed = before != (state.wish.servers, state.is_paused());
        drop(state);
        self.news.notify_one();
        changed
    }

    /// Takes over what was wished before the process was started.
    pub(super) fn recall(&self, wish: Wish) {
        let mut state = self.state();
        if !state.is_wished {
            state.wish = wish;
        }
    }

    /// What is wished, and whether decisions are only shown.
    pub(super) fn wished(&self) -> (Wish, bool) {
        let state = self.state();
        (state.wish, state.is_paused())
    }

    /// Waits so long, or until somebody wants something.
    pub(super) async fn wait(&self, span: Duration) {
        // That the time is over is as good as a reason.
        let _ = timeout(span, self.news.notified()).await;
    }

    /// As others see it.
    pub(super) fn snapshot(&self) -> FleetSnapshot {
        let state = self.state();
        let looked = state.looked.map(|at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX));
        FleetSnapshot {
            paused: state.is_paused(),
            pinned: state.wish.servers,
            looked_ms_ago: looked,
            ..state.snapshot.clone()
        }
    }

    /// Changes what others see; `looked`: this is what a look has come to.
    pub(super) fn show(&self, looked: bool, change: impl FnOnce(&mut FleetSnapshot)) {
        let mut state = self.state();
        change(&mut state.snapshot);
        if looked {
            state.looked = Some(Instant::now());
        }
    }

    /// Tells an event: in the log, and to those who ask.
    pub(super) fn tell(&self, text: impl Into<String>) {
        let text: String = text.into();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time_unix_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let mut state = self.state();
        eprintln!("weir: fleet {}: {text}", state.snapshot.name);
        let events = &mut state.snapshot.events;
        if events.len() >= EVENTS_MAX {
            events.remove(0);
        }
        events.push(FleetEvent { time_unix_ms, text });
    }

    /// A row more.
    pub(super) fn remember(&self, row: Row) {
        let mut state = self.state();
        if state.rows.len() >= ROWS_MAX {
            state.rows.pop_front();
        }
        state.rows.push_back(row);
    }

    /// The latest rows.
    pub(super) fn history(&self, most: usize) -> Vec<Row> {
        let state = self.state();
        let skipped = state.rows.len().saturating_sub(most);
        state.rows.iter().skip(skipped).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_paused(&self) -> bool {
        self.wish.paused.unwrap_or(!self.acts)
    }
}
