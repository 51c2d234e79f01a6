//! The roster of a pool: the servers to choose from, and everything that is computed in advance for picks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::bounded_load::Bound;
use crate::draw::Entrant;
use crate::hub::Hub;
use crate::key_rule::KeyRule;
use crate::measure::Moment;
use crate::membership::{Settled, next_in_line};
use crate::round_robin::Classes;
use crate::schedule::{Cohort, Schedule};
use crate::slot_set::SlotSet;
use crate::tournament::Tournament;
use crate::{Algorithm, Candidate, Portion, Scheduling, ServerLoad, Watch};

/// The servers of one pool that may be chosen, and everything that can be computed in advance for choosing.
///
/// A new roster is made whenever a server is added or removed, or changes its weight or state. All workers
/// share it through an `Arc`. It is immutable except for the keys of the servers, which are lock-free.
///
/// Servers form tiers: the lowest priority number first, backup servers last. A tier takes part only when the
/// tiers before it are not enough. Then all its servers take part, balanced (HAProxy's `option allbackups`;
/// HAProxy's default is the first backup server alone).
#[derive(Debug)]
pub struct Roster {
    scheduling: Scheduling,
    generation: u64,
    /// Number of rosters that the pool had before.
    number: u64,
    candidates: Arc<[Option<Candidate>]>,
    members: Box<[usize]>,
    /// The members as a set, to test single slots.
    member_set: SlotSet,
    /// Slots that contain a server. Read instead of the servers if none can be full: no cache holds thousands
    /// of servers.
    taken_set: SlotSet,
    /// True if some server, member or not, can be full.
    may_be_full: bool,
    schedule: Schedule,
    bound: Option<Bound>,
    /// True if some member can be full.
    is_limited: bool,
    /// Round robin for requests without a key, if the algorithm has no rule of its own for them.
    turns: Option<Classes>,
    tournament: Option<Arc<Tournament>>,
    hub: Arc<Hub>,
}

impl Roster {
    /// Creates the roster that replaces `previous`, the last roster of the same pool.
    ///
    /// The slots of `candidates` must differ; of two candidates with the same slot, the latter counts.
    /// Workers may still use `previous` when this returns: requests that they begin and end there count here
    /// too.
    pub fn new(
        scheduling: impl Into<Scheduling>,
        candidates: Vec<Candidate>,
        previous: Option<&Self>,
    ) -> Self {
        let scheduling = scheduling.into();
        // Only compared for equality, so that a picker notices a different roster. It is not a hidden input.
        static GENERATION: AtomicU64 = AtomicU64::new(1);
        let generation = GENERATION.fetch_add(1, Relaxed);

        let mut candidates = by_slot(candidates);
        let Settled { members, standing } = scheduling.membership.settle(&mut candidates);
        if !scheduling.algorithm.weighs_portions() {
            // Resets the portions so that reports show no fraction that does not count.
            candidates.iter_mut().flatten().for_each(|candidate| candidate.portion = Portion::WHOLE);
        }
        let candidates: Arc<[Option<Candidate>]> = candidates.into();
        let number = previous.map_or(0, |previous| previous.number + 1);
        let cohort = Cohort { candidates: &candidates, members: &members, standing: &standing, number };
        let known = previous.filter(|previous| previous.algorithm() == scheduling.algorithm);
        let schedule = Schedule::new(scheduling, &cohort, known.map(Self::schedule));
        let bound = bounded_load(&scheduling).map(|percent| Bound::new(percent, &cohort.shares_in_order()));
        let by_share = scheduling.algorithm.weighs_portions();
        let turns = || if by_share { cohort.shares() } else { cohort.weights() };
        let turns = schedule.needs_turns().then(|| Classes::new(&turns(), number));
        let hub = previous.map_or_else(Arc::default, |previous| Arc::clone(&previous.hub));
        for candidate in candidates.iter().flatten() {
            candidate.load.set_in_total(bound.is_some(), hub.total_load());
        }
        let taken: Vec<usize> = candidates.iter().flatten().map(|candidate| candidate.slot).collect();
        let roster = Self {
            scheduling,
            generation,
            number,
            member_set: SlotSet::new(&members),
            taken_set: SlotSet::new(&taken),
            may_be_full: candidates.iter().flatten().any(|candidate| candidate.connections_max.is_some()),
            candidates,
            members,
            schedule,
            bound,
            is_limited: false,
            turns,
            tournament: None,
            hub,
        };
        roster.with_tournament(previous)
    }

