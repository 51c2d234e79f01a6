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

/// Who may be chosen in one pool, and everything that can be worked out in advance for choosing.
///
/// Made anew whenever a server comes, goes, or changes its weight or state; shared by all workers through an `Arc`.
/// Immutable but for the keys of the servers, which are lock-free.
///
/// Servers come in tiers: those with the lowest priority number first, backup servers last. A tier takes part only when
/// those before it do not suffice, and then all of it, balanced (HAProxy's `option allbackups`; its default is the first
/// backup server alone).
#[derive(Debug)]
pub struct Roster {
    scheduling: Scheduling,
    generation: u64,
    /// How many the pool had before.
    number: u64,
    candidates: Arc<[Option<Candidate>]>,
    members: Box<[usize]>,
    /// The same, for whoever asks whether one slot is among them.
    member_set: SlotSet,
    /// Slots that have a server. Asked instead of the servers themselves where none can be full: of thousands no cache holds all.
    taken_set: SlotSet,
    /// Some server can be full, whether it is a member or not.
    may_be_full: bool,
    schedule: Schedule,
    bound: Option<Bound>,
    /// Some member can be full.
    is_limited: bool,
    /// For requests that have nothing to go by, where the algorithm has no way of its own.
    turns: Option<Classes>,
    tournament: Option<Arc<Tournament>>,
    hub: Arc<Hub>,
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

        let mut candidates = by_slot(candidates);
        let Settled { members, standing } = scheduling.membership.settle(&mut candidates);
        if !scheduling.algorithm.weighs_portions() {
            // So that nobody is shown a part that does not count.
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

    /// The slots that picks are made from, busy servers included, in ascending order: the eligible servers of the best
    /// tier, as far as zone and subset permit.
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
        self.candidate(slot).is_some_and(|candidate| self.try_begin_of(slot, &candidate.load))
    }

    /// As [`Roster::try_begin`], for whoever has at hand the `load` of the server in `slot`: then it need not be looked up, which
    /// takes a line of memory that with thousands of servers is in no cache.
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

    /// Whether the algorithm goes by measurements.
    pub fn measures(&self) -> bool {
        self.scheduling.measure.wants(self.scheduling.algorithm).anything()
    }

    /// Measures a request that has just been given to the server in `slot`. `now_ms` counts from where
    /// [`PickInput::now_ms`](crate::PickInput::now_ms) does.
    #[inline]
    pub fn watch(&self, slot: usize, now_ms: u64) -> Watch {
        let wants = self.scheduling.measure.wants(self.scheduling.algorithm);
        let candidate = if wants.anything() { self.candidate(slot) } else { None };
        candidate
            .map_or_else(|| Watch::off(slot), |candidate| Watch::new(slot, wants, &candidate.load, now_ms))
    }

