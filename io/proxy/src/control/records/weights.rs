//! Measures the weights of servers.

use weir_balance::{
    AVERAGE_WEIGHT, AutoWeight, AutoWeightRule, Judged, RequestClass, RequestMix, SpeedEstimate, weigh,
};
use weir_model::Weight;

use super::members::Members;

/// A server's measured weight.
#[derive(Debug, Default)]
pub(in crate::control) struct FoundWeight {
    estimate: SpeedEstimate,
    judgement: Option<AutoWeight>,
}

impl FoundWeight {
    /// Returns the last result with its reason; `None` = nothing measured yet.
    pub(in crate::control) fn judgement(&self) -> Option<&AutoWeight> {
        self.judgement.as_ref()
    }

    /// Returns the current weight.
    pub(super) fn weight(&self) -> Weight {
        let average = || Weight::new(AVERAGE_WEIGHT).unwrap_or_default();
        self.judgement.map_or_else(average, |judgement| judgement.weight)
    }
}

/// Adds the latest measurements and judges all servers with measured weights. Returns true if a weight has
/// changed.
pub(super) fn judge_weights(rule: &AutoWeightRule, mix: &mut RequestMix, members: &mut Members) -> bool {
    let mut new = [0; RequestClass::COUNT];
    for record in members.iter_mut().filter(|record| record.spec.spec.auto_weight.is_some()) {
        let learned = record.found_weight.estimate.learn(rule, record.state.service_times());
        new.iter_mut().zip(learned).for_each(|(sum, requests)| *sum += requests);
    }
    mix.learn(rule, new);
    let judged: Vec<Judged<'_>> = members
        .iter()
        .filter_map(|record| {
            let known = record.spec.spec.auto_weight?;
            let found = &record.found_weight;
            Some(Judged { weight: found.weight(), known, estimate: &found.estimate })
        })
        .collect();
    let mut judgements = weigh(rule, mix.dynamic_share(), &judged).into_iter();
    let mut has_changed = false;
    for record in members.iter_mut().filter(|record| record.spec.spec.auto_weight.is_some()) {
        let Some(judgement) = judgements.next() else { break };
        has_changed |= judgement.weight != record.found_weight.weight();
        record.found_weight.judgement = Some(judgement);
    }
    has_changed
}