    /// Returns the algorithm of the pool and its options.
    pub fn scheduling(&self) -> &Scheduling {
        &self.scheduling
    }

    /// Returns the algorithm of the pool.
    pub fn algorithm(&self) -> Algorithm {
        self.scheduling.algorithm
    }

    /// Returns a number that differs from that of every other roster in this process. It does not express
    /// age.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the server in `slot`, whether it may be chosen or not.
    pub fn candidate(&self, slot: usize) -> Option<&Candidate> {
        self.candidates.get(slot)?.as_ref()
    }

    /// Returns the slots that picks choose from, busy servers included, in ascending order. They are the
    /// eligible servers of the best tier, reduced by zone and subset.
    pub fn members(&self) -> &[usize] {
        &self.members
    }

    /// Counts a request that was given to the server in `slot`. Returns false if there is no such server.
    pub fn begin(&self, slot: usize) -> bool {
        let Some(candidate) = self.candidate(slot) else { return false };
        candidate.load.add_one(self.hub.total_load());
        self.refresh(slot, &candidate.load, true);
        true
    }

    /// Counts a request like [`Roster::begin`], unless the server is at its `connections_max`. Returns false
    /// if it counted nothing.
    ///
    /// Two workers that pick at the same moment may both have seen the server's last free place.
    pub fn try_begin(&self, slot: usize) -> bool {
        self.candidate(slot).is_some_and(|candidate| self.try_begin_of(slot, &candidate.load))
    }

    /// Counts a request like [`Roster::try_begin`], for a caller that already holds the `load` of the server
    /// in `slot`. That saves a look-up, and with it a cache miss if there are thousands of servers.
    #[inline]
    pub fn try_begin_of(&self, slot: usize, load: &Arc<ServerLoad>) -> bool {
        let max = match self.may_be_full {
            true => self.candidate(slot).map(Candidate::max),
            false => self.taken_set.contains(slot).then_some(u32::MAX),
        };
        let counted = max.is_some_and(|max| load.add_one_within(max, self.hub.total_load()));
        if counted {
            self.refresh(slot, load, true);
        }
        counted
    }

    /// Returns true if the algorithm uses measurements.
    pub fn measures(&self) -> bool {
        self.scheduling.measure.wants(self.scheduling.algorithm).anything()
    }

    /// Starts to measure a request that was just given to the server in `slot`. `now_ms` has the same origin
    /// as [`PickInput::now_ms`](crate::PickInput::now_ms).
    #[inline]
    pub fn watch(&self, slot: usize, now_ms: u64) -> Watch {
        let wants = self.scheduling.measure.wants(self.scheduling.algorithm);
        let candidate = if wants.anything() { self.candidate(slot) } else { None };
        candidate
            .map_or_else(|| Watch::off(slot), |candidate| Watch::new(slot, wants, &candidate.load, now_ms))
    }

    /// Counts a request as ended. `load` belongs to the server that got the request, which may have left its
    /// slot since.
    ///
    /// Any roster of the pool may be used; the current one is best.
    #[inline]
    pub fn end(&self, slot: usize, load: &Arc<ServerLoad>) {
        load.remove_one(self.hub.total_load());
        self.refresh(slot, load, false);
    }

    /// Sets the most requests that the server in `slot` takes from now on; it applies if the candidate has a
    /// limit. As for [`Roster::end`], any roster of the pool may be used.
    pub fn limit(&self, slot: usize, load: &Arc<ServerLoad>, limit: u32) {
        if load.limit() != limit {
            load.set_limit(limit);
            self.refresh(slot, load, false);
        }
    }

    /// Recomputes every key from the current loads. [`Roster::new`] has already done so; another call is
    /// harmless.
    pub fn refresh_all(&self) {
        if let Some(tournament) = &self.tournament {
            tournament.refresh_all(self.hub.moment());
        }
    }

    /// Returns true if there are servers to choose from, and none of them can take a request. O(log n).
    pub fn is_busy(&self) -> bool {
        !self.members.is_empty() && self.spare(&[], 0).is_none()
    }

    /// Returns true if the server in `slot` may be chosen, has room for one more request, and is within the
    /// bound on loads.
    pub fn has_room(&self, slot: usize) -> bool {
        let is_within = |bound: &Bound| bound.is_within(slot, self.active(slot), self.hub.total_load());
        self.is_member(slot) && self.is_open(slot, &[]) && self.bound.as_ref().is_none_or(is_within)
    }

