//! The balancer's side of a simulation: its pool, its servers and its pickers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weir_balance::{
    Algorithm, AutoWeightRule, Candidate, Concurrency, ConcurrencyRule, HashFunction, Key, Pick, PickInput,
    Picker, Portion, RequestClass, RequestMix, RingPoints, Roster, Scheduling, ServerLoad, SlowStart,
    Standing,
};
use weir_config::simulation::{BalancerPlan, Group, Scenario, SimKey};
use weir_health::PoolEjections;
use weir_model::ServerAddress;
use weir_wire::agent::{AgentReply, AgentState, AgentWish};

use crate::in_flight::{Flight, Stay};
use crate::rng::{Rng, Stream};
use crate::weights::{Measured, judge};

/// State of the balancer: the roster that all workers share, and each worker's picker. As in the proxy, but
/// the workers run one after the other.
#[derive(Debug)]
pub(crate) struct Pool {
    scheduling: Scheduling,
    goes_by: SimKey,
    members: Vec<Member>,
    /// Ejections of each tier, by (backup, priority).
    ejections: BTreeMap<(bool, u16), PoolEjections>,
    slow_start: Option<SlowStart>,
    concurrency: Option<ConcurrencyRule>,
    /// Mix of the requests, for automatic weights.
    mix: RequestMix,
    /// Most concurrent requests in total.
    requests_max: u32,
    requests: u32,
    roster: Roster,
    is_stale: bool,
    pickers: Vec<Picker>,
    rng: Rng,
}

/// The balancer's knowledge of one server.
#[derive(Debug)]
struct Member {
    candidate: Candidate,
    /// True once it has been added to the pool.
    is_there: bool,
    /// True while the checks consider it up.
    is_up: bool,
    is_ejected: bool,
    /// Number of drains by the operator in force, which may overlap. The next field counts those to
    /// maintenance.
    drains: u32,
    maintenances: u32,
    /// Last report of its agent.
    agent: AgentState,
    /// Most concurrent requests while it is half open.
    probes: Option<u32>,
    /// Fraction of its weight and its limit that counts.
    portion: Portion,
    /// Own limit when the whole weight counts.
    requests_max: Option<u32>,
    /// Adaptive limit, if the scenario has one.
    found: Option<Concurrency>,
    /// Measurements for an automatic weight.
    measured: Option<Measured>,
    /// Time at which it came up, if it was not up from the start.
    up_since_ns: Option<u64>,
}

/// Response to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) at_ns: u64,
    /// Number of bytes; 0 = not known.
    pub(crate) bytes: u64,
}

impl Pool {
    pub(crate) fn new(scenario: &Scenario, algorithm: Algorithm, seed: u64) -> Self {
        let balancer = &scenario.balancer;
        let groups = scenario.groups.iter().flat_map(|group| (0..group.count).map(move |_| group));
        let members: Vec<Member> =
            groups.enumerate().map(|(slot, group)| Member::new(slot, group, balancer)).collect();
        let mut rng = Rng::new(seed, Stream::Picks);
        let pickers = (0..balancer.workers).map(|_| Picker::new(rng.next())).collect();
        let scheduling = scenario.scheduling(algorithm);
        let roster = Roster::new(scheduling, there(&members), None);
        let mut pool = Self {
            scheduling,
            goes_by: goes_by(balancer.key, algorithm),
            members,
            ejections: BTreeMap::new(),
            slow_start: balancer.slow_start,
            concurrency: balancer.concurrency,
            mix: RequestMix::default(),
            requests_max: balancer.connections_max.unwrap_or(u32::MAX),
            requests: 0,
            roster,
            is_stale: false,
            pickers,
            rng,
        };
        pool.set_limits();
        pool.count_ejections();
        pool
    }

