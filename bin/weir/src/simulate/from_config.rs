//! Takes the servers and rules of a pool in a config into the scenario.

use std::path::Path;

use weir_config::Plan;
use weir_config::plan::{
    Fairness, KeyPlan, Mode, PoolPlan, Priority, ServerPlan, StickyBy, StickyPlan, StickyTablePlan,
};
use weir_config::simulation::{
    AgentWord, Arrivals, AtOnceRule, BudgetRule, Disturbance, Drain, Failure, FoundWeights, Group, PoolRules,
    Scenario, SimKey, SimTime, SlowDown, StickySessions,
};
use weir_http::{Action, RequestKey};
use weir_model::Millis;

use crate::check::{self, Refusal, print_diagnostics};

/// Puts a pool's servers into the scenario. Properties that a config does not have (speed, slots, cache) come
/// from the scenario's only group. `replays`: a log will be replayed, whatever the scenario says.
pub(super) fn apply(
    scenario: &mut Scenario,
    config: &Path,
    pool: Option<&str>,
    replays: bool,
) -> Result<(), String> {
    let plan = match check::load(config) {
        Ok(loaded) => loaded.plan,
        Err(Refusal::Unreadable(cause)) => return Err(cause.to_string()),
        Err(Refusal::Wrong(diagnostics)) => {
            print_diagnostics(&diagnostics);
            return Err(format!("{}: the config is wrong", config.display()));
        }
    };
    let place = config.display();
    let names = || plan.pools.iter().map(|pool| pool.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = match (pool, plan.pools.as_slice()) {
        (Some(name), pools) => pools
            .iter()
            .find(|pool| pool.name.as_str() == name)
            .ok_or_else(|| format!("{place}: there is no pool {name}; there are: {}", names()))?,
        (None, [only]) => only,
        (None, []) => return Err(format!("{place}: the config has no pool")),
        (None, _) => return Err(format!("{place}: which pool? --pool with one of {}", names())),
    };
    let [like] = scenario.groups.as_slice() else {
        return Err(
            "--config: the scenario has several groups of servers; one says what all of the pool's are like"
                .to_owned(),
        );
    };
    if found.servers.is_empty() {
        return Err(format!("{place}: pool {} has no servers", found.name));
    }
    scenario.groups =
        found.servers.iter().enumerate().map(|(at, server)| group(at, server, found, like)).collect();
    scenario.in_use = Some(found.algorithm);
    let is_said = scenario.groups.iter().any(|group| !group.agent.is_empty());
    // A replayed log contains the requested paths.
    let replays = replays || matches!(scenario.arrivals, Arrivals::Replay(_));
    let has_classes = scenario.static_share > 0.0 || replays;
    let stands_for_clients = scenario.balancer.key == SimKey::Auto
        && scenario.values.is_none()
        && found.algorithm.takes_key()
        && !has_key(&found.hash.key);
    let mut left_out = left_out(found, stands_for_clients, is_said, has_classes);
    if scenario.priorities.is_empty() && has_priorities(&plan, found) {
        left_out.push("the priority of routes (a scenario says in priorities how many requests have which)");
    }
    scenario.pool = PoolRules {
        scheduling: Some(found.scheduling()),
        membership: found.membership,
        static_paths: match found.auto_weight.is_on {
            true => found.auto_weight.static_paths.clone(),
            false => Vec::new(),
        },
        left_out,
    };
    balancer(scenario, found);
    Ok(())
}

/// Returns the keys of the pool's config that the simulation ignores.
///
/// - `stands_for_clients`: simulated requests lack the pool's key, so each client stands for a value of it.
/// - `is_said`: the scenario defines what agents report.
/// - `has_classes`: the simulation knows which requests make servers fetch.
fn left_out(
    pool: &PoolPlan,
    stands_for_clients: bool,
    is_said: bool,
    has_classes: bool,
) -> Vec<&'static str> {
    let said = [
        (
            "the key (each client stands for one value of it; a scenario says in values how many there are)",
            stands_for_clients,
        ),
        (
            "the sessions of sticky (each client stands for one)",
            pool.sticky.as_ref().is_some_and(has_sessions),
        ),
        ("queue.fair by a header (clients take turns)", matches!(pool.queue.fair, Fairness::Header(_))),
        (
            "auto-weight.static (a scenario says in service how many requests make servers fetch)",
            pool.auto_weight.is_on && !has_classes,
        ),
        ("what agents say (a scenario says it in agent)", pool.agent.is_some() && !is_said),
    ];
    said.into_iter().filter(|(_, is_said)| *is_said).map(|(key, _)| key).collect()
}

/// Returns true if some routes to the pool have a priority in its queue.
fn has_priorities(plan: &Plan, pool: &PoolPlan) -> bool {
    let mut routes = plan.listeners.iter().flat_map(|listener| match &listener.mode {
        Mode::Http(http) => http.routes.as_slice(),
        Mode::Tcp(_) => &[][..],
    });
    let leads_there = |action: &Action| match action {
        Action::Pool(to) => plan.pools.get(*to).is_some_and(|to| to.name == pool.name),
        _ => false,
    };
    routes.any(|route| leads_there(&route.action) && route.priority != Priority::default())
}

/// Returns true if one client may have several sessions, or several clients may share one.
fn has_sessions(sticky: &StickyPlan) -> bool {
    match &sticky.by {
        StickyBy::Cookie(_) => false,
        StickyBy::Source(source, _) => source.ipv4_prefix < 32 || source.ipv6_prefix < 128,
        StickyBy::Learn(..) | StickyBy::Expression(..) => true,
    }
}

