use weir_balance::{
    AutoWeightRule, Judged, KnownSpeeds, RequestClass, RequestMix, ServiceTimes, SpeedEstimate, weigh,
};
use weir_model::Weight;

/// What is measured of a server whose weight is found by that.
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

    /// A request of this class was answered after so long.
    pub(crate) fn took(&self, class: RequestClass, took_us: u64) {
        self.times.add(class, took_us);
    }
}

/// Takes up what was measured of the servers since the last time, and sets their weights, as the proxy's control plane does. Returns whether one has
/// another weight now.
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
