//! Data that each algorithm computes in advance from the servers.

use std::sync::Arc;

use crate::cost::request_weight;
use crate::draw::{Entrant, WeightedDraw};
use crate::edf::Beginnings;
use crate::hash::{
    Addressed, ByWeight, IpvsKind, IpvsTable, Ketama, Maglev, Rendezvous, Ring, apart, host_keys, id_key,
    id32_key, position_key, ring_keys,
};
use crate::ipvs_twos::IpvsTwos;
use crate::ipvs_wrr::Thresholds;
use crate::locality::Localities;
use crate::open_weights::OpenWeights;
use crate::round_robin::Classes;
use crate::weighted_map::WeightedMap;
use crate::{Algorithm, Candidate, Portion, RingPoints, Scheduling};

/// Data that each algorithm computes in advance.
#[derive(Debug)]
pub(crate) enum Schedule {
    /// The algorithm compares the tournament's keys.
    Keys,
    RoundRobin(Classes),
    StaticRr(WeightedMap),
    /// IPVS's wrr; its rr is the same with equal weights.
    IpvsWrr(Thresholds),
    Random(WeightedDraw),
    IpvsTwos(IpvsTwos),
    /// Envoy's least request if all weights are equal.
    FewestRequests(WeightedDraw),
    /// Envoy's least request if weights differ. Each picker has its own schedule, which starts at one of
    /// these.
    Edf(Beginnings),
    PeakEwma(WeightedDraw),
    /// Least response time among a few drawn servers.
    Times(WeightedDraw),
    Map(WeightedMap),
    Ring(Ring),
    Maglev(Maglev),
    Ketama(Ketama),
    Rendezvous(Rendezvous),
    NginxIpHash(ByWeight),
    NginxHash(ByWeight),
    Ipvs(IpvsTable),
    /// The algorithm compares the tournament's keys, unless the key already has a server.
    Locality(Arc<Localities>),
}

/// The servers that a schedule is made for.
pub(crate) struct Cohort<'a> {
    pub(crate) candidates: &'a [Option<Candidate>],
    pub(crate) members: &'a [usize],
    /// The members, and the servers that would be members if they were up.
    pub(crate) standing: &'a [usize],
    /// Number of rosters that the pool had before.
    pub(crate) number: u64,
}