/// Converts stickiness to simulated sessions. A simulated client has one session. Cookies are stored by the
/// clients, so the balancer never evicts any.
fn sessions(sticky: &StickyPlan) -> StickySessions {
    let (size, expire) = match &sticky.by {
        StickyBy::Cookie(cookie) => (COOKIES, cookie.idle_max.map_or(SimTime::MAX, |idle| time(idle, 1))),
        StickyBy::Learn(_, table) | StickyBy::Source(_, table) | StickyBy::Expression(_, table) => {
            let StickyTablePlan { entries_max, expire } = *table;
            (entries_max, time(expire, 1))
        }
    };
    let life_max = match &sticky.by {
        StickyBy::Cookie(cookie) => cookie.life_max.map(|life| time(life, 1)),
        StickyBy::Learn(..) | StickyBy::Source(..) | StickyBy::Expression(..) => None,
    };
    StickySessions { size, expire, life_max, when_gone: sticky.when_gone, when_busy: sticky.when_busy }
}

/// Number of sessions for cookies: the highest number of clients in a scenario.
const COOKIES: u32 = 16_000_000;

/// Returns true if simulated requests have the key in every scenario.
fn has_key(key: &KeyPlan) -> bool {
    match key {
        KeyPlan::Source | KeyPlan::Destination | KeyPlan::Request(RequestKey::Uri(_) | RequestKey::Path) => {
            true
        }
        KeyPlan::RdpCookie(_) | KeyPlan::Request(_) => false,
    }
}

fn group(at: usize, server: &ServerPlan, pool: &PoolPlan, like: &Group) -> Group {
    // The first servers of the group are the first servers of the pool.
    let concerns = |span: Failure| (at < span.servers as usize).then_some(Failure { servers: 1, ..span });
    let disturbances = like.disturbances.iter().filter_map(|disturbance| match *disturbance {
        Disturbance::Fail(span) => concerns(span).map(Disturbance::Fail),
        Disturbance::Slow(slow) => {
            concerns(slow.span).map(|span| Disturbance::Slow(SlowDown { span, ..slow }))
        }
        Disturbance::Drain(drain) => {
            concerns(drain.span).map(|span| Disturbance::Drain(Drain { span, ..drain }))
        }
    });
    let own = like.agent.iter().filter(|word| at < word.servers as usize);
    let agent = own.map(|word| AgentWord { servers: 1, ..word.clone() }).collect();
    Group {
        name: server.name.to_string(),
        count: 1,
        weight: server.weight,
        auto_weight: server.auto_weight,
        backup: server.backup,
        priority: server.priority,
        is_remote: pool.zone.is_some() && server.zone != pool.zone,
        connections_max: server.connections_max,
        disturbances: disturbances.collect(),
        agent,
        ..like.clone()
    }
}

fn balancer(scenario: &mut Scenario, pool: &PoolPlan) {
    // The simulation only distinguishes whether a key depends on the client, the content, or a value of its
    // own.
    if scenario.balancer.key == SimKey::Auto {
        scenario.balancer.key = match &pool.hash.key {
            KeyPlan::Request(RequestKey::Uri(_) | RequestKey::Path) => SimKey::Uri,
            KeyPlan::Destination => SimKey::Auto,
            key if scenario.values.is_some() && !has_key(key) => SimKey::Value,
            _ => SimKey::Client,
        };
    }
    scenario.balancer.retries = pool.retry.attempts.into();
    scenario.balancer.queue = time(pool.timeouts.queue, 1);
    scenario.balancer.queue_length_max = pool.queue.length_max;
    scenario.balancer.server_queue_max = pool.queue.server_length_max;
    scenario.balancer.is_fair = pool.queue.fair != Fairness::None;
    scenario.balancer.connections_max = pool.connections_max;
    scenario.balancer.sticky = pool.sticky.as_ref().map(sessions);
    scenario.balancer.slow_start = pool.slow_start;
    scenario.balancer.auto_weight =
        FoundWeights { interval: pool.auto_weight.interval, rule: pool.auto_weight.rule };
    scenario.balancer.concurrency = pool.concurrency;
    scenario.balancer.ejection = pool.ejection.clone();
    scenario.balancer.breaker = pool.breaker.clone();
    scenario.balancer.hedge = pool.hedge.clone();
    scenario.balancer.retries_lost = true;
    scenario.balancer.retry_budget = Some(BudgetRule {
        percent: pool.retry.budget_percent,
        per_second: pool.retry.budget_min_per_second,
        at_once: pool
            .retry
            .at_once_percent
            .map(|percent| AtOnceRule { percent, min: pool.retry.at_once_min }),
    });
    if pool.check.is_none() {
        // Without checks, only requests discover a failure.
        scenario.balancer.down_after = SimTime::MAX;
    }
    if let Some(check) = &pool.check {
        // The first check with a new outcome comes after an interval at most. The next ones come at the fast
        // interval.
        let timing = &check.timing;
        let until =
            |outcomes: u64| SimTime(time(timing.interval, 1).0 + time(timing.fast_interval, outcomes - 1).0);
        scenario.balancer.down_after = until(u64::from(timing.fall).max(1));
        scenario.balancer.up_after = until(u64::from(timing.rise).max(1));
    }
}

fn time(duration: Millis, times: u64) -> SimTime {
    SimTime(duration.0.saturating_mul(1_000_000).saturating_mul(times)).min(SimTime::MAX)
}
