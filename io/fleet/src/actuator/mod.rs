//! Does what was decided, once: under the lease, with the journal, with pauses after failures.

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

/// The machines of one fleet, for the process that leads it.
pub struct Actuator {
    fleet: String,
    provider: Box<dyn Provider>,
    journal: RefCell<Journal>,
    /// Begun by this process, and its answer is awaited.
    under_way: RefCell<BTreeSet<u64>>,
    troubles: RefCell<Troubles>,
    lease: Lease,
    /// Others may have another lease, and the same directory.
    _lock: File,
    /// The last number in the journal when it was opened.
    inherited: u64,
    /// Nothing is created before.
    creates_from: Instant,
    steps: Steps,
}

/// So many actions of one call are with the provider at a time.
const AT_ONCE: usize = 16;

impl Actuator {
    /// Opens the journal in `directory` under a lease for it. What it holds open is to be [settled](Self::settle) next.
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
        // What somebody with another journal has ordered last may come yet.
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

    /// Where an unreadable journal was put when this one was opened.
    pub fn damaged_journal(&self) -> Option<std::path::PathBuf> {
        self.journal.borrow().damaged().map(Path::to_owned)
    }

    /// Every machine of the fleet.
    pub async fn machines(&self) -> Result<Vec<Machine>, Failure> {
        self.troubles.borrow().permit(Activity::Listing)?;
        let machines = self.provider.machines().await;
        self.troubles.borrow_mut().note(Activity::Listing, machines.as_ref().err().into_iter());
        machines
    }

    /// Fields of the latest list that do not follow the contract.
    pub fn remarks(&self) -> Vec<String> {
        self.provider.remarks()
    }

    /// Creates so many machines, at the same time. Where the answer is [`FailureKind::Uncertain`] the machine may come all the
    /// same: it is among the [pending](Self::pending) until that is known.
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

    /// Starts stopped machines, at the same time.
    pub async fn start(&self, ids: &[MachineId]) -> Vec<Result<(), Failure>> {
        let actions = ids.iter().cloned().map(Action::Start).collect();
        self.perform(actions, ids.iter().map(|id| self.provider.start(id)), |()| None).await
    }

    /// Stops machines, at the same time. Nobody may need them any more: see to it that they are drained.
    pub async fn stop(&self, ids: &[MachineId]) -> Vec<Result<(), Failure>> {
        let actions = ids.iter().cloned().map(Action::Stop).collect();
        self.perform(actions, ids.iter().map(|id| self.provider.stop(id)), |()| None).await
    }

    /// Deletes machines for good, at the same time. As with [`stop`](Self::stop), drained ones.
    pub async fn delete(&self, ids: &[MachineId]) -> Vec<Result<(), Failure>> {
        let actions = ids.iter().cloned().map(Action::Delete).collect();
        self.perform(actions, ids.iter().map(|id| self.provider.delete(id)), |()| None).await
    }

    /// Whether the lease still holds: without it nothing is done any more.
    pub fn leads(&self) -> Result<(), LeaseError> {
        self.lease.check()
    }

    /// What is wrong with the lease although it holds.
    pub fn lease_trouble(&self) -> Option<String> {
        self.lease.trouble()
    }

    /// How long still nothing is created: whoever led before, with another journal, may have begun to. `None` = it may be.
    pub fn waits_to_create(&self) -> Option<Duration> {
        let left = self.creates_from.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// What the provider does by itself; to be called about once a second.
    pub async fn tend(&self) -> Result<(), Failure> {
        self.check_lease()?;
        self.catch_up()?;
        self.provider.tend().await
    }

    /// Once nothing is open any more that was begun before.
    fn catch_up(&self) -> Result<(), Failure> {
        let is_open = self.journal.borrow().open_intents().any(|intent| intent.seq <= self.inherited);
        if is_open || self.waits_to_create().is_some() {
            return Ok(());
        }
        let written = self.lease.caught_up();
        written.map_err(|cause| Failure::new(FailureKind::Transient, format!("lease: {cause}")))
    }

    /// Creations of which nobody knows yet whether there is a machine: on the way, as capacity goes.
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

    /// What has gone wrong last, and is not tried for a while: empty if all works.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.troubles.borrow().shown()
    }

    /// Writes the actions down, awaits the answers, and writes down what they are.
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
        // They are not all begun at once, and the lease may end between two.
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

    /// An end that cannot be written leaves the action open: it is settled later.
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

/// Marks actions as awaited, as long as somebody awaits them.
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

/// The machine that an action is about, as far as the action knows it.
fn subject(action: &Action) -> MachineId {
    match action {
        Action::Create(token) => MachineId(token.to_string()),
        Action::Start(id) | Action::Stop(id) | Action::Delete(id) => id.clone(),
    }
}

fn refuse<T>(count: usize, failure: &Failure) -> Vec<Result<T, Failure>> {
    (0..count).map(|_| Err(failure.clone())).collect()
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
