use std::sync::Arc;

use weir_balance::{
    Algorithm, Candidate, HashFunction, Key, Pick, PickInput, Picker, Portion, Roster, Scheduling, ServerLoad,
};
use weir_config::simulation::{Scenario, SimKey};
use weir_model::ServerAddress;

use crate::in_flight::{Flight, Stay};
use crate::rng::{Rng, Stream};

/// The balancer's side: the roster that all workers share, and each worker's picker. As in the proxy, but that everybody
/// works in turn.
#[derive(Debug)]
pub(crate) struct Pool {
    scheduling: Scheduling,
    goes_by_uri: bool,
    candidates: Vec<Candidate>,
    roster: Roster,
    is_stale: bool,
    pickers: Vec<Picker>,
    rng: Rng,
}

/// What became of a request that was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) at_ns: u64,
    /// 0 = not known.
    pub(crate) bytes: u64,
}

impl Pool {
    pub(crate) fn new(scenario: &Scenario, algorithm: Algorithm, seed: u64) -> Self {
        let groups = scenario.groups.iter().flat_map(|group| (0..group.count).map(move |_| group));
        let candidates: Vec<Candidate> = groups
            .enumerate()
            .map(|(slot, group)| Candidate {
                slot,
                rank: slot as u32,
                address: address(slot),
                weight: group.weight,
                portion: Portion::WHOLE,
                priority: group.priority,
                backup: group.backup,
                is_local: !group.is_remote,
                eligible: true,
                // Nobody is bound to a server here.
                keeps_clients: false,
                connections_max: group.connections_max,
                load: Arc::new(ServerLoad::default()),
            })
            .collect();
        let mut rng = Rng::new(seed, Stream::Picks);
        let pickers = (0..scenario.balancer.workers).map(|_| Picker::new(rng.next())).collect();
        let scheduling = scenario.scheduling(algorithm);
        let roster = Roster::new(scheduling, candidates.clone(), None);
        let goes_by_uri = goes_by_uri(scenario.balancer.key, algorithm);
        Self { scheduling, goes_by_uri, candidates, roster, is_stale: false, pickers, rng }
    }

    /// Chooses a server for a request that has failed on those in `exclude`, and counts it there.
    pub(crate) fn choose(&mut self, flight: &Flight, now_ns: u64, exclude: &[usize]) -> Pick {
        if std::mem::take(&mut self.is_stale) {
            self.roster = Roster::new(self.scheduling, self.candidates.clone(), Some(&self.roster));
        }
        let (key, random) = (Some(self.key(flight)), self.rng.next());
        let input = PickInput { key, random, now_ms: now_ns / 1_000_000, exclude };
        let Some(picker) = self.pickers.get_mut(flight.worker as usize) else { return Pick::Nobody };
        let pick = picker.pick(&self.roster, &input);
        match pick {
            Pick::Server(slot) if !self.roster.try_begin(slot) => Pick::Busy,
            pick => pick,
        }
    }

    fn key(&self, flight: &Flight) -> Key {
        if self.goes_by_uri {
            // A hash already: any function of it is as good as another.
            Key::Digest(HashFunction::Crc32.digest(&flight.uri.to_be_bytes()))
        } else {
            flight.client.into()
        }
    }

    /// Measures a request that was given to the server in `slot`.
    pub(crate) fn stay(&self, slot: usize, now_ns: u64) -> Stay {
        Stay { begun_ns: now_ns, watch: self.roster.watch(slot, now_ns / 1_000_000) }
    }

    /// A request of the server in `slot` is over; `answer` is what came, if anything did. Head and last byte come at once, and so do
    /// the bytes: a request's count when it ends.
    pub(crate) fn end(&self, slot: usize, stay: Option<Stay>, answer: Option<Answer>) {
        let Some(Candidate { load, .. }) = self.candidates.get(slot) else { return };
        if let Some(Stay { begun_ns, mut watch }) = stay {
            if let Some(Answer { at_ns, bytes }) = answer {
                let (now_ms, took_us) = (at_ns / 1_000_000, at_ns.saturating_sub(begun_ns) / 1_000);
                watch.answered(&self.roster, load, now_ms, took_us, true);
                watch.moved(&self.roster, load, now_ms, bytes);
                watch.completed(&self.roster, load, now_ms, true);
            }
            watch.end(load);
        }
        self.roster.end(slot, load);
    }

    /// The balancer learns that a server is dead, or back.
    pub(crate) fn set_eligible(&mut self, slot: usize, eligible: bool) {
        if let Some(candidate) = self.candidates.get_mut(slot).filter(|there| there.eligible != eligible) {
            candidate.eligible = eligible;
            self.is_stale = true;
        }
    }

    /// Whether a server could have been chosen, as far as the balancer knows.
    pub(crate) fn could_take(&self, slot: usize) -> bool {
        self.candidates.get(slot).is_some_and(|candidate| {
            candidate.eligible && candidate.connections_max.is_none_or(|max| candidate.load.active() < max)
        })
    }
}

fn goes_by_uri(key: SimKey, algorithm: Algorithm) -> bool {
    use Algorithm::{IpvsDh, IpvsMh, IpvsSh, Lblc, Lblcr, NginxIpHash, Source};
    match key {
        SimKey::Client => false,
        SimKey::Auto => matches!(algorithm, Lblc | Lblcr),
        // They know no key but an address.
        SimKey::Uri => !matches!(algorithm, Source | NginxIpHash | IpvsSh | IpvsDh | IpvsMh),
    }
}

/// An address for each server, the same ones in every run.
fn address(slot: usize) -> ServerAddress {
    const FIRST: u32 = 0x0a00_0001;
    let address = std::net::Ipv4Addr::from_bits(FIRST.wrapping_add(slot as u32));
    ServerAddress::Inet(std::net::SocketAddr::from((address, 80)))
}
