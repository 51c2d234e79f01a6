//! The thread of a fleet.

use std::cell::RefCell;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use weir_config::plan::{FleetBalancer, FleetPlan};
use weir_fleet::live::Live;
use weir_fleet::{Actuator, History, Lease, LeaseError, Steps};
use weir_proxy::control::Controller;
use weir_scale::history::Row;
use weir_scale::{Capacity, Now, Scaler, SignalKind};

use super::balance::Balance;
use super::desk::{Desk, Wish};
use super::pool::{Before, Pool};
use super::tell::Teller;

/// What a fleet's thread needs.
pub(super) struct Runner {
    pub(super) plan: FleetPlan,
    pub(super) desk: Arc<Desk>,
    pub(super) controller: Arc<Controller>,
    pub(super) control_plane: Handle,
}

/// Before it is tried again to lead.
const RETRY: Duration = Duration::from_secs(1);
/// More is no wish.
const WISH_BYTES_MAX: u64 = 4_096;

impl Runner {
    /// Until somebody ends it.
    pub(super) fn run(self) {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.desk.tell(format!("no event loop: {error}")),
        };
        runtime.block_on(self.live());
        // A provider may still wait for somebody who never answers.
        runtime.shutdown_background();
    }

    async fn live(&self) {
        let (mut wish, mut why) = (Wish::default(), String::new());
        let mut history = self.history();
        self.recall(&mut wish);
        while !self.desk.is_over() {
            if let Err(cause) = self.lead(&mut wish, &mut history, &mut why).await {
                if cause != why {
                    self.desk.tell(format!("not led from here: {cause}"));
                }
                self.desk.show(false, |snapshot| {
                    snapshot.leads = false;
                    snapshot.troubles = vec![cause.clone()];
                });
                why = cause;
            }
            if !self.desk.is_over() {
                self.desk.wait(RETRY).await;
            }
        }
    }

    /// Leads as long as nobody ends it or takes the lease away. `why`: for what reason it did not lead until now.
    async fn lead(
        &self,
        wish: &mut Wish,
        history: &mut Option<History>,
        why: &mut String,
    ) -> Result<(), String> {
        let mut live = self.open()?;
        self.desk.tell("led from here");
        why.clear();
        for row in self.desk.history(usize::MAX) {
            remember(live.scaler_mut(), &row);
        }
        let mut teller = Teller::new(Arc::clone(&self.desk));
        let began = Instant::now();
        loop {
            let next = Instant::now() + self.plan.interval.duration();
            let (wished, is_paused) = self.desk.wished();
            if wished != *wish {
                *wish = wished;
                self.keep(*wish);
            }
            live.scaler_mut().pin(wished.servers);
            live.set_acting(!is_paused);
            let now = now(began);
            let round = live.round(now).await;
            if let Some(row) = teller.tell(now.at, &round, &live) {
                self.note(history, now.at, row);
            }
            if self.desk.is_over() {
                return Ok(());
            }
            if !live.actuator().leads() {
                return Err("the lock was removed while it was held".to_owned());
            }
            self.desk.wait(next.saturating_duration_since(Instant::now())).await;
            if self.desk.is_over() {
                return Ok(());
            }
        }
    }

    fn open(&self) -> Result<Live<Balance>, String> {
        let plan = &self.plan;
        make_directory(&plan.directory)?;
        if let Some(place) = plan.lease.parent() {
            make_directory(place)?;
        }
        let lease = Lease::acquire(&plan.lease).map_err(|cause| match cause {
            LeaseError::Held => format!("{}: {cause}", plan.lease.display()),
            cause => cause.to_string(),
        })?;
        let provider = weir_fleet::open(plan)?;
        let actuator = Actuator::open(plan.name.as_str(), &plan.directory, lease, provider, Steps::default())
            .map_err(|cause| cause.to_string())?;
        if let Some(aside) = actuator.damaged_journal() {
            self.desk.tell(format!("the journal could not be read, and was put aside: {}", aside.display()));
        }
        let balance = self.balance();
        Ok(Live::new(Scaler::new(Arc::new(plan.rules.clone())), actuator, balance, plan.port))
    }

    /// Who balances.
    fn balance(&self) -> Balance {
        let plan = &self.plan;
        match &plan.balancer {
            FleetBalancer::Pool(pool) => Balance::Pool(Pool {
                fleet: plan.name.clone(),
                name: pool.clone(),
                controller: Arc::clone(&self.controller),
                control_plane: self.control_plane.clone(),
                wants_latency: plan.rules.signals.iter().any(|signal| signal.kind == SignalKind::Latency),
                learns: matches!(plan.rules.capacity.standard, Capacity::Learned { .. }),
                before: RefCell::new(Before::default()),
            }),
            FleetBalancer::Haproxy(haproxy) => Balance::Haproxy(weir_fleet::haproxy(plan, haproxy)),
        }
    }

    /// What was measured before the process was started.
    fn history(&self) -> Option<History> {
        match History::open(self.plan.history.as_ref()?) {
            Ok((history, rows)) => {
                rows.into_iter().for_each(|row| self.desk.remember(row));
                Some(history)
            }
            Err(cause) => {
                self.desk.tell(format!("no history is kept: {cause}"));
                None
            }
        }
    }

    fn note(&self, history: &mut Option<History>, at: Duration, row: Row) {
        if let Some(file) = history
            && let Err(cause) = file.note(at, &row)
        {
            self.desk.tell(format!("history: {cause}"));
            *history = None;
        }
        self.desk.remember(row);
    }

    fn wish_file(&self) -> PathBuf {
        self.plan.directory.join("wish.json")
    }

    /// What operators wanted before the process was started.
    fn recall(&self, wish: &mut Wish) {
        let path = self.wish_file();
        let read = fs::metadata(&path)
            .and_then(|about| match about.len() {
                0..=WISH_BYTES_MAX => fs::read(&path),
                _ => Err(io::Error::from(io::ErrorKind::FileTooLarge)),
            })
            .and_then(|text| serde_json::from_slice(&text).map_err(io::Error::other));
        match read {
            Ok(kept) => {
                *wish = kept;
                self.desk.recall(kept);
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => self.desk.tell(format!("{}: {cause}", path.display())),
        }
    }

    fn keep(&self, wish: Wish) {
        let path = self.wish_file();
        let new = path.with_extension("new");
        let written = serde_json::to_vec(&wish)
            .map_err(io::Error::other)
            .and_then(|text| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &path));
        if let Err(cause) = written {
            self.desk.tell(format!("what is wished is lost at a restart: {}: {cause}", path.display()));
        }
    }
}

/// Ours alone, with those above it.
fn make_directory(path: &Path) -> Result<(), String> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|cause| format!("{}: {cause}", path.display()))
}

fn remember(scaler: &mut Scaler, row: &Row) {
    let standard = match scaler.rules().capacity.standard {
        Capacity::Given(requests_per_s) => requests_per_s,
        Capacity::Learned { initial, .. } => initial,
    };
    if let Some(rate) = row.rate_per_s {
        scaler.remember(row.timestamp as i64, rate / standard);
    }
}

fn now(began: Instant) -> Now {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { at: began.elapsed(), wall_s: i64::try_from(wall.as_secs()).unwrap_or(i64::MAX) }
}