    /// Counts a request as over. `load` is that of the server it was given to, which may have left its slot since;
    /// any roster of the pool will do, the present one is best.
    #[inline]
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
            tournament.refresh_all(self.hub.moment());
        }
    }

    /// Whether there are servers to choose from, and none of them may be given a request. O(log n).
    pub fn is_busy(&self) -> bool {
        !self.members.is_empty() && self.spare(&[], 0).is_none()
    }

    /// Whether a server in this slot may be chosen, has room for one more request, and is within the bound on loads.
    pub fn has_room(&self, slot: usize) -> bool {
        let is_within = |bound: &Bound| bound.is_within(slot, self.active(slot), self.hub.total_load());
        self.is_member(slot) && self.is_open(slot, &[]) && self.bound.as_ref().is_none_or(is_within)
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

    /// The least key's slot where keys change with the time. An idle server's key is then as of its last change; each
    /// pick brings one more up to date, the one in `slot`, and the least again until it stays the least: it does where its key
    /// has become smaller.
    pub(crate) fn pick_by_time(&self, exclude: &[usize], now_ms: u64, slot: &mut usize) -> Option<usize> {
        const LOOKS_MAX: usize = 4;
        let tournament = self.tournament.as_deref()?;
        self.hub.set_clock(now_ms);
        let mut moment = self.hub.moment();
        // This pick counts, too.
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

    /// Whether the first of two servers has the lesser key right now.
    pub(crate) fn by_time(&self, now_ms: u64) -> impl Fn(&Entrant, &Entrant) -> bool {
        self.hub.set_clock(now_ms);
        let mut moment = self.hub.moment();
        // This pick counts, too.
        moment.picks = moment.picks.wrapping_add(1);
        let rule = KeyRule::of(&self.scheduling);
        let key = move |entrant: &Entrant| {
            let server = self.candidate(entrant.slot())?;
            Some(rule?.key(server, server.load.active(), moment))
        };
        move |one, other| key(one) < key(other)
    }

    /// Whether keys change while nothing happens.
    pub(crate) fn goes_by_time(&self) -> bool {
        self.tournament.as_ref().is_some_and(|tournament| tournament.goes_by_time())
    }

    /// The server that a retry goes to when all members are in `exclude`, which have failed the request: one of those that take no part
    /// (a tier that waits, another zone, another subset) and are not in `exclude` themselves. `None` = a member is left, or nobody else
    /// has room.
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

    /// Whether picks are made from this server.
    pub(crate) fn is_member(&self, slot: usize) -> bool {
        self.member_set.contains(slot)
    }

    /// The first by the tournament's keys among those with room; None if there are none, or no such keys.
    pub(crate) fn least_loaded(&self, exclude: &[usize]) -> Option<usize> {
        self.tournament.as_ref()?.pick(exclude)
    }

    /// Whether a member may be given a request now: not excluded, and below its `connections_max`.
    pub(crate) fn is_open(&self, slot: usize, exclude: &[usize]) -> bool {
        if exclude.contains(&slot) {
            return false;
        }
        match self.may_be_full {
            true => self.candidate(slot).is_some_and(Candidate::has_room),
            false => self.taken_set.contains(slot),
        }
    }

    /// Whether there is a bound on loads.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bound.is_some()
    }

    /// Whether the bound on loads, if there is one, permits a member another request, to be given to it in its turn.
    pub(crate) fn is_within_bound(&self, slot: usize) -> bool {
        let Some(bound) = &self.bound else { return true };
        bound.permits(slot, self.active(slot), self.hub.total_load())
    }

    fn active(&self, slot: usize) -> u32 {
        self.candidate(slot).map_or(0, |candidate| candidate.load.active())
    }

    /// Who gets a request that the algorithm has found nobody for: someone outside `exclude`, or else inside; None if all are busy.
    ///
    /// With a bound on loads it is the least loaded of those that have room. If that one is not within its bound, those who are have no
    /// room, and the request has to wait for one of them.
    pub(crate) fn spare(&self, exclude: &[usize], start: usize) -> Option<usize> {
        if let (Some(bound), Some(tournament)) = (&self.bound, &self.tournament) {
            // Where somebody may be full; and others choose at the same time.
            const LOOKS_MAX: usize = 3;
            let is_within = |slot: &usize| {
                let is_within = bound.is_within(*slot, self.active(*slot), self.hub.total_load());
                if !is_within {
                    // Somebody may have counted a request there, and not come to say so.
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

    /// A new measurement of the server in `slot` is there.
    pub(crate) fn measured(&self, slot: usize, load: &Arc<ServerLoad>, now_ms: u64) {
        self.hub.set_clock(now_ms);
        self.refresh(slot, load, false);
    }

    fn refresh(&self, slot: usize, load: &Arc<ServerLoad>, chosen: bool) {
        let turns = chosen.then(|| self.hub.turns());
        if let Some(tournament) = &self.tournament {
            tournament.refresh(slot, load, turns, self.moment_of(tournament));
        }
        // After the count has changed, never before: a roster made before this line has its keys refreshed here, one
        // made after it has read the new count.
        if let Some(newer) = self.hub.newer_than(self.generation) {
            newer.refresh(slot, load, turns, self.moment_of(&newer));
        }
    }

    /// The moment, if it counts: asking for it costs a look at what all workers write.
    fn moment_of(&self, tournament: &Tournament) -> Moment {
        if tournament.goes_by_time() { self.hub.moment() } else { Moment::default() }
    }

    /// Sets up keys where they will be asked for: by algorithms that go by them, and to find a server with room among
    /// many that have none.
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

/// The bound that holds: only some algorithms have one.
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
