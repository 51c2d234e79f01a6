//! Finds changed fleets.

use weir_model::Name;

use super::Change;
use crate::Plan;
use crate::plan::FleetPlan;

pub(super) fn diff(old: &Plan, new: &Plan, changes: &mut Vec<Change>) {
    let (before, after) = (&old.fleets, &new.fleets);
    if before == after {
        return;
    }
    let of = |fleets: &[FleetPlan], name: &Name| fleets.iter().find(|fleet| fleet.name == *name).cloned();
    let gone = before.iter().filter(|fleet| of(after, &fleet.name).is_none());
    let differs = |fleet: &&FleetPlan| of(before, &fleet.name).as_ref() != Some(*fleet);
    let changed = gone.chain(after.iter().filter(differs)).map(|fleet| fleet.name.clone()).collect();
    changes.push(Change::Fleets { fleets: after.clone(), changed });
}
