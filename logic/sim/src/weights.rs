//! The automatic weights of simulated servers.

use weir_balance::{
    AutoWeightRule, Judged, KnownSpeeds, RequestClass, RequestMix, ServiceTimes, SpeedEstimate, weigh,
};
use weir_model::Weight;

/// Measurements of a server with an automatic weight.
#[derive(Debug)]
pub(crate) struct Measured {
    known: KnownSpeeds,
    times: Box<ServiceTimes>,
    estimate: SpeedEstimate,
}

impl Measured {
    pub(crate) fn new(known: KnownSpeeds) -> Self {
        Self { known, times: Box::default(), estimate: SpeedEstimate::default() }
    }

    /// Records the time of an answered request of this class.
    pub(crate) fn took(&self, class: RequestClass, took_us: u64) {
        self.times.add(class, took_us);
    }
}

/// Evaluates the measurements since the last call and sets the weights, as the proxy's control plane does.
/// Returns true if a weight changed.
pub(crate) fn judge(
    rule: &AutoWeightRule,
    mix: &mut RequestMix,
    mut servers: Vec<(&mut Weight, &mut Measured)>,
) -> bool {
    let mut new = [0; RequestClass::COUNT];
    for (_, server) in &mut servers {
        let learned = server.estimate.learn(rule, &server.times);
        new.iter_mut().zip(learned).for_each(|(sum, requests)| *sum += requests);
    }
    mix.learn(rule, new);
    let judged = |(weight, server): &(&mut Weight, &mut Measured)| (**weight, server.known, server.estimate);
    let known: Vec<_> = servers.iter().map(judged).collect();
    let judged: Vec<Judged<'_>> = known
        .iter()
        .map(|(weight, known, estimate)| Judged { weight: *weight, known: *known, estimate })
        .collect();
    let mut has_changed = false;
    for ((weight, _), judgement) in servers.into_iter().zip(weigh(rule, mix.dynamic_share(), &judged)) {
        has_changed |= *weight != judgement.weight;
        *weight = judgement.weight;
    }
    has_changed
}
