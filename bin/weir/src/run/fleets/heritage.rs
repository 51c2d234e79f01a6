//! Exchanges the past demand of a fleet between machines, through the store that holds the lease. A new
//! leader continues the forecasts of the one before.

use std::time::{Duration, Instant};

use weir_config::plan::FleetPlan;
use weir_fleet::SharedDemand;
use weir_scale::history::Row;
use weir_scale::{DemandLog, Scaler};

/// Demand log of a fleet with forecasts that machines without its history may lead.
pub(super) struct Heritage {
    log: DemandLog,
    shared: SharedDemand,
    /// True if the content of the store is known (it may be absent). Until then the store is not overwritten.
    is_heard: bool,
    last: Option<Instant>,
    /// Minimum time until the next exchange.
    pause: Duration,
    /// The last problem that was reported; empty if none.
    said: String,
}

/// Time between two writes to the store, and between two attempts to reach it. Forecast steps take minutes.
const PAUSE: Duration = Duration::from_secs(60);

impl Heritage {
    /// Returns `None` if there are no forecasts, or if each possible leader finds the history in the
    /// directory. Sends no request yet.
    pub(super) fn new(plan: &FleetPlan) -> Option<Self> {
        let (log, shared) = (DemandLog::new(&plan.rules)?, SharedDemand::new(plan)?);
        Some(Self { log, shared, is_heard: false, last: None, pause: PAUSE, said: String::new() })
    }

    /// Loads the demand log from the store. Returns news for the operator. Waits at most a quarter of the
    /// lease duration.
    pub(super) async fn hear(&mut self, now_s: i64) -> Option<String> {
        let heard = self.shared.hear(&mut self.log, now_s).await;
        self.is_heard = heard.is_ok();
        // An unusable log in the store is overwritten.
        self.news(heard.unwrap_or_else(Err))
    }

    /// Adds a row to the log; rows of the past are accepted.
    pub(super) fn note(&mut self, scaler: &Scaler, row: &Row) {
        if let Some(demand) = scaler.rules().demand_of(row) {
            self.log.remember(row.timestamp as i64, demand);
        }
    }

    /// Restarts the forecasts with the whole log.
    pub(super) fn teach(&self, now_s: i64, scaler: &mut Scaler) {
        scaler.forget();
        // Includes the current step, which has begun but not ended.
        let points = self.log.points().take_while(|(wall_s, _)| *wall_s <= now_s);
        points.for_each(|(wall_s, demand)| scaler.remember(wall_s, demand));
    }

    /// Writes the log to the store if that is due. Loads it first if that has not succeeded yet. Returns news
    /// for the operator. Waits at most a quarter of the lease duration.
    pub(super) async fn exchange(&mut self, now_s: i64, scaler: &mut Scaler) -> Option<String> {
        if self.last.is_some_and(|last| last.elapsed() < self.pause) {
            return None;
        }
        let began = Instant::now();
        let news = if self.is_heard {
            let told = self.shared.tell(&self.log).await;
            self.last = Some(Instant::now());
            self.news(told)
        } else {
            let news = self.hear(now_s).await;
            // After a successful load, writes without a pause: the log now has the rows of both sides.
            self.last = (!self.is_heard).then(Instant::now);
            if self.is_heard {
                self.teach(now_s, scaler);
            }
            news
        };
        // The leader waits for the answer, so with a store that hangs it spends at most a tenth of its time
        // on that.
        self.pause = PAUSE.max(began.elapsed() * 10);
        news
    }

    fn news(&mut self, outcome: Result<(), String>) -> Option<String> {
        let said = outcome.err().map(|why| format!("what forecasts go by is not exchanged: {why}"));
        let before = std::mem::replace(&mut self.said, said.clone().unwrap_or_default());
        match said {
            Some(said) => (said != before).then_some(said),
            None => (!before.is_empty()).then(|| "what forecasts go by is exchanged again".to_owned()),
        }
    }
}
