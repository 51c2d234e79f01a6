//! Executes decisions once each: under the lease, with the journal, and with pauses after failures.

mod settle;
mod trouble;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

pub use self::settle::Settled;
use self::trouble::Troubles;
pub use self::trouble::{Activity, Trouble};
use crate::journal::{Action, Intent, Journal, Outcome};
use crate::{
    Failure, FailureKind, Lease, LeaseError, Machine, MachineId, Order, Provider, Steps, Token, concurrent,
    storage,
};

/// Executes actions on the machines of one fleet, in the process that leads it.
pub struct Actuator {
    fleet: String,
    provider: Box<dyn Provider>,
    journal: RefCell<Journal>,
    /// Actions that this process has begun and that the provider has not answered yet.
    under_way: RefCell<BTreeSet<u64>>,
    troubles: RefCell<Troubles>,
    lease: Lease,
    /// Lock on the directory; another process may have another lease but the same directory.
    _lock: File,
    /// Last sequence number in the journal when it was opened.
    inherited: u64,
    /// Time before which nothing is created.
    creates_from: Instant,
    steps: Steps,
}

/// Maximum number of concurrent provider calls for one request.
const AT_ONCE: usize = 16;

impl Actuator {
    /// Opens the journal in `directory` under a lease. The caller must then [settle](Self::settle) the
    /// actions that the journal holds open.
    pub fn open(
        fleet: &str,
        directory: &Path,
        lease: Lease,
        provider: Box<dyn Provider>,
        steps: Steps,
    ) -> Result<Self, LeaseError> {
        lease.check()?;
        let lock = storage::lock(&directory.join("lock")).map_err(LeaseError::Io)?.ok_or(LeaseError::Held)?;
        let journal = Journal::open(&directory.join("journal"), lease.epoch()).map_err(LeaseError::Io)?;
        // The last orders of a leader with another journal may still take effect.
        let pause = if lease.follows_another() { provider.settling() } else { Duration::ZERO };
        Ok(Self {
            fleet: fleet.to_owned(),
            inherited: journal.open_intents().map(|intent| intent.seq).max().unwrap_or(0),
            creates_from: Instant::now() + pause,
            provider,
            journal: RefCell::new(journal),
            under_way: RefCell::default(),
            troubles: RefCell::new(Troubles::new()),
            lease,
            _lock: lock,
            steps,
        })
    }

    /// Returns the path to which an unreadable journal was moved when this one was opened.
    pub fn damaged_journal(&self) -> Option<std::path::PathBuf> {
        self.journal.borrow().damaged().map(Path::to_owned)
    }

    /// Lists all machines of the fleet.
    pub async fn machines(&self) -> Result<Vec<Machine>, Failure> {
        self.troubles.borrow().permit(Activity::Listing)?;
        let machines = self.provider.machines().await;
        self.troubles.borrow_mut().note(Activity::Listing, machines.as_ref().err().into_iter());
        machines
    }

    /// Returns the fields of the latest list that violate the contract.
    pub fn remarks(&self) -> Vec<String> {
        self.provider.remarks()
    }

    /// Creates `count` machines in parallel. A creation that ends as [`FailureKind::Uncertain`] may still
    /// succeed. It counts as [pending](Self::pending) until the result is known.
    pub async fn create(&self, count: usize) -> Vec<Result<Machine, Failure>> {
        let tokens: Result<Vec<_>, _> = (0..count).map(|_| Token::fresh(&self.fleet)).collect();
        let tokens = match tokens {
            Ok(tokens) => tokens,
            Err(cause) => {
                return refuse(count, &Failure::new(FailureKind::Transient, cause.to_string()));
            }
        };
        let actions = tokens.iter().cloned().map(Action::Create).collect();
        let orders = tokens.iter().map(|token| Order { token, again: false });
        let answers = orders.map(|order| self.provider.create(order));
        self.perform(actions, answers, |machine| Some(machine.id.clone())).await
    }

    /// Starts stopped machines in parallel.
    pub async fn start(&self, ids: &[MachineId]) -> Vec<Result<(), Failure>> {
        let actions = ids.iter().cloned().map(Action::Start).collect();
        self.perform(actions, ids.iter().map(|id| self.provider.start(id)), |()| None).await
    }

    /// Stops machines in parallel. The caller must drain them first.
    pub async fn stop(&self, ids: &[MachineId]) -> Vec<Result<(), Failure>> {
        let actions = ids.iter().cloned().map(Action::Stop).collect();
        self.perform(actions, ids.iter().map(|id| self.provider.stop(id)), |()| None).await
    }

    /// Deletes machines in parallel. As for [`stop`](Self::stop), the caller must drain them first.
    pub async fn delete(&self, ids: &[MachineId]) -> Vec<Result<(), Failure>> {
        let actions = ids.iter().cloned().map(Action::Delete).collect();
        self.perform(actions, ids.iter().map(|id| self.provider.delete(id)), |()| None).await
    }

    /// Checks that the lease still holds. Without it, the actuator does nothing more.
    pub fn leads(&self) -> Result<(), LeaseError> {
        self.lease.check()
    }

    /// Returns a problem with a lease that still holds.
    pub fn lease_trouble(&self) -> Option<String> {
        self.lease.trouble()
    }

