//! Settles actions with an unknown result, because the process was killed or the provider did not answer.

use super::{Actuator, UnderWay, activity, now_ms, subject};
use crate::journal::{Action, Intent, Outcome};
use crate::{Failure, FailureKind, Machine, MachineId, MachineState, Order};

/// An action whose result is now known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The action.
    pub action: Action,
    /// The result.
    pub outcome: Outcome,
}

/// Age in milliseconds from which an action is abandoned, so that a new decision replaces it.
const STALE_MS: u64 = 10 * 60 * 1000;

/// Next step for an open action.
enum Verdict {
    /// The action has this result.
    Ended(Outcome),
    /// The action is repeated, which is harmless.
    Again,
    /// The result is not known yet.
    Later,
}

impl Actuator {
    /// Determines the result of each open action. Repeats actions if that is safe: creating (the token
    /// ensures that there is one machine), starting, and deleting a machine that does not run. Stopping is
    /// not repeated: the machine may serve requests, and must be drained first.
    ///
    /// Call it at the start, and before each decision while something is [pending](Self::pending).
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
        // After another leader, the action is also abandoned.
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

    /// Repeats an action; `None` = its result is still unknown.
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
