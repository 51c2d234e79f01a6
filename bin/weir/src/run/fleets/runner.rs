//! The thread of a fleet.

use std::cell::RefCell;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use weir_config::plan::{FleetBalancer, FleetPlan, HistoryPlan};
use weir_fleet::live::Live;
use weir_fleet::{Actuator, Candidate, History, LeaseError, Steps, Wish};
use weir_model::PoolName;
use weir_proxy::control::Controller;
use weir_scale::history::Row;
use weir_scale::{Now, Scaler, SignalKind};

use super::balance::Balance;
use super::chronicle::Chronicle;
use super::desk::Desk;
use super::exchange::Exchange;
use super::heritage::Heritage;
use super::moved::Moved;
use super::pool::{Before, Pool};
use super::tell::Teller;

/// Parameters of a fleet's thread.
pub(super) struct Runner {
    pub(super) plan: FleetPlan,
    /// The former balancer of the fleet's servers, if it was a different one.
    pub(super) left: Option<FleetBalancer>,
    pub(super) desk: Arc<Desk>,
    pub(super) controller: Arc<Controller>,
    pub(super) control_plane: Handle,
    /// True if the config no longer has the fleet and the thread deletes its machines.
    pub(super) retires: bool,
}

/// Pause before the next attempt to lead.
const RETRY: Duration = Duration::from_secs(1);

