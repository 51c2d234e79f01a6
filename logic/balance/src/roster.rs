use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use weir_model::{ServerAddress, Weight};

use crate::bounded_load::Bound;
use crate::hash::{ByWeight, IpvsKind, IpvsTable, Ketama, Maglev, Rendezvous, Ring};
use crate::hub::Hub;
use crate::ipvs_wrr::Thresholds;
use crate::key_rule::KeyRule;
use crate::locality::Localities;
use crate::random::WeightedDraw;
use crate::round_robin::Classes;
use crate::tournament::Tournament;
use crate::weighted_map::WeightedMap;
use crate::{Algorithm, Candidate, Scheduling, ServerLoad};

/// Who may be chosen in one pool, and everything that can be worked out in advance for choosing.
///
/// Made anew whenever a server comes, goes, or changes its weight or state; shared by all workers through an `Arc`.
/// Immutable but for the keys of the servers, which are lock-free.
///
/// Backup servers take part only when no other server is eligible, and then all of them, balanced (HAProxy's
/// `option allbackups`; its default is the first of them alone).
#[derive(Debug)]
pub struct Roster {
    scheduling: Scheduling,
    generation: u64,
    candidates: Box<[Option<Candidate>]>,
    members: Box<[usize]>,
    schedule: Schedule,
    bound: Option<Bound>,
    /// For requests that have nothing to go by, where the algorithm has no way of its own.
    turns: Option<Classes>,
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
    Map(WeightedMap),
    Ring(Ring),
    Maglev(Maglev),
    Ketama(Ketama),
    Rendezvous(Rendezvous),
    NginxIpHash(ByWeight),
    NginxHash(ByWeight),
    Ipvs(IpvsTable),
    /// By the tournament's keys, unless the key's server is known.
    Locality(Arc<Localities>),
}

impl Roster {
    /// Puts `candidates` up for choice, in place of `previous`, the last roster of the same pool. Their slots must
    /// differ; of two with the same slot the latter counts.
    ///
    /// `previous` may still be in use by workers when this returns: what they begin and end there counts here too.
    pub fn new(
        scheduling: impl Into<Scheduling>,
        candidates: Vec<Candidate>,
        previous: Option<&Self>,
    ) -> Self {
        let scheduling = scheduling.into();
        // Only ever compared for equality, so that a picker notices another roster: no hidden input.
        static GENERATION: AtomicU64 = AtomicU64::new(1);
        let generation = GENERATION.fetch_add(1, Relaxed);

        let candidates = by_slot(candidates);
        let members = members(&candidates);
        let cohort = Cohort { candidates: &candidates, members: &members };
        let known = previous.filter(|previous| previous.algorithm() == scheduling.algorithm);
        let schedule = Schedule::new(scheduling, &cohort, known.map(Self::schedule));
        let bound = bounded_load(&scheduling).map(|percent| Bound::new(percent, &cohort.in_order()));
        let turns = schedule.needs_turns().then(|| Classes::new(&cohort.weighted()));
        let hub = previous.map_or_else(Arc::default, |previous| Arc::clone(&previous.hub));
        for candidate in candidates.iter().flatten() {
            candidate.load.set_in_total(bound.is_some(), hub.total_load());
        }
        let roster = Self {
            scheduling,
            generation,
            candidates,
            members,
            schedule,
            bound,
            turns,
            tournament: None,
            hub,
        };
        roster.with_tournament(previous)
    }

    /// The algorithm that pickers follow here, and its options.
    pub fn scheduling(&self) -> &Scheduling {
        &self.scheduling
    }

    /// The algorithm that pickers follow here.
    pub fn algorithm(&self) -> Algorithm {
        self.scheduling.algorithm
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
        candidate.load.add_one(self.hub.total_load());
        self.refresh(slot, &candidate.load, true);
        true
    }

