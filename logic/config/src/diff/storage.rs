//! Finds changed storage areas, token issuers and token endpoints.

use weir_model::Name;

use super::Change;
use crate::Plan;
use crate::plan::AreaPlan;

pub(super) fn diff(old: &Plan, new: &Plan, changes: &mut Vec<Change>) {
    let (before, after) = (&old.storage_areas, &new.storage_areas);
    if before != after {
        let of = |areas: &[AreaPlan], name: &Name| areas.iter().find(|area| area.name == *name).cloned();
        let gone = before.iter().filter(|area| of(after, &area.name).is_none());
        let differs = |area: &&AreaPlan| of(before, &area.name).as_ref() != Some(*area);
        let changed = gone.chain(after.iter().filter(differs)).map(|area| area.name.clone()).collect();
        changes.push(Change::StorageAreas { areas: after.clone(), changed });
    }
    if old.token_issuers != new.token_issuers {
        changes.push(Change::TokenIssuers(new.token_issuers.clone()));
    }
    if old.token_endpoints != new.token_endpoints {
        changes.push(Change::TokenEndpoints(new.token_endpoints.clone()));
    }
    if old.third_party_copy != new.third_party_copy {
        changes.push(Change::ThirdPartyCopy(new.third_party_copy.clone()));
    }
}