impl Runner {
    /// Runs until the fleet is stopped.
    pub(super) fn run(self) {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.desk.tell(format!("no event loop: {error}")),
        };
        runtime.block_on(self.live());
        // A provider may still wait for a response that never arrives.
        runtime.shutdown_background();
    }

    async fn live(&self) {
        let mut why = String::new();
        if self.retires {
            // Overrides a pause: the operator could not end it, because the config no longer has the fleet.
            let none = Wish { servers: Some(0), paused: Some(false) };
            if let Err(cause) | Ok((_, Some(cause))) = self.desk.wish(|wish| *wish = none) {
                self.desk.tell(cause);
            }
            self.desk.tell("is not in the config any more: its machines are drained and deleted");
        }
        let complain = |cause: std::io::Error| self.desk.tell(format!("history: {cause}"));
        let latest = self.plan.history.iter().map(|plan| History::latest(plan).map_err(complain));
        self.recall(latest.filter_map(Result::ok));
        let mut candidate = Candidate::new(&self.plan);
        let mut exchange = Exchange::new(&self.plan, &self.desk);
        while !self.desk.is_over() {
            let led = self.lead(&mut candidate, &mut exchange, &mut why).await;
            if let Err(Idle { why: cause, is_alarm }) = led {
                if cause != why {
                    let alarm = if is_alarm { "alarm: " } else { "" };
                    self.desk.tell(format!("{alarm}not led from here: {cause}"));
                }
                self.desk.show(false, |snapshot| {
                    snapshot.leads = false;
                    let (alarms, troubles) = if is_alarm { (1, 0) } else { (0, 1) };
                    snapshot.alarms = vec![cause.clone(); alarms];
                    snapshot.troubles = vec![cause.clone(); troubles];
                });
                why = cause;
            }
            if !self.desk.is_over() {
                self.desk.wait(RETRY).await;
                // A change of the desired state may arrive here although another machine leads.
                exchange.look(false).await;
                self.desk.wished();
            }
        }
    }

    /// Leads until the fleet is stopped or loses the lease. `why` is the reason why it did not lead until
    /// now.
    async fn lead(
        &self,
        candidate: &mut Candidate,
        exchange: &mut Exchange,
        why: &mut String,
    ) -> Result<(), Idle> {
        let mut live = self.open(candidate).await?;
        let led = self.rounds(&mut live, exchange, why).await;
        if led.is_err() {
            self.desk.show(false, |snapshot| snapshot.leads = false);
        }
        // Waits for pending calls instead of cancelling them.
        live.finish().await;
        led
    }

    /// Runs rounds until the fleet ends or loses the lease.
    async fn rounds(
        &self,
        live: &mut Live<Balance>,
        exchange: &mut Exchange,
        why: &mut String,
    ) -> Result<(), Idle> {
        // The previous leader may have received a pause.
        exchange.look(true).await;
        self.desk.tell("led from here");
        self.desk.show(false, |snapshot| snapshot.alarms.clear());
        why.clear();
        let mut heritage = Heritage::new(&self.plan);
        if let Some(heritage) = &mut heritage
            && let Some(news) = heritage.hear(wall_s()).await
        {
            self.desk.tell(news);
        }
        let mut chronicles = self.histories(live.scaler_mut(), heritage.as_mut());
        // True if the forecasts already include the rows of a file. Another file, or the same file after an
        // outage, then adds nothing.
        let mut knew = chronicles.iter().any(Chronicle::is_open);
        let mut teller = Teller::new(Arc::clone(&self.desk));
        let mut moved = Moved::new(self.left_behind(), self.plan.rules.drain_deadline);
        let began = Instant::now();
        loop {
            let next = Instant::now() + self.plan.interval.duration();
            let (wished, is_paused) = self.desk.wished();
            live.scaler_mut().pin(wished.servers);
            live.set_acting(!is_paused);
            let now = now(began);
            let mut round = live.round(now).await;
            round.troubles.extend(live.actuator().lease_trouble());
            let (cut, troubles) = moved.look(now.at);
            round.done.cut += cut;
            round.troubles.extend(troubles);
            if let Some(row) = teller.tell(now.at, &round, live) {
                for chronicle in &mut chronicles {
                    if let Some(news) = chronicle.note(now.at, &row) {
                        self.desk.tell(news);
                    }
                    if let Some(rows) = chronicle.late()
                        && !std::mem::replace(&mut knew, true)
                    {
                        self.catch_up(chronicle.plan(), rows, live.scaler_mut(), heritage.as_mut());
                    }
                }
                if let Some(heritage) = &mut heritage {
                    heritage.note(live.scaler(), &row);
                }
                self.desk.remember(row);
            }
            if self.retires && round.decision.is_some_and(|decision| decision.fleet.servers == 0) {
                self.retired();
                return Ok(());
            }
            // Rounds may be hours apart. This loop checks the lease and the desired state of the other
            // machines more often.
            loop {
                if self.desk.is_over() {
                    return Ok(());
                }
                live.during(exchange.look(false)).await;
                live.actuator().leads()?;
                if let Some(heritage) = &mut heritage
                    && let Some(news) = heritage.exchange(wall_s(), live.scaler_mut()).await
                {
                    self.desk.tell(news);
                }
                let left = next.saturating_duration_since(Instant::now());
                if live.during(self.desk.wait(left.min(RETRY))).await || left <= RETRY {
                    break;
                }
            }
            if self.desk.is_over() {
                return Ok(());
            }
        }
    }

    /// Ends after the last machine is gone. Resets the desired state, so that a later fleet of this name
    /// starts like a new one.
    fn retired(&self) {
        if let Err(cause) | Ok((_, Some(cause))) = self.desk.wish(|wish| *wish = Wish::default()) {
            self.desk.tell(cause);
        }
        self.desk.tell("all of its machines are gone");
        self.desk.end();
    }

    async fn open(&self, candidate: &mut Candidate) -> Result<Live<Balance>, Idle> {
        let plan = &self.plan;
        make_directory(&plan.directory)?;
        if let Some(place) = plan.lease.file().and_then(Path::parent) {
            make_directory(place)?;
        }
        let lease = candidate.acquire().await.map_err(|cause| match (cause, plan.lease.file()) {
            (cause @ LeaseError::Held, Some(file)) => {
                Idle { why: format!("{}: {cause}", file.display()), is_alarm: false }
            }
            (cause, _) => Idle::from(cause),
        })?;
        let provider = weir_fleet::open(plan)?;
        let actuator =
            Actuator::open(plan.name.as_str(), &plan.directory, lease, provider, Steps::default())?;
        if let Some(aside) = actuator.damaged_journal() {
            self.desk.tell(format!("the journal could not be read, and was put aside: {}", aside.display()));
        }
        let balance = self.balance(&plan.balancer);
        let scaler = Scaler::new(Arc::new(plan.rules.clone()));
        let live = Live::new(scaler, actuator, balance, plan.port).patience(plan.interval.duration() / 2);
        Ok(live.spread(plan.name.as_str()))
    }

    /// Returns the balancer of a plan.
    fn balance(&self, balancer: &FleetBalancer) -> Balance {
        let plan = &self.plan;
        match balancer {
            FleetBalancer::Pool(pool) => Balance::Pool(Box::new(Pool {
                fleet: plan.name.clone(),
                name: pool.clone(),
                controller: Arc::clone(&self.controller),
                control_plane: self.control_plane.clone(),
                wants_latency: plan.rules.signals.iter().any(|signal| signal.kind == SignalKind::Latency),
                learns: plan.rules.capacity.is_learned(),
                stale_after: plan.rules.stale_after,
                may_be_gone: self.retires,
                before: RefCell::new(Before::default()),
            })),
            FleetBalancer::Haproxy(haproxy) => Balance::Haproxy(weir_fleet::haproxy(plan, haproxy)),
        }
    }

    /// Returns the other pools that still have servers of the fleet. Pools keep them over restarts.
    fn left_behind(&self) -> Vec<Balance> {
        let fleet = self.plan.name.to_string();
        let others = self.controller.snapshot().pools.into_iter().filter(|pool| {
            self.plan.pool().is_none_or(|ours| ours.as_str() != pool.name)
                && pool.servers.iter().any(|server| server.fleet.as_ref() == Some(&fleet))
        });
        let others = others.filter_map(|pool| PoolName::new(&pool.name).ok()).map(FleetBalancer::Pool);
        let haproxy = self.left.clone().filter(|left| matches!(left, FleetBalancer::Haproxy(_)));
        others.chain(haproxy).map(|balancer| self.balance(&balancer)).collect()
    }

    /// Opens the history files, and takes over the rows that earlier leaders have recorded in them.
    fn histories(&self, scaler: &mut Scaler, heritage: Option<&mut Heritage>) -> Vec<Chronicle> {
        let mut known = Vec::new();
        let mut chronicles = Vec::new();
        for plan in &self.plan.history {
            let opened = History::open(plan)
                .map_err(|cause| self.desk.tell(format!("no history is kept: {cause}")))
                .ok();
            let (mut file, rows) = opened.unzip();
            if let Some(news) = file.as_mut().and_then(History::news) {
                self.desk.tell(news);
            }
            known.extend(rows.map(|rows| (plan, rows)));
            chronicles.push(Chronicle::new(plan.clone(), file));
        }
        if scaler.rules().forecasts() {
            // Uses the file with the oldest row: a file that was added recently holds little.
            let began = |rows: &[Row]| rows.first().map_or(f64::INFINITY, |row| row.timestamp);
            let oldest = known.iter().min_by(|one, other| began(&one.1).total_cmp(&began(&other.1)));
            self.learn(oldest.map(|(plan, _)| *plan), f64::INFINITY, &[], scaler, heritage);
        }
        self.recall(known.into_iter().map(|(_, rows)| rows));
        chronicles
    }

    /// Takes over the rows of a file that could not be opened until now. They are older than the rows seen
    /// since the start.
    fn catch_up(
        &self,
        plan: &HistoryPlan,
        rows: Vec<Row>,
        scaler: &mut Scaler,
        heritage: Option<&mut Heritage>,
    ) {
        let seen = self.desk.history(usize::MAX);
        let began = seen.first().map_or(f64::INFINITY, |row| row.timestamp);
        if !self.desk.precede(rows) || !scaler.rules().forecasts() {
            return;
        }
        scaler.forget();
        self.learn(Some(plan), began, &seen, scaler, heritage);
    }

    /// Restarts the forecasts with the rows of a file that are older than `before` (seconds since 1970), the
    /// rows in `since`, and the demand that other leaders have recorded.
    fn learn(
        &self,
        file: Option<&HistoryPlan>,
        before: f64,
        since: &[Row],
        scaler: &mut Scaler,
        heritage: Option<&mut Heritage>,
    ) {
        match heritage {
            None => {
                self.replay(file, before, |row| remember(scaler, row));
                since.iter().for_each(|row| remember(scaler, row));
            }
            Some(heritage) => {
                let now_s = wall_s();
                // A row from a clock that was ahead would make all other rows too old.
                self.replay(file, before.min(now_s as f64 + 1.0), |row| heritage.note(scaler, row));
                // Adding a row twice does not change the mean.
                since.iter().for_each(|row| heritage.note(scaler, row));
                heritage.teach(now_s, scaler);
            }
        }
    }

    /// Passes the rows of a file that are older than `before` to `each`, oldest first.
    fn replay(&self, file: Option<&HistoryPlan>, before: f64, mut each: impl FnMut(&Row)) {
        let older = |row: Row| {
            if row.timestamp < before {
                each(&row);
            }
        };
        if let Err(cause) = file.map_or(Ok(()), |plan| History::replay(plan, older)) {
            self.desk.tell(format!("forecasts begin anew: {cause}"));
        }
    }

    /// Keeps the rows of the file with the most rows.
    fn recall(&self, files: impl Iterator<Item = Vec<Row>>) {
        if let Some(rows) = files.max_by_key(Vec::len) {
            self.desk.recall(rows);
        }
    }
}

/// The reason why a fleet is not led from this machine.
struct Idle {
    why: String,
    /// True if the reason is unusual and needs an alarm.
    is_alarm: bool,
}

impl From<LeaseError> for Idle {
    fn from(cause: LeaseError) -> Self {
        Self { why: cause.to_string(), is_alarm: !cause.is_held() }
    }
}

impl From<String> for Idle {
    fn from(why: String) -> Self {
        Self { why, is_alarm: true }
    }
}

/// Creates a directory and its parents, accessible only for this user.
fn make_directory(path: &Path) -> Result<(), String> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|cause| format!("{}: {cause}", path.display()))
}

fn remember(scaler: &mut Scaler, row: &Row) {
    if let Some(demand) = scaler.rules().demand_of(row) {
        scaler.remember(row.timestamp as i64, demand);
    }
}

fn now(began: Instant) -> Now {
    Now { at: began.elapsed(), wall_s: wall_s() }
}

/// Seconds since 1970.
fn wall_s() -> i64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(wall.as_secs()).unwrap_or(i64::MAX)
}
