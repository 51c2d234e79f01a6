//! Provider calls of a decision, and their results.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::Done;
use crate::{Actuator, Failure, MachineId};

/// Provider calls of one decision.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Time of the decision.
    pub(super) at: Duration,
    pub(super) start: Vec<MachineId>,
    pub(super) create: usize,
    pub(super) create_for_standby: usize,
    pub(super) stop: Vec<MachineId>,
    pub(super) delete: Vec<MachineId>,
    /// New machines for standby, which get no requests.
    pub(super) park: Vec<MachineId>,
    /// True if deletions come first, to make room.
    pub(super) delete_first: bool,
    /// Creations in progress.
    pub(super) creating: Rc<Creating>,
}

/// Creations in progress that the journal does not show.
#[derive(Debug, Default)]
pub(super) struct Creating {
    pub(super) unwritten: Cell<usize>,
    pub(super) for_standby: Cell<usize>,
}

/// Results of orders.
#[derive(Debug)]
pub(super) struct Carried {
    /// Time of the decision.
    pub(super) at: Duration,
    pub(super) started: Vec<(MachineId, Result<(), Failure>)>,
    /// New machines; the flag is true for standby.
    pub(super) created: Vec<(Result<MachineId, Failure>, bool)>,
    pub(super) stopped: Vec<(MachineId, Result<(), Failure>)>,
    pub(super) deleted: Vec<(MachineId, Result<(), Failure>)>,
    pub(super) parked: Vec<(MachineId, Result<(), Failure>)>,
}

impl Orders {
    pub(super) fn is_empty(&self) -> bool {
        let machines = [&self.start, &self.stop, &self.delete, &self.park];
        machines.iter().all(|ids| ids.is_empty()) && self.create + self.create_for_standby == 0
    }

    /// Calls the provider and waits for its answers.
    pub(super) async fn carry_out(self, actuator: Rc<Actuator>) -> Carried {
        let (urgent, later) =
            if self.delete_first { (&self.delete[..], &[][..]) } else { (&[][..], &self.delete[..]) };
        let first = actuator.delete(urgent).await;
        let count = self.create + self.create_for_standby;
        let creations = async {
            // From here on, the journal shows them.
            self.creating.unwritten.set(self.creating.unwritten.get().saturating_sub(count));
            actuator.create(count).await
        };
        let (started, created, stopped, deleted, parked) = tokio::join!(
            actuator.start(&self.start),
            creations,
            actuator.stop(&self.stop),
            actuator.delete(later),
            actuator.stop(&self.park)
        );
        let standby = &self.creating.for_standby;
        standby.set(standby.get().saturating_sub(self.create_for_standby));
        let created = created.into_iter().enumerate();
        Carried {
            at: self.at,
            started: paired(&self.start, started),
            created: created.map(|(at, made)| (made.map(|machine| machine.id), at >= self.create)).collect(),
            stopped: paired(&self.stop, stopped),
            deleted: paired(urgent, first).into_iter().chain(paired(later, deleted)).collect(),
            parked: paired(&self.park, parked),
        }
    }
}

impl Carried {
    /// Returns the accepted calls.
    pub(super) fn done(&self) -> Done {
        let accepted = |all: &[(MachineId, Result<(), Failure>)]| {
            all.iter().filter(|(_, result)| result.is_ok()).count() as u64
        };
        Done {
            created: self.created.iter().filter(|(result, _)| result.is_ok()).count() as u64,
            woken: accepted(&self.started),
            stopped: accepted(&self.stopped),
            deleted: accepted(&self.deleted),
            ..Done::default()
        }
    }

    /// Returns the failures, each cause once.
    pub(super) fn failures(&self) -> Vec<String> {
        let told = [&self.deleted, &self.started, &self.stopped, &self.parked];
        let told = told.into_iter().flatten().filter_map(|(_, result)| result.as_ref().err());
        let made = self.created.iter().filter_map(|(result, _)| result.as_ref().err());
        // Many calls fail for one reason.
        let mut reasons: Vec<String> = told.chain(made).map(ToString::to_string).collect();
        reasons.dedup();
        reasons
    }
}

fn paired(ids: &[MachineId], results: Vec<Result<(), Failure>>) -> Vec<(MachineId, Result<(), Failure>)> {
    ids.iter().cloned().zip(results).collect()
}