    /// Chooses a server for a request that failed on the servers in `failed`, and counts it there. If no
    /// other member is left, it goes to the next tier.
    pub(crate) fn choose_after(&mut self, flight: &Flight, now_ns: u64, failed: &[usize]) -> Pick {
        self.refresh();
        let beyond = if failed.is_empty() { None } else { self.roster.next_in_line(failed) };
        match beyond.filter(|slot| self.begin(*slot)) {
            Some(slot) => Pick::Server(slot),
            None => self.choose(flight, now_ns, failed),
        }
    }

    /// Chooses a server for a request and counts it there. Servers in `exclude` are used only if no other has
    /// room.
    pub(crate) fn choose(&mut self, flight: &Flight, now_ns: u64, exclude: &[usize]) -> Pick {
        self.refresh();
        let (key, random) = (Some(self.key(flight)), self.rng.next());
        let input = PickInput { key, random, now_ms: now_ns / 1_000_000, exclude };
        let Some(picker) = self.pickers.get_mut(flight.worker as usize) else { return Pick::Nobody };
        match picker.pick(&self.roster, &input) {
            Pick::Server(slot) if !self.begin(slot) => Pick::Busy,
            pick => pick,
        }
    }

    /// Returns the only server that a request must wait for after it failed on those in `exclude`; `None` =
    /// several may take it.
    pub(crate) fn awaited_server(&mut self, flight: &Flight, exclude: &[usize]) -> Option<usize> {
        if self.scheduling.hash.fallback {
            return None;
        }
        self.refresh();
        let input = PickInput { key: Some(self.key(flight)), exclude, ..PickInput::default() };
        Picker::awaited_server(&self.roster, &input)
    }

    /// Returns true if a key has only its own server.
    pub(crate) fn keeps_to_one_server(&self) -> bool {
        self.scheduling.algorithm.keeps_to_one_server() && !self.scheduling.hash.fallback
    }

    /// Returns the readiness of the server in `slot` for a request bound to it, and counts the request there
    /// if it is open.
    pub(crate) fn claim(&mut self, slot: usize) -> Standing {
        self.refresh();
        match self.roster.standing(slot) {
            Standing::Open if !self.begin(slot) => Standing::Busy,
            standing => standing,
        }
    }

    /// Returns the number of tries in progress.
    pub(crate) fn requests(&self) -> u32 {
        self.requests
    }

    /// Returns true if the limit of all servers together permits one more request.
    pub(crate) fn has_room(&self) -> bool {
        self.requests < self.requests_max
    }

    fn begin(&mut self, slot: usize) -> bool {
        let has_begun = self.roster.try_begin(slot);
        self.requests += u32::from(has_begun);
        has_begun
    }