    /// Returns how many more requests all servers together have room for. `u64::MAX` = a server has no limit;
    /// `None` = there is no server to choose from. O(number of servers).
    pub fn room(&self) -> Option<u64> {
        if self.members.is_empty() {
            return None;
        }
        let rooms = self.members.iter().filter_map(|slot| self.candidate(*slot)).map(Candidate::room);
        Some(rooms.fold(0, u64::saturating_add))
    }

    /// Returns the slot with the least key where keys change with time.
    ///
    /// An idle server's key dates from its last change. Each pick advances `slot` and updates that server's
    /// key. Then it updates the least key until the least one stays the least, which is so once an update
    /// does not increase it.
    pub(crate) fn pick_by_time(&self, exclude: &[usize], now_ms: u64, slot: &mut usize) -> Option<usize> {
        const LOOKS_MAX: usize = 4;
        let tournament = self.tournament.as_deref()?;
        self.hub.set_clock(now_ms);
        let mut moment = self.hub.moment();
        // This pick counts as well.
        moment.picks = moment.picks.wrapping_add(1);
        *slot = (*slot + 1) % tournament.slots().max(1);
        tournament.refresh_one(*slot, moment);
        let mut least = tournament.pick(exclude)?;
        for _ in 1..LOOKS_MAX {
            let has_grown = tournament.refresh_one(least, moment);
            if !has_grown {
                break;
            }
            least = tournament.pick(exclude)?;
        }
        Some(least)
    }

    /// Returns a comparison: true if the first of two servers has the lesser key at `now_ms`.
    pub(crate) fn by_time(&self, now_ms: u64) -> impl Fn(&Entrant, &Entrant) -> bool {
        self.hub.set_clock(now_ms);
        let mut moment = self.hub.moment();
        // This pick counts as well.
        moment.picks = moment.picks.wrapping_add(1);
        let rule = KeyRule::of(&self.scheduling);
        let key = move |entrant: &Entrant| {
            let server = self.candidate(entrant.slot())?;
            Some(rule?.key(server, server.load.active(), moment))
        };
        move |one, other| key(one) < key(other)
    }

    /// Returns true if keys change with time alone.
    pub(crate) fn goes_by_time(&self) -> bool {
        self.tournament.as_ref().is_some_and(|tournament| tournament.goes_by_time())
    }

    /// Returns the server for a retry when all members are in `exclude`, that is, have failed the request.
    ///
    /// It is a server that takes no part (another tier, zone or subset) and is not in `exclude` itself.
    /// `None` = a member is left, or no other server has room.
    pub fn next_in_line(&self, exclude: &[usize]) -> Option<usize> {
        let is_left = |slot: &usize| !exclude.contains(slot);
        if exclude.len() < self.members.len() || self.members.iter().any(is_left) {
            return None;
        }
        next_in_line(&self.candidates, |slot| self.is_member(slot), exclude)
    }

    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    pub(crate) fn turns(&self) -> Option<&Classes> {
        self.turns.as_ref()
    }

    /// Returns true if picks choose from this slot.
    pub(crate) fn is_member(&self, slot: usize) -> bool {
        self.member_set.contains(slot)
    }

    /// Returns the server with room whose tournament key is the least. `None` = no server has room, or there
    /// are no keys.
    pub(crate) fn least_loaded(&self, exclude: &[usize]) -> Option<usize> {
        self.tournament.as_ref()?.pick(exclude)
    }

    /// Returns true if a member can take a request now: it is not excluded and below its `connections_max`.
    pub(crate) fn is_open(&self, slot: usize, exclude: &[usize]) -> bool {
        if exclude.contains(&slot) {
            return false;
        }
        match self.may_be_full {
            true => self.candidate(slot).is_some_and(Candidate::has_room),
            false => self.taken_set.contains(slot),
        }
    }