impl Cohort<'_> {
    /// Returns the members' slots and weights, by slot.
    pub(crate) fn weights(&self) -> Vec<(usize, u32)> {
        self.members().map(|candidate| (candidate.slot, candidate.weight.get())).collect()
    }

    /// Returns the part of each member's weight that counts, by slot, in the largest possible unit. Usually
    /// these are the weights themselves, so that a sequence equals that of the original algorithm.
    pub(crate) fn shares(&self) -> Vec<(usize, u32)> {
        let whole = Portion::WHOLE.get();
        let mut shares: Vec<_> =
            self.members().map(|candidate| (candidate.slot, candidate.share())).collect();
        if shares.iter().all(|(_, share)| share.is_multiple_of(whole)) {
            shares.iter_mut().for_each(|(_, share)| *share /= whole);
        }
        shares
    }

    /// Creates a draw from members with these slots and shares.
    fn draw(&self, shares: &[(usize, u32)]) -> WeightedDraw {
        let entrant = |&(slot, share): &(usize, u32)| {
            Some(Entrant::new(slot, share, &self.candidates[slot].as_ref()?.load))
        };
        WeightedDraw::new(shares.iter().filter_map(entrant).collect())
    }

    /// Returns [`Cohort::shares`] in the pool's order.
    fn ranked_shares(&self) -> Vec<(usize, u32)> {
        let mut shares = self.shares();
        let rank = |slot: usize| self.candidates[slot].as_ref().map_or(0, |candidate| candidate.rank);
        shares.sort_by_key(|(slot, _)| rank(*slot));
        shares
    }

    /// Returns the members' slots and weights in the pool's order.
    fn weights_in_order(&self) -> Vec<(usize, u32)> {
        addressed(self.members(), whole_weight).into_iter().map(|(slot, weight, _)| (slot, weight)).collect()
    }

    /// Returns the members' slots and shares, in thousandths, in the pool's order.
    pub(crate) fn shares_in_order(&self) -> Vec<(usize, u32)> {
        self.by_share().into_iter().map(|(slot, share, _)| (slot, share)).collect()
    }

    /// Returns the members with their weights and addresses, in the pool's order.
    fn by_weight(&self) -> Vec<Addressed<'_>> {
        addressed(self.members(), whole_weight)
    }

    /// Returns the members with their shares, in thousandths, and addresses, in the pool's order.
    fn by_share(&self) -> Vec<Addressed<'_>> {
        addressed(self.members(), Candidate::share)
    }

    /// Returns each member's slot, its share, and the number that its points on the ring are hashed from.
    fn on_ring(&self, points: RingPoints) -> Vec<(usize, u32, u32)> {
        // Servers with equal addresses are numbered; those that are down keep their numbers.
        let all = addressed(self.candidates.iter().flatten(), Candidate::share);
        let candidates: Vec<&Candidate> =
            all.iter().filter_map(|(slot, ..)| self.candidates[*slot].as_ref()).collect();
        let by_rank = |key: fn(u32) -> u32| -> Vec<u32> {
            candidates.iter().map(|candidate| key(candidate.rank)).collect()
        };
        let keys = match points {
            RingPoints::Address => ring_keys(&all),
            RingPoints::Host => host_keys(&all),
            RingPoints::Name => apart(candidates.iter().map(|candidate| candidate.name_key)),
            RingPoints::Position => by_rank(position_key),
            RingPoints::Id => by_rank(id_key),
            RingPoints::Id32 => by_rank(id32_key),
        };
        let mut by_slot = vec![0; self.candidates.len()];
        for ((slot, ..), key) in all.iter().zip(keys) {
            by_slot[*slot] = key;
        }
        self.by_share().into_iter().map(|(slot, share, _)| (slot, share, by_slot[slot])).collect()
    }

    /// Returns the members, and the servers that would be members if they were up.
    fn up_or_down(&self) -> impl Iterator<Item = &Candidate> {
        self.standing.iter().filter_map(|slot| self.candidates[*slot].as_ref())
    }

    fn up_or_down_by_weight(&self) -> ByWeight {
        let servers = addressed(self.up_or_down(), whole_weight).into_iter();
        ByWeight::new(&servers.map(|(slot, weight, _)| (slot, weight)).collect::<Vec<_>>())
    }

    /// Returns the weights of all servers, usable or not.
    fn all_weights(&self) -> impl Iterator<Item = u32> {
        self.candidates.iter().flatten().map(|candidate| candidate.weight.get())
    }

    /// Returns the full weights of all servers, up or down, in thousandths.
    fn whole_weights(&self) -> impl Iterator<Item = u32> {
        self.up_or_down().map(|candidate| candidate.weight.get() * Portion::WHOLE.get())
    }

    fn members(&self) -> impl Iterator<Item = &Candidate> {
        self.members.iter().filter_map(|slot| self.candidates[*slot].as_ref())
    }
}

fn whole_weight(candidate: &Candidate) -> u32 {
    candidate.weight.get()
}

/// Returns the candidates in the pool's order, each with the value of `weight` and its address.
fn addressed<'a>(
    candidates: impl Iterator<Item = &'a Candidate>,
    weight: impl Fn(&Candidate) -> u32,
) -> Vec<Addressed<'a>> {
    let mut in_order: Vec<&Candidate> = candidates.collect();
    in_order.sort_by_key(|candidate| candidate.rank);
    in_order.into_iter().map(|candidate| (candidate.slot, weight(candidate), &candidate.address)).collect()
}