    fn refresh(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            self.roster = Roster::new(self.scheduling, there(&self.members), Some(&self.roster));
            self.set_limits();
        }
    }

    fn set_limits(&self) {
        let Some(rule) = &self.concurrency else { return };
        for member in self.members.iter().filter(|member| member.is_there) {
            let Candidate { slot, load, .. } = &member.candidate;
            if let Some(found) = &member.found {
                self.roster.limit(*slot, load, found.limit(rule));
            }
        }
    }

    fn key(&self, flight: &Flight) -> Key {
        // The value is a hash already, so any function of it works as well as another.
        let digest = |hash: u64| Key::Digest(HashFunction::Crc32.digest(&hash.to_be_bytes()));
        match self.goes_by {
            SimKey::Uri => digest(flight.uri),
            SimKey::Value => digest(flight.value),
            SimKey::Client | SimKey::Auto => flight.client.into(),
        }
    }

    /// Starts to measure a request that was given to the server in `slot`.
    pub(crate) fn stay(&self, slot: usize, class: RequestClass, now_ns: u64) -> Stay {
        Stay { begun_ns: now_ns, class, watch: self.roster.watch(slot, now_ns / 1_000_000) }
    }

    /// Ends a request at the server in `slot`; `answer` is its response, if there was one.
    ///
    /// The head and the last byte arrive at the same time, and so do the bytes: they count when the request
    /// ends.
    pub(crate) fn end(&mut self, slot: usize, stay: Option<Stay>, answer: Option<Answer>) {
        let Some(member) = self.members.get_mut(slot) else { return };
        let load = &member.candidate.load;
        if let Some(Stay { begun_ns, class, mut watch }) = stay {
            if let Some(Answer { at_ns, bytes }) = answer {
                let (now_ms, took_us) = (at_ns / 1_000_000, at_ns.saturating_sub(begun_ns) / 1_000);
                watch.answered(&self.roster, load, now_ms, took_us, true);
                watch.moved(&self.roster, load, now_ms, bytes);
                watch.completed(&self.roster, load, now_ms, true);
                if let Some(measured) = &member.measured {
                    measured.took(class, took_us);
                }
                if let (Some(rule), Some(found)) = (&self.concurrency, &mut member.found)
                    && found.ended(rule, at_ns / 1_000, took_us, load.active(), false)
                {
                    self.roster.limit(slot, load, found.limit(rule));
                }
            }
            watch.end(load);
        }
        self.roster.end(slot, load);
        self.requests = self.requests.saturating_sub(1);
    }

    /// Ends a request at the server in `slot` because another server was faster. This server would have taken
    /// at least as long.
    pub(crate) fn overtaken(&mut self, slot: usize, stay: Stay, now_ns: u64) {
        let Some(member) = self.members.get_mut(slot) else { return };
        let load = &member.candidate.load;
        let Stay { begun_ns, mut watch, .. } = stay;
        let waited_ns = now_ns.saturating_sub(begun_ns);
        watch.overtaken(&self.roster, load, now_ns / 1_000_000, waited_ns / 1_000);
        if let (Some(rule), Some(found)) = (&self.concurrency, &mut member.found)
            && rule.is_too_long(Duration::from_nanos(waited_ns))
            && found.ended(rule, now_ns / 1_000, waited_ns / 1_000, load.active(), false)
        {
            self.roster.limit(slot, load, found.limit(rule));
        }
        watch.end(load);
        self.roster.end(slot, load);
        self.requests = self.requests.saturating_sub(1);
    }

    /// Sets the result of the balancer's checks. Returns true if the server enters or leaves rotation.
    pub(crate) fn set_up(&mut self, slot: usize, is_up: bool, now_ns: u64) -> bool {
        self.change(slot, now_ns, |member| member.is_up = is_up)
    }

    /// Ejects a server: it gets nothing new for a while.
    pub(crate) fn eject(&mut self, slot: usize, now_ns: u64) {
        self.change(slot, now_ns, |member| (member.is_ejected, member.probes) = (true, None));
    }

    /// Ends an ejection; with `probes`, at most this many requests run at a time.
    pub(crate) fn readmit(&mut self, slot: usize, probes: Option<u32>, now_ns: u64) {
        self.change(slot, now_ns, |member| (member.is_ejected, member.probes) = (false, probes));
    }

    /// Adds a server to the pool.
    pub(crate) fn add(&mut self, slot: usize, now_ns: u64) {
        self.change(slot, now_ns, |member| member.is_there = true);
    }

    /// Drains a server for the operator.
    pub(crate) fn drain(&mut self, slot: usize, is_maintenance: bool, now_ns: u64) {
        self.change(slot, now_ns, |member| *member.drains_of(is_maintenance) += 1);
    }

    /// Ends a drain.
    pub(crate) fn undrain(&mut self, slot: usize, is_maintenance: bool, now_ns: u64) {
        self.change(slot, now_ns, |member| {
            let drains = member.drains_of(is_maintenance);
            *drains = drains.saturating_sub(1);
        });
    }

    /// Applies a report of the server's agent. Returns true if the server enters or leaves rotation.
    pub(crate) fn hear(&mut self, slot: usize, reply: &AgentReply, now_ns: u64) -> bool {
        let weighs_portions = self.scheduling.algorithm.weighs_moving_portions();
        self.change(slot, now_ns, |member| {
            member.agent.on_reply(reply);
            member.set_portion(weighs_portions);
        })
    }

    /// Changes the server in `slot`. Returns true if it enters or leaves rotation.
    fn change(&mut self, slot: usize, now_ns: u64, change: impl FnOnce(&mut Member)) -> bool {
        let greatest = self.concurrency.map(|rule| rule.max);
        let Some(member) = self.members.get_mut(slot) else { return false };
        change(member);
        let was_in = member.candidate.eligible;
        member.candidate.half_open = member.probes.is_some();
        let (serves, is_in) = member.takes();
        (member.candidate.eligible, member.candidate.keeps_clients) = (is_in, serves);
        if is_in != was_in {
            member.up_since_ns = is_in.then_some(now_ns);
        }
        member.set_limit(greatest);
        self.is_stale = true;
        self.count_ejections();
        is_in != was_in
    }

    /// Updates the automatic weights.
    pub(crate) fn judge_weights(&mut self, rule: &AutoWeightRule) {
        let servers = self.members.iter_mut().filter(|member| member.is_there);
        let servers =
            servers.filter_map(|member| Some((&mut member.candidate.weight, member.measured.as_mut()?)));
        self.is_stale |= judge(rule, &mut self.mix, servers.collect());
    }

    /// Returns the current weight of each server by slot, if any weight is automatic; else an empty list.
    pub(crate) fn found_weights(&self) -> Vec<u32> {
        match self.members.iter().any(|member| member.measured.is_some()) {
            true => self.members.iter().map(|member| member.candidate.weight.get()).collect(),
            false => Vec::new(),
        }
    }

    /// Returns the ejection counts of a server's tier; `None` if the server is out of rotation for another
    /// reason.
    pub(crate) fn ejections(&self, slot: usize) -> Option<PoolEjections> {
        let member = self.members.get(slot).filter(|member| member.is_there && member.is_up)?;
        self.ejections.get(&(member.candidate.backup, member.candidate.priority)).copied()
    }

    fn count_ejections(&mut self) {
        let mut tiers: BTreeMap<_, PoolEjections> = BTreeMap::new();
        for Member { candidate, is_ejected, .. } in
            self.members.iter().filter(|one| one.is_there && one.is_up)
        {
            let none = PoolEjections { ejected: 0, servers: 0, elsewhere: 0 };
            let tier = tiers.entry((candidate.backup, candidate.priority)).or_insert(none);
            tier.servers += 1;
            tier.ejected += usize::from(*is_ejected);
        }
        let usable: usize = tiers.values().map(|tier| tier.servers - tier.ejected).sum();
        tiers.values_mut().for_each(|tier| tier.elsewhere = usable + tier.ejected - tier.servers);
        self.ejections = tiers;
    }

    /// Returns the time since which a server is up, if it was not up from the start.
    pub(crate) fn up_since_ns(&self, slot: usize) -> Option<u64> {
        self.members.get(slot)?.up_since_ns
    }

    /// Updates the slow start of a server. Returns the time at which its weight rises next.
    pub(crate) fn rise(&mut self, slot: usize, now_ns: u64) -> Option<u64> {
        let greatest = self.concurrency.map(|rule| rule.max);
        let weighs_portions = self.scheduling.algorithm.weighs_moving_portions();
        let (rule, member) = (self.slow_start?, self.members.get_mut(slot)?);
        let up_for = Duration::from_nanos(now_ns.saturating_sub(member.up_since_ns?));
        member.portion = rule.portion(up_for);
        // The limit rises with every algorithm.
        member.set_limit(greatest);
        member.set_portion(weighs_portions);
        self.is_stale = true;
        let wait = rule.next_rise(up_for)?;
        Some(now_ns.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Returns true if a server could have been chosen, as far as the balancer knows.
    pub(crate) fn could_take(&self, slot: usize) -> bool {
        self.members.get(slot).is_some_and(|Member { candidate, is_there, .. }| {
            let has_room = || {
                candidate
                    .connections_max
                    .is_none_or(|max| candidate.load.active() < max.min(candidate.load.limit()))
            };
            *is_there && candidate.eligible && has_room()
        })
    }
}

impl Member {
    fn new(slot: usize, group: &Group, balancer: &BalancerPlan) -> Self {
        let is_there = group.added.0 == 0;
        let candidate = Candidate {
            slot,
            rank: slot as u32,
            address: address(slot),
            weight: group.weight,
            name_key: RingPoints::Name.name_key(&format!("s{slot}")),
            portion: Portion::WHOLE,
            priority: group.priority,
            backup: group.backup,
            is_local: !group.is_remote,
            eligible: is_there,
            half_open: false,
            keeps_clients: is_there,
            connections_max: None,
            load: Arc::new(ServerLoad::default()),
        };
        let mut member = Self {
            candidate,
            is_there,
            is_up: true,
            is_ejected: false,
            drains: 0,
            maintenances: 0,
            agent: AgentState::default(),
            probes: None,
            portion: Portion::WHOLE,
            requests_max: group.connections_max,
            found: balancer.concurrency.as_ref().map(Concurrency::new),
            measured: group.auto_weight.map(Measured::new),
            up_since_ns: None,
        };
        member.set_limit(balancer.concurrency.map(|rule| rule.max));
        member
    }

    /// Returns whether it takes requests of clients bound to it, and whether it takes others.
    fn takes(&self) -> (bool, bool) {
        let is_up = self.is_up && !self.is_ejected && self.agent.is_up();
        let serves = is_up && self.is_there && self.maintenances == 0;
        let serves = serves && self.agent.wish() != AgentWish::Maintenance;
        let is_wanted = self.agent.wish() == AgentWish::Ready && self.agent.weight_percent() > 0;
        (serves, serves && self.drains == 0 && is_wanted)
    }

    /// Sets the portion of its weight, if the algorithm accepts frequent changes.
    fn set_portion(&mut self, weighs_portions: bool) {
        if weighs_portions {
            self.candidate.portion = self.portion.of(Portion::percent(self.agent.weight_percent()));
        }
    }

    fn drains_of(&mut self, is_maintenance: bool) -> &mut u32 {
        if is_maintenance { &mut self.maintenances } else { &mut self.drains }
    }

    /// Sets its limit. `greatest` is the maximum of adaptive limits, which apply only if there is some limit.
    fn set_limit(&mut self, greatest: Option<u32>) {
        let requests_max = self.agent.connections_max().unwrap_or(self.requests_max);
        let risen = requests_max.map(|max| self.portion.of_limit(max));
        self.candidate.connections_max = risen.into_iter().chain(self.probes).chain(greatest).min();
    }
}

/// Returns the servers that have been added.
fn there(members: &[Member]) -> Vec<Candidate> {
    members.iter().filter(|member| member.is_there).map(|member| member.candidate.clone()).collect()
}

/// Returns the kind of key that the algorithm uses, if it uses a key.
fn goes_by(key: SimKey, algorithm: Algorithm) -> SimKey {
    use Algorithm::{IpvsDh, IpvsMh, IpvsSh, Lblc, Lblcr, NginxIpHash, Source};
    match (key, algorithm) {
        (SimKey::Auto, Lblc | Lblcr) => SimKey::Uri,
        // These algorithms accept only an address as the key.
        (_, Source | NginxIpHash | IpvsSh | IpvsDh | IpvsMh) | (SimKey::Auto | SimKey::Client, _) => {
            SimKey::Client
        }
        (SimKey::Uri | SimKey::Value, _) => key,
    }
}

/// Returns a server's address, the same in every run.
fn address(slot: usize) -> ServerAddress {
    const FIRST: u32 = 0x0a00_0001;
    let address = std::net::Ipv4Addr::from_bits(FIRST.wrapping_add(slot as u32));
    ServerAddress::Inet(std::net::SocketAddr::from((address, 80)))
}