    /// Returns true if the pool has a bound on loads.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bound.is_some()
    }

    /// Returns true if the bound on loads, if there is one, lets a member take one more request in its turn.
    pub(crate) fn is_within_bound(&self, slot: usize) -> bool {
        let Some(bound) = &self.bound else { return true };
        bound.permits(slot, self.active(slot), self.hub.total_load())
    }

    fn active(&self, slot: usize) -> u32 {
        self.candidate(slot).map_or(0, |candidate| candidate.load.active())
    }

    /// Returns the server for a request for which the algorithm found none. Prefers servers outside
    /// `exclude`; `None` = all are busy.
    ///
    /// With a bound on loads, it is the least loaded server that has room. If that one exceeds its bound, the
    /// servers within their bound have no room, and the request must wait for one of them.
    pub(crate) fn spare(&self, exclude: &[usize], start: usize) -> Option<usize> {
        if let (Some(bound), Some(tournament)) = (&self.bound, &self.tournament) {
            // Other workers choose at the same time, so the least loaded server may have filled up in
            // between.
            const LOOKS_MAX: usize = 3;
            let is_within = |slot: &usize| {
                let is_within = bound.is_within(*slot, self.active(*slot), self.hub.total_load());
                if !is_within {
                    // Another worker may have counted a request there without having updated the key yet.
                    tournament.refresh_one(*slot, self.hub.moment());
                }
                is_within
            };
            for _ in 0..LOOKS_MAX {
                let least = |exclude| tournament.pick(exclude).filter(is_within);
                if let Some(slot) = least(exclude).or_else(|| least(&[])) {
                    return Some(slot);
                }
            }
            if self.is_limited {
                return None;
            }
        }
        self.any_open(exclude, start)
    }

    /// Returns the least loaded member, preferably outside `exclude`; `None` = all are busy.
    ///
    /// If no server has a limit and the algorithm does not count requests, it does not compare loads: it
    /// returns the first member from `start` on.
    pub(crate) fn any_open(&self, exclude: &[usize], start: usize) -> Option<usize> {
        if let Some(tournament) = &self.tournament {
            return tournament.pick(exclude).or_else(|| tournament.pick(&[]));
        }
        let count = self.members.len();
        let nth = |index: usize| self.members.get((start % count.max(1) + index) % count.max(1)).copied();
        (0..count).filter_map(nth).find(|slot| !exclude.contains(slot)).or_else(|| nth(0))
    }

    /// Updates the key of the server in `slot` after a new measurement.
    pub(crate) fn measured(&self, slot: usize, load: &Arc<ServerLoad>, now_ms: u64) {
        self.hub.set_clock(now_ms);
        self.refresh(slot, load, false);
    }

    fn refresh(&self, slot: usize, load: &Arc<ServerLoad>, chosen: bool) {
        let turns = chosen.then(|| self.hub.turns());
        if let Some(tournament) = &self.tournament {
            tournament.refresh(slot, load, turns, self.moment_of(tournament));
        }
        // This must follow the change of the count. A roster made before this line has its keys refreshed
        // here; a roster made after it has read the new count.
        if let Some(newer) = self.hub.newer_than(self.generation) {
            newer.refresh(slot, load, turns, self.moment_of(&newer));
        }
    }

    /// Returns the moment if the keys depend on it. Reading it touches memory that all workers write.
    fn moment_of(&self, tournament: &Tournament) -> Moment {
        if tournament.goes_by_time() { self.hub.moment() } else { Moment::default() }
    }

    /// Creates the keys where something uses them: an algorithm that compares keys, or a search for a server
    /// with room among many full ones.
    fn with_tournament(mut self, previous: Option<&Self>) -> Self {
        let limited = |slot: &usize| self.candidate(*slot).is_some_and(|c| c.connections_max.is_some());
        let is_limited = self.members.iter().any(limited);
        self.is_limited = is_limited;
        let rule = match self.bound {
            Some(_) => Some(KeyRule::FairPart),
            None => KeyRule::of(&self.scheduling),
        };
        if rule.is_some() || is_limited {
            let candidates = Arc::clone(&self.candidates);
            let before = previous.and_then(|previous| previous.tournament.as_deref());
            let rule = rule.unwrap_or(KeyRule::LeastConnections);
            let tournament = Tournament::new(rule, candidates, &self.members, before, self.hub.moment());
            let open_weights = self.schedule.open_weights().cloned();
            self.tournament = Some(Arc::new(tournament.with_open_weights(open_weights)));
        }
        self.hub.publish(self.generation, self.tournament.clone());
        self.refresh_all();
        self
    }
}

/// Returns the bound on loads, which only some algorithms have.
fn bounded_load(scheduling: &Scheduling) -> Option<u32> {
    let bounds = matches!(scheduling.algorithm, Algorithm::Ring | Algorithm::Ketama | Algorithm::Random);
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