    /// Returns the time until machines may be created; `None` = now. A former leader with another journal may
    /// have begun creations.
    pub fn waits_to_create(&self) -> Option<Duration> {
        let left = self.creates_from.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Runs the provider's periodic work; to be called about once a second.
    pub async fn tend(&self) -> Result<(), Failure> {
        self.check_lease()?;
        self.catch_up()?;
        self.provider.tend().await
    }

    /// Marks the lease as caught up when no action of a former process is open.
    fn catch_up(&self) -> Result<(), Failure> {
        let is_open = self.journal.borrow().open_intents().any(|intent| intent.seq <= self.inherited);
        if is_open || self.waits_to_create().is_some() {
            return Ok(());
        }
        let written = self.lease.caught_up();
        written.map_err(|cause| Failure::new(FailureKind::Transient, format!("lease: {cause}")))
    }

    /// Returns the number of creations with an unknown result. They count as capacity that is starting.
    pub fn pending(&self) -> usize {
        self.pending_besides(&[])
    }

    /// Returns the same number without creations whose machines are in the list.
    pub fn pending_besides(&self, machines: &[Machine]) -> usize {
        let journal = self.journal.borrow();
        let is_awaited = |intent: &&Intent| match &intent.action {
            Action::Create(token) => !machines.iter().any(|machine| machine.token.as_ref() == Some(token)),
            Action::Start(_) | Action::Stop(_) | Action::Delete(_) => false,
        };
        journal.open_intents().filter(is_awaited).count()
    }

    /// Returns the latest failures that delay further attempts; empty if all works.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.troubles.borrow().shown()
    }

    /// Writes the actions to the journal, awaits the results, and writes these to the journal.
    async fn perform<'a, T: 'a>(
        &'a self,
        actions: Vec<Action>,
        answers: impl Iterator<Item = crate::Answer<'a, T>>,
        id: impl Fn(&T) -> Option<MachineId>,
    ) -> Vec<Result<T, Failure>> {
        let count = actions.len();
        let Some(activity) = actions.first().map(activity) else { return Vec::new() };
        let intents = match self.begin(activity, actions) {
            Ok(intents) => intents,
            Err(failure) => return refuse(count, &failure),
        };
        self.steps.reached("actions are in the journal");
        let _under_way = UnderWay::new(&self.under_way, intents.iter().map(|intent| intent.seq));
        // Not all actions begin at once, and the lease may expire in between.
        let answers = answers.map(move |answer| -> crate::Answer<'a, T> {
            Box::pin(async move {
                self.check_lease()?;
                answer.await
            })
        });
        let results = concurrent::all(AT_ONCE, answers).await;
        let outcomes = intents.iter().zip(&results).filter_map(|(intent, result)| {
            let outcome = match result {
                Ok(answer) => Outcome::Done(id(answer).unwrap_or_else(|| subject(&intent.action))),
                Err(failure) if failure.kind == FailureKind::Uncertain => return None,
                Err(failure) => Outcome::Failed(failure.kind),
            };
            Some((intent.seq, outcome))
        });
        self.steps.reached("actions are done");
        self.end(outcomes);
        self.steps.reached("ends are in the journal");
        let failures = results.iter().filter_map(|result| result.as_ref().err());
        self.troubles.borrow_mut().note(activity, failures);
        results
    }

    fn begin(&self, activity: Activity, actions: Vec<Action>) -> Result<Vec<Intent>, Failure> {
        self.troubles.borrow().permit(activity)?;
        self.check_lease()?;
        let begun = self.journal.borrow_mut().begin(now_ms(), actions);
        begun.map_err(|cause| Failure::new(FailureKind::Transient, format!("journal: {cause}")))
    }

    /// Records the results. If that fails, the actions stay open and are settled later.
    fn end(&self, outcomes: impl Iterator<Item = (u64, Outcome)>) {
        if let Err(cause) = self.journal.borrow_mut().end(now_ms(), outcomes) {
            let failure = Failure::new(FailureKind::Transient, format!("journal: {cause}"));
            self.troubles.borrow_mut().note(Activity::Changing, std::iter::once(&failure));
        }
    }

    fn check_lease(&self) -> Result<(), Failure> {
        self.lease.check().map_err(|cause| Failure::new(FailureKind::Permanent, cause.to_string()))
    }
}

impl std::fmt::Debug for Actuator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Actuator").field("fleet", &self.fleet).finish_non_exhaustive()
    }
}

/// Marks actions as in progress while they are awaited.
struct UnderWay<'a> {
    all: &'a RefCell<BTreeSet<u64>>,
    these: Vec<u64>,
}

impl<'a> UnderWay<'a> {
    fn new(all: &'a RefCell<BTreeSet<u64>>, these: impl Iterator<Item = u64>) -> Self {
        let these: Vec<_> = these.collect();
        all.borrow_mut().extend(&these);
        Self { all, these }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut all = self.all.borrow_mut();
        for seq in &self.these {
            all.remove(seq);
        }
    }
}

fn activity(action: &Action) -> Activity {
    match action {
        Action::Create(_) => Activity::Creating,
        Action::Start(_) | Action::Stop(_) | Action::Delete(_) => Activity::Changing,
    }
}

/// Returns the machine of an action, or the token if there is no machine yet.
fn subject(action: &Action) -> MachineId {
    match action {
        Action::Create(token) => MachineId(token.to_string()),
        Action::Start(id) | Action::Stop(id) | Action::Delete(id) => id.clone(),
    }
}

fn refuse<T>(count: usize, failure: &Failure) -> Vec<Result<T, Failure>> {
    (0..count).map(|_| Err(failure.clone())).collect()
}

/// Returns the time in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
