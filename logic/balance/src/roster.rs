use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::hash::{Maglev, Ring};
use crate::hub::Hub;
use crate::ipvs_wrr::Thresholds;
use crate::key_rule::KeyRule;
use crate::random::WeightedDraw;
use crate::round_robin::Classes;
use crate::tournament::Tournament;
use crate::weighted_map::WeightedMap;
use crate::{Algorithm, Candidate, ServerLoad};

/// Who may be chosen in one pool, and everything that can be worked out in advance for choosing.
///
/// Made anew whenever a server comes, goes, or changes its weight or state; shared by all workers through an `Arc`.
/// Immutable but for the keys of the servers, which are lock-free.
///
/// Backup servers take part only when no other server is eligible, and then all of them, balanced (HAProxy's
/// `option allbackups`; its default is the first of them alone).
#[derive(Debug)]
pub struct Roster {
    algorithm: Algorithm,
    generation: u64,
    candidates: Box<[Option<Candidate>]>,
    members: Box<[usize]>,
    schedule: Schedule,
    tournament: Option<Arc<Tournament>>,
    hub: Arc<Hub>,
}

/// What each algorithm works out in advance.
#[derive(Debug)]
pub(crate) enum Schedule {
    /// By the tournament's keys.
    Keys,
    RoundRobin(Classes),
    StaticRr(WeightedMap),
    IpvsWrr(Thresholds),
    Random(WeightedDraw),
    Source(WeightedMap),
    Ring(Ring),
    Maglev(Maglev),
}

impl Roster {
    /// Puts `candidates` up for choice, in place of `previous`, the last roster of the same pool. Their slots must
    /// differ; of two with the same slot the latter counts.
    ///
    /// `previous` may still be in use by workers when this returns: what they begin and end there counts here too.
    pub fn new(algorithm: Algorithm, candidates: Vec<Candidate>, previous: Option<&Self>) -> Self {
        // Only ever compared for equality, so that a picker notices another roster: no hidden input.
        static GENERATION: AtomicU64 = AtomicU64::new(1);
        let generation = GENERATION.fetch_add(1, Relaxed);

        let candidates = by_slot(candidates);
        let members = members(&candidates);
        let schedule = Schedule::new(algorithm, &candidates, &members);
        let hub = previous.map_or_else(Arc::default, |previous| Arc::clone(&previous.hub));
        let roster = Self { algorithm, generation, candidates, members, schedule, tournament: None, hub };
        roster.with_tournament(previous)
    }

    /// The algorithm that pickers follow here.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Differs from that of every other roster in this process; says nothing about age.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The server in `slot`, whether it may be chosen or not.
    pub fn candidate(&self, slot: usize) -> Option<&Candidate> {
        self.candidates.get(slot)?.as_ref()
    }

    /// The slots that picks are made from, busy servers included, in ascending order: the eligible servers, or the
    /// eligible backup servers if there are no others.
    pub fn members(&self) -> &[usize] {
        &self.members
    }

    /// Counts a request that has been given to the server in `slot`. False if there is no such server.
    pub fn begin(&self, slot: usize) -> bool {
        let Some(candidate) = self.candidate(slot) else { return false };
        candidate.load.add_one();
        self.refresh(slot, &candidate.load, true);
        true
    }

    /// As [`Roster::begin`], unless the server is at its `connections_max`: two workers that pick at the same moment
    /// may both have seen its last free place. False if nothing was counted.
    pub fn try_begin(&self, slot: usize) -> bool {
        let Some(candidate) = self.candidate(slot) else { return false };
        let counted = candidate.load.add_one_within(candidate.max());
        if counted {
            self.refresh(slot, &candidate.load, true);
        }
        counted
    }

    /// Counts a request as over. `load` is that of the server it was given to, which may have left its slot since;
    /// any roster of the pool will do, the present one is best.
    pub fn end(&self, slot: usize, load: &Arc<ServerLoad>) {
        load.remove_one();
        self.refresh(slot, load, false);
    }

    /// The server in `slot` takes this many requests at most from now on, if its candidate has a limit at all. As for
    /// [`Roster::end`], any roster of the pool will do.
    pub fn limit(&self, slot: usize, load: &Arc<ServerLoad>, limit: u32) {
        if load.limit() != limit {
            load.set_limit(limit);
            self.refresh(slot, load, false);
        }
    }

    /// Works out every key from the true loads. [`Roster::new`] has done so already: calling this is harmless.
    pub fn refresh_all(&self) {
        if let Some(tournament) = &self.tournament {
            tournament.refresh_all();
        }
    }

    /// Whether there are servers to choose from, and none of them has room.
    pub fn is_busy(&self) -> bool {
        !self.members.is_empty() && self.any_open(&[], 0).is_none()
    }

    /// Whether a server in this slot may be chosen and has room for one more request.
    pub fn has_room(&self, slot: usize) -> bool {
        self.members.binary_search(&slot).is_ok() && self.is_open(slot, &[])
    }

