//! Picks a server by the roster's algorithm; holds the part of its state that belongs to one worker.

use crate::cost::{costs_less_by_peak, is_less_for_share, is_less_loaded, request_weight};
use crate::draw::Draw;
use crate::edf::Edf;
use crate::hash::{avalanche, nginx_hash, nginx_ip_hash};
use crate::ipvs_wrr::IpvsWrr;
use crate::mix::{mix, nth};
use crate::round_robin::RoundRobin;
use crate::schedule::Schedule;
use crate::static_rr::StaticRr;
use crate::{Algorithm, Candidate, HashOptions, Key, Roster, locality};

/// Selection state of one worker in one pool. Each worker has its own position in round robin, so workers
/// share nothing here.
///
/// A pick costs O(1) or O(log n) in the number of servers and allocates nothing. The first pick after a
/// change of the roster is an exception: it finds its position among the servers. It may allocate if there
/// are more servers, or more different weights, than before.
#[derive(Debug)]
pub struct Picker {
    seed: u64,
    generation: Option<u64>,
    rosters_seen: u64,
    round_robin: RoundRobin,
    static_rr: StaticRr,
    ipvs_wrr: IpvsWrr,
    edf: Edf,
    /// Slot whose key was updated last, where keys change with time.
    refreshed: usize,
    unkeyed: u32,
}

/// Inputs of one pick.
#[derive(Debug, Clone, Copy, Default)]
pub struct PickInput<'a> {
    /// Key for the hash algorithms. `None` = the request has none (a Unix socket's peer has no address), and
    /// the servers take turns.
    pub key: Option<Key>,
    /// A random number, evenly distributed over all 64 bits, different for each pick. Used by algorithms that
    /// draw servers.
    pub random: u64,
    /// Milliseconds since a fixed moment, the same for all pickers of a pool. Used by algorithms that
    /// remember or measure.
    pub now_ms: u64,
    /// Servers already tried for this request; used again only if no other server has room.
    pub exclude: &'a [usize],
}

/// Result of a pick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// The server in this slot. Call [`Roster::begin`] before anything else is picked.
    Server(usize),
    /// There are eligible servers, but each is at its `connections_max` or has its share under a bound on
    /// loads.
    Busy,
    /// No server is eligible.
    Nobody,
}