    /// As [`Roster::begin`], unless the server is at its `connections_max`: two workers that pick at the same moment
    /// may both have seen its last free place. False if nothing was counted.
    pub fn try_begin(&self, slot: usize) -> bool {
        let Some(candidate) = self.candidate(slot) else { return false };
        let counted = candidate.load.add_one_within(candidate.max(), self.hub.total_load());
        if counted {
            self.refresh(slot, &candidate.load, true);
        }
        counted
    }

    /// Counts a request as over. `load` is that of the server it was given to, which may have left its slot since;
    /// any roster of the pool will do, the present one is best.
    pub fn end(&self, slot: usize, load: &Arc<ServerLoad>) {
        load.remove_one(self.hub.total_load());
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

    pub(crate) fn turns(&self) -> Option<&Classes> {
        self.turns.as_ref()
    }

    /// Whether picks are made from this server.
    pub(crate) fn is_member(&self, slot: usize) -> bool {
        self.members.binary_search(&slot).is_ok()
    }

    /// The first by the tournament's keys among those with room; None if there are none, or no such keys.
    pub(crate) fn least_loaded(&self, exclude: &[usize]) -> Option<usize> {
        self.tournament.as_ref()?.pick(exclude)
    }

    /// Whether a member may be given a request now: not excluded, and below its `connections_max`.
    pub(crate) fn is_open(&self, slot: usize, exclude: &[usize]) -> bool {
        !exclude.contains(&slot) && self.candidate(slot).is_some_and(Candidate::has_room)
    }

    /// Whether the bound on loads, if there is one, permits a member another request.
    pub(crate) fn is_within_bound(&self, slot: usize) -> bool {
        let Some(bound) = &self.bound else { return true };
        let active = self.candidate(slot).map_or(0, |candidate| candidate.load.active());
        bound.permits(slot, active, self.hub.total_load())
    }

    /// The first member from `start` on that may be given a request and has not reached its bound; None without a bound.
    pub(crate) fn any_within_bound(&self, exclude: &[usize], start: usize) -> Option<usize> {
        self.bound.as_ref()?;
        let (before, behind) = self.members.split_at(start.checked_rem(self.members.len())?);
        let mut from_start = behind.iter().chain(before).copied();
        from_start.find(|slot| self.is_open(*slot, exclude) && self.is_within_bound(*slot))
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
        let rule = KeyRule::of(self.scheduling.algorithm);
        if rule.is_some() || self.members.iter().any(limited) {
            let mut entrants = self.candidates.clone();
            for entrant in &mut entrants {
                entrant.take_if(|candidate| !self.is_member(candidate.slot));
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

/// The servers that a schedule is made for.
struct Cohort<'a> {
    candidates: &'a [Option<Candidate>],
    members: &'a [usize],
}

impl Cohort<'_> {
    fn weighted(&self) -> Vec<(usize, u32)> {
        let weight =
            |slot: usize| self.candidates[slot].as_ref().map_or(0, |candidate| candidate.weight.get());
        self.members.iter().map(|slot| (*slot, weight(*slot))).collect()
    }

    /// In the pool's order.
    fn in_order(&self) -> Vec<(usize, u32)> {
        let rank = |slot: usize| self.candidates[slot].as_ref().map_or(0, |candidate| candidate.rank);
        let mut in_order = self.weighted();
        in_order.sort_by_key(|(slot, _)| rank(*slot));
        in_order
    }

    /// With their addresses, in the pool's order.
    fn addressed(&self) -> Vec<(usize, u32, &ServerAddress)> {
        let address = |slot: usize| Some(&self.candidates[slot].as_ref()?.address);
        let in_order = self.in_order().into_iter();
        in_order.filter_map(|(slot, weight)| Some((slot, weight, address(slot)?))).collect()
    }

    /// The members, and the servers that would be among them if they were up, with their addresses, in the pool's order.
    fn up_or_down(&self) -> Vec<(usize, u32, &ServerAddress)> {
        let first = self.members.first().and_then(|slot| self.candidates[*slot].as_ref());
        let backup = first.is_some_and(|candidate| candidate.backup);
        let all = self.candidates.iter().flatten();
        let mut alike: Vec<&Candidate> =
            all.filter(|candidate| candidate.backup == backup && candidate.weight > Weight::ZERO).collect();
        alike.sort_by_key(|candidate| candidate.rank);
        alike.iter().map(|candidate| (candidate.slot, candidate.weight.get(), &candidate.address)).collect()
    }

    fn up_or_down_by_weight(&self) -> ByWeight {
        let servers = self.up_or_down();
        ByWeight::new(&servers.into_iter().map(|(slot, weight, _)| (slot, weight)).collect::<Vec<_>>())
    }

    /// Those of all servers, usable or not.
    fn all_weights(&self) -> impl Iterator<Item = u32> + Clone {
        self.candidates.iter().flatten().map(|candidate| candidate.weight.get())
    }
}

impl Schedule {
    /// `known` is what the same algorithm had before.
    fn new(scheduling: Scheduling, cohort: &Cohort<'_>, known: Option<&Self>) -> Self {
        let map = || WeightedMap::new(&cohort.in_order(), cohort.all_weights());
        match scheduling.algorithm {
            Algorithm::RoundRobin => Self::RoundRobin(Classes::new(&cohort.weighted())),
            Algorithm::StaticRr => Self::StaticRr(map()),
            Algorithm::IpvsWrr => Self::IpvsWrr(Thresholds::new(&cohort.in_order())),
            Algorithm::LeastConnections
            | Algorithm::IpvsLc
            | Algorithm::IpvsWlc
            | Algorithm::Sed
            | Algorithm::Nq
            | Algorithm::First
            | Algorithm::Failover
            | Algorithm::Overflow => Self::Keys,
            Algorithm::Random => Self::Random(WeightedDraw::new(&cohort.weighted())),
            Algorithm::Source | Algorithm::Hash => Self::Map(map()),
            Algorithm::Ring => Self::Ring(Ring::new(&cohort.weighted())),
            Algorithm::Maglev => Self::Maglev(Maglev::new(&cohort.weighted(), cohort.all_weights())),
            Algorithm::Ketama => Self::Ketama(Ketama::new(cohort.up_or_down().into_iter())),
            Algorithm::Rendezvous => Self::Rendezvous(Rendezvous::new(cohort.addressed().into_iter())),
            Algorithm::NginxIpHash => Self::NginxIpHash(cohort.up_or_down_by_weight()),
            Algorithm::NginxHash => Self::NginxHash(cohort.up_or_down_by_weight()),
            Algorithm::IpvsSh => Self::Ipvs(IpvsTable::new(IpvsKind::Source, &cohort.addressed())),
            Algorithm::IpvsDh => Self::Ipvs(IpvsTable::new(IpvsKind::Destination, &cohort.addressed())),
            Algorithm::IpvsMh => Self::Ipvs(IpvsTable::new(IpvsKind::Maglev, &cohort.addressed())),
            Algorithm::Lblc | Algorithm::Lblcr => Self::Locality(match known {
                Some(Self::Locality(known)) => Arc::clone(known),
                _ => Arc::default(),
            }),
        }
    }

    /// Whether requests without a key, or whose tries have been in vain, go by round robin.
    fn needs_turns(&self) -> bool {
        matches!(
            self,
            Self::Ketama(_) | Self::Rendezvous(_) | Self::NginxIpHash(_) | Self::NginxHash(_) | Self::Ipvs(_)
        )
    }
}

/// The bound that holds: only some algorithms have one.
fn bounded_load(scheduling: &Scheduling) -> Option<u32> {
    let bounds = matches!(scheduling.algorithm, Algorithm::Ring | Algorithm::Random);
    scheduling.hash.bounded_load_percent.filter(|_| bounds)
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