    /// How many more requests all servers together have room for; `u64::MAX` if one has no limit, `None` if there is no
    /// server to choose from. O(number of servers).
    pub fn room(&self) -> Option<u64> {
        if self.members.is_empty() {
            return None;
        }
        let rooms = self.members.iter().filter_map(|slot| self.candidate(*slot)).map(Candidate::room);
        Some(rooms.fold(0, u64::saturating_add))
    }

    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Whether a member may be given a request now: not excluded, and below its `connections_max`.
    pub(crate) fn is_open(&self, slot: usize, exclude: &[usize]) -> bool {
        !exclude.contains(&slot) && self.candidate(slot).is_some_and(Candidate::has_room)
    }

    /// The least loaded member outside `exclude`, or else inside; None if all are busy. Where no server has a limit
    /// and the algorithm does not count, loads are not compared: the first from `start` on.
    pub(crate) fn any_open(&self, exclude: &[usize], start: usize) -> Option<usize> {
        if let Some(tournament) = &self.tournament {
            return tournament.pick(exclude).or_else(|| tournament.pick(&[]));
        }
        let count = self.members.len();
        let nth = |index: usize| self.members.get((start % count.max(1) + index) % count.max(1)).copied();
        (0..count).filter_map(nth).find(|slot| !exclude.contains(slot)).or_else(|| nth(0))
    }

    fn refresh(&self, slot: usize, load: &Arc<ServerLoad>, chosen: bool) {
        let turns = chosen.then(|| self.hub.turns());
        if let Some(tournament) = &self.tournament {
            tournament.refresh(slot, load, turns);
        }
        // After the count has changed, never before: a roster made before this line has its keys refreshed here, one
        // made after it has read the new count.
        if let Some(newer) = self.hub.newer_than(self.generation) {
            newer.refresh(slot, load, turns);
        }
    }

    /// Sets up keys where they will be asked for: by algorithms that go by them, and to find a server with room among
    /// many that have none.
    fn with_tournament(mut self, previous: Option<&Self>) -> Self {
        let limited = |slot: &usize| self.candidate(*slot).is_some_and(|c| c.connections_max.is_some());
        let rule = KeyRule::of(self.algorithm);
        if rule.is_some() || self.members.iter().any(limited) {
            let mut entrants = self.candidates.clone();
            for entrant in &mut entrants {
                entrant.take_if(|candidate| self.members.binary_search(&candidate.slot).is_err());
            }
            let before = previous.and_then(|previous| previous.tournament.as_deref());
            self.tournament =
                Some(Arc::new(Tournament::new(rule.unwrap_or(KeyRule::LeastConnections), entrants, before)));
        }
        self.hub.publish(self.generation, self.tournament.clone());
        self.refresh_all();
        self
    }
}

impl Schedule {
    fn new(algorithm: Algorithm, candidates: &[Option<Candidate>], members: &[usize]) -> Self {
        let weight = |slot: usize| candidates[slot].as_ref().map_or(0, |candidate| candidate.weight.get());
        let rank = |slot: usize| candidates[slot].as_ref().map_or(0, |candidate| candidate.rank);
        let weighted: Vec<(usize, u32)> = members.iter().map(|slot| (*slot, weight(*slot))).collect();
        let in_order = || {
            let mut in_order = weighted.clone();
            in_order.sort_by_key(|(slot, _)| rank(*slot));
            in_order
        };
        let all_weights = candidates.iter().flatten().map(|candidate| candidate.weight.get());
        let map = || WeightedMap::new(&in_order(), all_weights.clone());
        match algorithm {
            Algorithm::RoundRobin => Self::RoundRobin(Classes::new(&weighted)),
            Algorithm::StaticRr => Self::StaticRr(map()),
            Algorithm::IpvsWrr => Self::IpvsWrr(Thresholds::new(&in_order())),
            Algorithm::LeastConnections
            | Algorithm::IpvsLc
            | Algorithm::IpvsWlc
            | Algorithm::Sed
            | Algorithm::Nq
            | Algorithm::First
            | Algorithm::Failover
            | Algorithm::Overflow => Self::Keys,
            Algorithm::Random => Self::Random(WeightedDraw::new(&weighted)),
            Algorithm::Source => Self::Source(map()),
            Algorithm::Ring => Self::Ring(Ring::new(&weighted)),
            Algorithm::Maglev => Self::Maglev(Maglev::new(&weighted, all_weights)),
        }
    }
}

fn by_slot(candidates: Vec<Candidate>) -> Box<[Option<Candidate>]> {
    let slots = candidates.iter().map(|candidate| candidate.slot + 1).max().unwrap_or(0);
    let mut by_slot: Vec<Option<Candidate>> = vec![None; slots];
    for candidate in candidates {
        let slot = candidate.slot;
        by_slot[slot] = Some(candidate);
    }
    by_slot.into()
}

fn members(candidates: &[Option<Candidate>]) -> Box<[usize]> {
    let tier = |backup: bool| -> Box<[usize]> {
        let usable = candidates.iter().flatten().filter(|candidate| candidate.is_usable());
        usable.filter(|candidate| candidate.backup == backup).map(|candidate| candidate.slot).collect()
    };
    let primaries = tier(false);
    if primaries.is_empty() { tier(true) } else { primaries }
}
