//! What to do about actions of which nobody knows how they ended: the process was killed, or the provider did not answer.

use super::{Actuator, UnderWay, activity, now_ms, subject};
use crate::journal::{Action, Intent, Outcome};
use crate::{Failure, FailureKind, Machine, MachineId, MachineState, Order};

/// An action whose end is known now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What was to be done.
    pub action: Action,
    /// What has come of it.
    pub outcome: Outcome,
}

/// What was wanted so long ago (milliseconds) is decided anew.
const STALE_MS: u64 = 10 * 60 * 1000;

/// What is to be done about an open action.
enum Verdict {
    /// It has ended like this.
    Ended(Outcome),
    /// It is done again: that takes nothing from anybody.
    Again,
    /// It cannot be known yet.
    Later,
}

impl Actuator {
    /// Finds out about every open action, and does again what can be done again: creating (the token sees to it that there is
    /// one machine), starting, and deleting what does not run. Stopping is not done again: the machine may serve, and has to
    /// be drained first.
    ///
    /// To be called at the start, and before deciding as long as something is [pending](Self::pending).
    pub async fn settle(&self) -> Result<Vec<Settled>, Failure> {
        let open: Vec<Intent> = {
            let (journal, under_way) = (self.journal.borrow(), self.under_way.borrow());
            journal.open_intents().filter(|intent| !under_way.contains(&intent.seq)).cloned().collect()
        };
        if open.is_empty() {
            return Ok(Vec::new());
        }
        self.check_lease()?;
        let _under_way = UnderWay::new(&self.under_way, open.iter().map(|intent| intent.seq));
        let machines = self.machines().await?;
        let mut settled = Vec::new();
        for intent in open {
            let outcome = match self.judge(&intent, &machines) {
                Verdict::Ended(outcome) => outcome,
                Verdict::Later => continue,
                Verdict::Again => match self.again(&intent.action).await {
                    Some(outcome) => outcome,
                    None => continue,
                },
            };
            self.steps.reached("an open action is settled");
            self.end(std::iter::once((intent.seq, outcome.clone())));
            settled.push(Settled { action: intent.action, outcome });
        }
        Ok(settled)
    }

    fn judge(&self, intent: &Intent, machines: &[Machine]) -> Verdict {
        use MachineState::{Building, Deleting, Failed, Running, Stopped, Stopping, Unknown};

        let age_ms = now_ms().saturating_sub(intent.at_ms);
        // If somebody else has led since, it is decided anew, too.
        let is_overtaken = self.lease.follows_another() && intent.seq <= self.inherited;
        let fresh = age_ms < STALE_MS && !is_overtaken;
        let done = || Verdict::Ended(Outcome::Done(subject(&intent.action)));
        let abandoned = Verdict::Ended(Outcome::Abandoned);
        let state =
            |id: &MachineId| machines.iter().find(|machine| machine.id == *id).map(|machine| machine.state);
        match &intent.action {
            Action::Create(token) => {
                let found = machines.iter().find(|machine| machine.token.as_ref() == Some(token));
                match found {
                    Some(machine) => Verdict::Ended(Outcome::Done(machine.id.clone())),
                    None if u128::from(age_ms) < self.provider.settling().as_millis() => Verdict::Later,
                    None if fresh => Verdict::Again,
                    None => abandoned,
                }
            }
            Action::Start(id) => match state(id) {
                Some(Stopped) if fresh => Verdict::Again,
                Some(Running | Building) => done(),
                Some(_) => abandoned,
                None => Verdict::Ended(Outcome::Failed(FailureKind::NotFound)),
            },
            Action::Stop(id) => match state(id) {
                Some(Stopping | Stopped | Deleting) | None => done(),
                Some(Running | Building | Failed | Unknown) => abandoned,
            },
            Action::Delete(id) => match state(id) {
                Some(Deleting) | None => done(),
                Some(Stopped | Failed) if fresh => Verdict::Again,
                Some(_) => abandoned,
            },
        }
    }

    /// `None`: it is still not known.
    async fn again(&self, action: &Action) -> Option<Outcome> {
        if self.troubles.borrow().permit(activity(action)).is_err() || self.check_lease().is_err() {
            return None;
        }
        let result = match action {
            Action::Create(token) => {
                self.provider.create(Order { token, again: true }).await.map(|machine| machine.id)
            }
            Action::Start(id) => self.provider.start(id).await.map(|()| id.clone()),
            Action::Stop(id) => self.provider.stop(id).await.map(|()| id.clone()),
            Action::Delete(id) => self.provider.delete(id).await.map(|()| id.clone()),
        };
        self.troubles.borrow_mut().note(activity(action), result.as_ref().err().into_iter());
        match result {
            Ok(id) => Some(Outcome::Done(id)),
            Err(failure) if failure.kind == FailureKind::Uncertain => None,
            Err(failure) => Some(Outcome::Failed(failure.kind)),
        }
    }
}
