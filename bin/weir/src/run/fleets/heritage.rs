//! What demand was, between machines: forecasts go on where those of whoever led before have ended, through the store that has the lease.

use std::time::{Duration, Instant};

use weir_config::plan::FleetPlan;
use weir_fleet::SharedDemand;
use weir_scale::history::Row;
use weir_scale::{DemandLog, Scaler};

/// Of a fleet that makes forecasts, and that others may lead who have no history of it.
pub(super) struct Heritage {
    log: DemandLog,
    shared: SharedDemand,
    /// What stood in the store is known, or that nothing did: until then it is not written over.
    is_heard: bool,
    last: Option<Instant>,
    /// For so long it is too early to do so again.
    pause: Duration,
    /// What was said last of what does not work; empty = it works.
    said: String,
}

/// Between two times that others are told, or that a store that does not answer is asked again: steps of forecasts are minutes.
const PAUSE: Duration = Duration::from_secs(60);

impl Heritage {
    /// `None` = there are no forecasts, or whoever may lead finds the history in the directory. Nobody is asked yet.
    pub(super) fn new(plan: &FleetPlan) -> Option<Self> {
        let (log, shared) = (DemandLog::new(&plan.rules)?, SharedDemand::new(plan)?);
        Some(Self { log, shared, is_heard: false, last: None, pause: PAUSE, said: String::new() })
    }

    /// Asks what others have left. Returns what is new and should be told. Waits no longer than a quarter of what a lease lasts.
    pub(super) async fn hear(&mut self, now_s: i64) -> Option<String> {
        let heard = self.shared.hear(&mut self.log, now_s).await;
        self.is_heard = heard.is_ok();
        // What nobody can make use of is written over.
        self.news(heard.unwrap_or_else(Err))
    }

    /// Takes in a row, also one of before.
    pub(super) fn note(&mut self, scaler: &Scaler, row: &Row) {
        if let Some(demand) = scaler.rules().demand_of(row) {
            self.log.remember(row.timestamp as i64, demand);
        }
    }

    /// Forecasts begin anew, with all that is known until now.
    pub(super) fn teach(&self, now_s: i64, scaler: &mut Scaler) {
        scaler.forget();
        // The step that is not over yet has begun.
        let points = self.log.points().take_while(|(wall_s, _)| *wall_s <= now_s);
        points.for_each(|(wall_s, demand)| scaler.remember(wall_s, demand));
    }

    /// Tells what is known, if it is time for that; and asks first, if nobody has answered yet. Returns what is new and should be told.
    /// Waits no longer than a quarter of what a lease lasts.
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
            // What was just heard is told without a pause, together with what is known here.
            self.last = (!self.is_heard).then(Instant::now);
            if self.is_heard {
                self.teach(now_s, scaler);
            }
            news
        };
        // Who leads waits for the answer: of a store that hangs, for a tenth of its time at most.
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