impl Picker {
    /// Creates a picker. Different seeds start at different positions in the round, so that workers do not
    /// all send their first requests to one server. Seed 0 starts at the beginning.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            generation: None,
            rosters_seen: 0,
            round_robin: RoundRobin::default(),
            static_rr: StaticRr::default(),
            ipvs_wrr: IpvsWrr::default(),
            edf: Edf::default(),
            refreshed: 0,
            unkeyed: 0,
        }
    }

    /// Chooses a server by the roster's algorithm. Skips busy and excluded servers; in round robin they lose
    /// their turn.
    pub fn pick(&mut self, roster: &Roster, input: &PickInput<'_>) -> Pick {
        if roster.members().is_empty() {
            return Pick::Nobody;
        }
        if self.generation != Some(roster.generation()) {
            self.turn_to(roster);
        }
        let exclude = if excludes_all(roster, input.exclude) { &[] } else { input.exclude };
        let is_open = |slot: usize| roster.is_open(slot, exclude);
        let is_open_member = |slot: usize| roster.is_member(slot) && is_open(slot);
        let options = &roster.scheduling().hash;
        // A request does not wait for a server that has already failed it.
        if let Some(own) = Self::only_server(roster, input.key).filter(|own| !exclude.contains(own)) {
            return if roster.is_open(own, &[]) { Pick::Server(own) } else { Pick::Busy };
        }
        let key = input.key.map(|key| hashed(key, options));
        let candidate = |slot: usize| roster.candidate(slot);
        let measure = &roster.scheduling().measure;
        let now_ms = input.now_ms;
        let choice = match roster.schedule() {
            Schedule::Keys if roster.goes_by_time() => {
                roster.pick_by_time(exclude, now_ms, &mut self.refreshed)
            }
            Schedule::Keys => None,
            Schedule::StaticRr(map) => self.static_rr.pick(map, is_open),
            Schedule::IpvsWrr(_) => self.ipvs_wrr.pick(is_open),
            Schedule::RoundRobin(classes) => self.round_robin.pick(classes, is_open),
            Schedule::Random(servers) => {
                let permits = |slot: usize| is_open(slot) && roster.is_within_bound(slot);
                let draw = Draw { draws: measure.draws, distinct: measure.distinct, random: input.random };
                servers.pick(&draw, permits, is_less_loaded)
            }
            Schedule::IpvsTwos(servers) => {
                let is_better = |a: &Candidate, b: &Candidate| {
                    is_less_for_share((a.load.active(), a.share()), (b.load.active(), b.share()))
                };
                servers.pick(input.random, exclude, is_open, candidate, is_better)
            }
            Schedule::FewestRequests(servers) => {
                let draw = Draw { draws: measure.draws, distinct: false, random: input.random };
                servers.pick(&draw, is_open, |a, b| a.load.active() < b.load.active())
            }
            Schedule::Edf(beginnings) => self.edf.pick(beginnings, is_open, |slot| edf_weight(roster, slot)),
            Schedule::PeakEwma(servers) => {
                let draw = Draw { draws: 2, distinct: true, random: input.random };
                servers.pick(&draw, is_open, |a, b| costs_less_by_peak(a, b, measure, now_ms))
            }
            Schedule::Times(servers) => {
                let draws = measure.drawn.unwrap_or(measure.draws);
                let draw = Draw { draws, distinct: true, random: input.random };
                servers.pick(&draw, is_open, roster.by_time(now_ms))
            }
            Schedule::Map(map) => map.pick(key.unwrap_or_else(|| self.turn()) as usize, is_open),
            Schedule::Ring(ring) => {
                let permits = |slot: usize| is_open(slot) && roster.is_within_bound(slot);
                match key {
                    Some(hash) => ring.pick(hash, permits),
                    None => ring.walk(self.turn(), permits),
                }
            }
            Schedule::Ketama(ring) => {
                let permits = |slot: usize| is_open_member(slot) && roster.is_within_bound(slot);
                match input.key.map(Key::text_digest).filter(|digest| digest.bytes > 0) {
                    Some(digest) if roster.is_bounded() => ring.pick_within(digest, permits),
                    Some(digest) => {
                        ring.pick(digest, is_open_member).or_else(|| self.in_turn(roster, is_open))
                    }
                    None => self.in_turn(roster, permits),
                }
            }
            Schedule::NginxHash(servers) => {
                let digest = input.key.map(Key::text_digest).filter(|digest| digest.bytes > 0);
                let picked = digest.and_then(|digest| nginx_hash::pick(servers, digest, is_open_member));
                picked.or_else(|| self.in_turn(roster, is_open))
            }
            Schedule::NginxIpHash(servers) => {
                let picked = nginx_ip_hash::pick(servers, input.key, is_open_member);
                picked.or_else(|| self.in_turn(roster, is_open))
            }
            Schedule::Rendezvous(draws) => match key {
                Some(hash) => draws.pick(hash, is_open),
                None => self.in_turn(roster, is_open),
            },
            Schedule::Ipvs(table) => match input.key {
                Some(key) if !options.fallback => {
                    let own = table.pick(key, false, |slot| roster.is_open(slot, &[]));
                    return own.map_or(Pick::Busy, Pick::Server);
                }
                Some(key) => table.pick(key, true, is_open),
                None => self.in_turn(roster, is_open),
            },
            Schedule::Locality(localities) => input.key.and_then(|key| {
                let request = locality::Request { roster, key, exclude, now_ms: input.now_ms };
                match roster.algorithm() {
                    Algorithm::Lblcr => localities.lblcr(&request),
                    _ => localities.lblc(&request),
                }
            }),
            Schedule::Maglev(table) => {
                table.pick(mix(u64::from(key.unwrap_or_else(|| self.turn()))), is_open)
            }
        };
        let choice = choice.or_else(|| roster.spare(exclude, input.random as usize));
        choice.map_or(Pick::Busy, Pick::Server)
    }

    /// Returns the only server that may take a request with this key, open or not; `None` = several may.
    pub fn only_server(roster: &Roster, key: Option<Key>) -> Option<usize> {
        let options = &roster.scheduling().hash;
        if options.fallback {
            return None;
        }
        let key = key?;
        let hash = || hashed(key, options);
        match roster.schedule() {
            Schedule::Ipvs(table) => table.pick(key, false, |_| true),
            Schedule::Map(map) => map.pick(hash() as usize, |_| true),
            Schedule::Ring(ring) => ring.pick(hash(), |_| true),
            Schedule::Maglev(table) => table.pick(mix(u64::from(hash())), |_| true),
            Schedule::Rendezvous(draws) => draws.pick(hash(), |_| true),
            _ => None,
        }
    }

    /// Returns the server that a request with this key waits for when its pick found all servers busy; `None`
    /// = any that becomes free.
    ///
    /// As in [`Picker::pick`], a request does not wait for a server that has failed it, unless all have
    /// failed it. The kernel's hashes are an exception: they know no other server.
    pub fn awaited_server(roster: &Roster, input: &PickInput<'_>) -> Option<usize> {
        let own = Self::only_server(roster, input.key)?;
        let has_failed = input.exclude.contains(&own) && !excludes_all(roster, input.exclude);
        (!has_failed || matches!(roster.schedule(), Schedule::Ipvs(_))).then_some(own)
    }

    /// Returns the next open server in weighted round robin.
    fn in_turn(&mut self, roster: &Roster, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        self.round_robin.pick(roster.turns()?, is_open)
    }

    /// Returns the next number that stands in for the key of a request without one.
    fn turn(&mut self) -> u32 {
        self.unkeyed = self.unkeyed.wrapping_add(1);
        self.unkeyed
    }

    /// Switches to a new roster. Continues at the old position as far as the new roster has it, else starts
    /// at a position of its own.
    fn turn_to(&mut self, roster: &Roster) {
        let start =
            if self.seed == 0 && self.rosters_seen == 0 { 0 } else { nth(self.seed, self.rosters_seen) };
        if self.generation.is_none() {
            self.unkeyed = (start >> 32) as u32;
            self.static_rr = StaticRr::starting_at((start >> 32) as usize);
        }
        if let Some(classes) = roster.turns() {
            self.round_robin.turn_to(classes, start);
        }
        match roster.schedule() {
            Schedule::RoundRobin(classes) => self.round_robin.turn_to(classes, start),
            Schedule::IpvsWrr(thresholds) => self.ipvs_wrr.turn_to(thresholds, start),
            // The schedule starts at its beginning only once. A light server's turn comes late: it would
            // starve if each change restarted the schedule.
            Schedule::Edf(beginnings) => {
                self.edf.start(beginnings, start, |slot| edf_weight(roster, slot));
            }
            _ => {}
        }
        self.generation = Some(roster.generation());
        self.rosters_seen += 1;
    }
}

/// Returns the hash of a key, mixed once more if the options say so.
fn hashed(key: Key, options: &HashOptions) -> u32 {
    let hash = key.hash();
    if options.avalanche { avalanche(hash) } else { hash }
}

fn edf_weight(roster: &Roster, slot: usize) -> f64 {
    roster.candidate(slot).map_or(1.0, |candidate| request_weight(candidate, &roster.scheduling().measure))
}

/// Returns true if all members are excluded, which makes all of them eligible again. Usually cheap, because
/// few servers are excluded.
fn excludes_all(roster: &Roster, exclude: &[usize]) -> bool {
    exclude.len() >= roster.members().len() && roster.members().iter().all(|slot| exclude.contains(slot))
}