impl Schedule {
    /// Creates the schedule of an algorithm. `known` is the previous schedule of the same algorithm.
    pub(crate) fn new(scheduling: Scheduling, cohort: &Cohort<'_>, known: Option<&Self>) -> Self {
        let map = || WeightedMap::new(&cohort.shares_in_order(), cohort.all_weights());
        let shares = cohort.shares();
        let equal = shares.windows(2).all(|two| two[0].1 == two[1].1);
        match scheduling.algorithm {
            Algorithm::RoundRobin => Self::RoundRobin(Classes::new(&shares, cohort.number)),
            Algorithm::LeastResponseTime if scheduling.measure.drawn.is_some() => {
                Self::Times(cohort.draw(&shares))
            }
            Algorithm::StaticRr => Self::StaticRr(map()),
            Algorithm::IpvsRr => {
                let alike = cohort.weights_in_order().into_iter().map(|(slot, _)| (slot, 1));
                Self::IpvsWrr(Thresholds::new(&alike.collect::<Vec<_>>()))
            }
            Algorithm::IpvsWrr => Self::IpvsWrr(Thresholds::new(&cohort.weights_in_order())),
            Algorithm::LeastConnections
            | Algorithm::IpvsLc
            | Algorithm::IpvsWlc
            | Algorithm::Sed
            | Algorithm::Nq
            | Algorithm::First
            | Algorithm::Failover
            | Algorithm::Overflow
            | Algorithm::LeastResponseTime
            | Algorithm::LeastBandwidth => Self::Keys,
            Algorithm::Random => Self::Random(cohort.draw(&shares)),
            Algorithm::IpvsTwos => Self::IpvsTwos(IpvsTwos::new(&cohort.ranked_shares())),
            Algorithm::LeastRequest if equal && scheduling.measure.bias.is_none() => {
                Self::FewestRequests(cohort.draw(&shares))
            }
            Algorithm::LeastRequest => {
                let candidate = |slot: usize| cohort.candidates[slot].as_ref();
                let weight =
                    |slot| candidate(slot).map_or(1.0, |one| request_weight(one, &scheduling.measure));
                Self::Edf(Beginnings::new(cohort.members, cohort.number, weight))
            }
            Algorithm::PeakEwma => Self::PeakEwma(cohort.draw(&shares)),
            Algorithm::Source | Algorithm::Hash => Self::Map(map()),
            Algorithm::Ring => {
                let on_ring = cohort.on_ring(scheduling.hash.points);
                Self::Ring(Ring::new(on_ring, cohort.whole_weights()))
            }
            Algorithm::Maglev => Self::Maglev(Maglev::new(&cohort.by_share(), scheduling.hash.table_size)),
            Algorithm::Ketama => {
                let servers = addressed(cohort.up_or_down(), Candidate::share);
                Self::Ketama(Ketama::new(&servers, cohort.whole_weights()))
            }
            Algorithm::Rendezvous => Self::Rendezvous(Rendezvous::new(&cohort.by_share())),
            Algorithm::NginxIpHash => Self::NginxIpHash(cohort.up_or_down_by_weight()),
            Algorithm::NginxHash => Self::NginxHash(cohort.up_or_down_by_weight()),
            Algorithm::IpvsSh => Self::Ipvs(IpvsTable::new(IpvsKind::Source, &cohort.by_weight())),
            Algorithm::IpvsDh => Self::Ipvs(IpvsTable::new(IpvsKind::Destination, &cohort.by_weight())),
            Algorithm::IpvsMh => Self::Ipvs(IpvsTable::new(IpvsKind::Maglev, &cohort.by_weight())),
            Algorithm::Lblc | Algorithm::Lblcr => Self::Locality(match known {
                Some(Self::Locality(known)) => Arc::clone(known),
                _ => Arc::default(),
            }),
        }
    }

    /// Returns the weights of the servers with room, if the algorithm draws only among those.
    pub(crate) fn open_weights(&self) -> Option<&Arc<OpenWeights>> {
        match self {
            Self::IpvsTwos(servers) => Some(servers.open_weights()),
            _ => None,
        }
    }

    /// Returns true if round robin serves requests without a key, or those for which all attempts failed.
    pub(crate) fn needs_turns(&self) -> bool {
        matches!(
            self,
            Self::Ketama(_) | Self::Rendezvous(_) | Self::NginxIpHash(_) | Self::NginxHash(_) | Self::Ipvs(_)
        )
    }
}
