//! A pool of the proxy as the balancer of a fleet's servers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use weir_balance::KnownSpeeds;
use weir_control::Health as Seen;
use weir_control::{AdminState, CheckCode, Command, PoolSnapshot, Reply, ServerSnapshot, ServerSpec};
use weir_fleet::live::{Balancer, Health, Member};
use weir_model::{Name, PoolName, ServerAddress, ServerName};
use weir_proxy::control::Controller;
use weir_scale::{Observation, P95, Sample};

use super::latency::Answers;

/// A pool, as seen from the fleet's thread.
pub(super) struct Pool {
    pub(super) fleet: Name,
    pub(super) name: PoolName,
    pub(super) controller: Arc<Controller>,
    /// Runtime that executes the commands.
    pub(super) control_plane: Handle,
    /// True if a policy needs the latency.
    pub(super) wants_latency: bool,
    /// True if the capacity of the servers is to be learned from traffic.
    pub(super) learns: bool,
    /// Maximum age of an agent's report.
    pub(super) stale_after: Duration,
    /// True if the pool may no longer exist. Its servers then have no requests.
    pub(super) may_be_gone: bool,
    pub(super) before: RefCell<Before>,
}

/// Counters at the last round.
pub(super) struct Before {
    began: Instant,
    answers: Answers,
    /// For each server: time of the round, number of responses that had begun, and the sum of their
    /// durations.
    servers: HashMap<String, (Instant, u64, u64)>,
}

/// Maximum wait for a command. The control plane may still execute it later.
const PATIENCE: Duration = Duration::from_secs(10);
/// Minimum time between two observations of a server.
const OBSERVED_MIN: Duration = Duration::from_secs(5);

impl Pool {
    pub(super) fn exists(&self) -> bool {
        self.snapshot().is_some()
    }

    fn snapshot(&self) -> Option<PoolSnapshot> {
        self.controller.pool_snapshot(&self.name)
    }

    fn ours<'p>(&self, pool: &'p PoolSnapshot) -> impl Iterator<Item = &'p ServerSnapshot> {
        let fleet = self.fleet.to_string();
        pool.servers.iter().filter(move |server| server.fleet.as_ref() == Some(&fleet))
    }

    /// Sends a command to the control plane and waits for its result.
    fn command(&self, command: Command) -> Result<(), String> {
        let (answer, answered) = sync_channel(1);
        let controller = Arc::clone(&self.controller);
        self.control_plane.spawn(async move {
            // The requester may have given up.
            let _ = answer.send(controller.apply(command).await);
        });
        match answered.recv_timeout(PATIENCE) {
            Ok(Reply::Ok(_)) => Ok(()),
            Ok(Reply::Error(refusal)) => Err(refusal.to_string()),
            Err(_) => Err("the control plane has not answered".to_owned()),
        }
    }

    fn set_state(&self, server: &ServerName, state: AdminState) -> Result<(), String> {
        self.command(Command::ServerState { pool: self.name.clone(), server: server.clone(), state })
    }

    /// Returns the mean CPU load of the servers that take requests. Returns `None` if most agents report no
    /// load, or if their reports are too old.
    fn cpu(&self, pool: &PoolSnapshot) -> Option<f64> {
        let serving = self.ours(pool).filter(|server| server.takes_requests());
        cpu(serving, self.stale_after)
    }

    fn p95(&self, pool: &PoolSnapshot) -> Option<P95> {
        let mut before = self.before.borrow_mut();
        let now = before.began.elapsed();
        before.answers.p95(now, pool)
    }
}

impl Default for Before {
    fn default() -> Self {
        Self { began: Instant::now(), answers: Answers::default(), servers: HashMap::new() }
    }
}

impl Balancer for Pool {
    fn sample(&self) -> Sample {
        let Some(pool) = self.snapshot() else { return Sample::default() };
        Sample {
            requests: Some(pool.traffic.requests_total),
            bytes: Some(pool.traffic.response_bytes),
            active: Some(pool.traffic.active.current),
            queued: Some(pool.queue.current),
            p95: if self.wants_latency { self.p95(&pool) } else { None },
            cpu: self.cpu(&pool),
        }
    }

    fn observations(&self) -> Vec<(ServerName, Observation)> {
        let Some(pool) = self.learns.then(|| self.snapshot()).flatten() else { return Vec::new() };
        let now = Instant::now();
        let mut before = self.before.borrow_mut();
        before.servers.retain(|name, _| pool.servers.iter().any(|server| server.name == *name));
        let mut observations = Vec::new();
        for server in self.ours(&pool) {
            let (count, sum_us) = (server.traffic.first_byte.count(), server.traffic.first_byte.sum_us());
            let last = before.servers.entry(server.name.clone()).or_insert((now, count, sum_us));
            let passed = now.saturating_duration_since(last.0);
            let answers = count.saturating_sub(last.1);
            if passed < OBSERVED_MIN {
                continue;
            }
            // A server in slow start or drain does not show its capacity.
            let name = ServerName::new(&server.name).ok();
            let is_telling =
                answers > 0 && server.weight_percent.is_none() && server.admin == AdminState::Ready;
            if let (Some(name), true) = (name, is_telling) {
                let observation = Observation {
                    rate_per_s: answers as f64 / passed.as_secs_f64(),
                    latency: Duration::from_micros(sum_us.saturating_sub(last.2) / answers),
                };
                observations.push((name, observation));
            }
            *last = (now, count, sum_us);
        }
        observations
    }

    fn members(&self) -> Result<Vec<Member>, String> {
        match self.snapshot() {
            Some(pool) => Ok(self.ours(&pool).filter_map(member).collect()),
            None if self.may_be_gone => Ok(Vec::new()),
            None => Err(format!("there is no pool {}", self.name)),
        }
    }

    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        if self.may_be_gone && !self.exists() {
            return Ok(());
        }
        // Uses the same kind of weight as the other servers. A fixed weight would be negligible next to
        // automatic ones.
        let finds_weights = self.controller.finds_weights(&self.name);
        let server = ServerSpec {
            auto_weight: finds_weights.then(KnownSpeeds::default),
            fleet: Some(self.fleet.clone()),
            ..ServerSpec::new(server.clone(), ServerAddress::Inet(address))
        };
        self.command(Command::AddServer { pool: self.name.clone(), server })
    }

    fn relocate(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        let (pool, server) = (self.name.clone(), server.clone());
        self.command(Command::ServerAddress { pool, server, address: ServerAddress::Inet(address) })
    }

    fn drain(&self, server: &ServerName) -> Result<(), String> {
        self.set_state(server, AdminState::Drain)
    }

    fn recall(&self, server: &ServerName) -> Result<(), String> {
        self.set_state(server, AdminState::Ready)
    }

    fn remove(&self, server: &ServerName, force: bool) -> Result<(), String> {
        if !force {
            // Maintenance mode stops all requests, even those of clients with a sticky session.
            self.set_state(server, AdminState::Maintenance)?;
        }
        let (pool, server) = (self.name.clone(), server.clone());
        self.command(Command::RemoveServer { pool, server, force })
    }
}

/// Returns a server of the pool as the fleet sees it.
fn member(server: &ServerSnapshot) -> Option<Member> {
    let agent_percent = server.agent.as_ref().and_then(|agent| agent.weight_percent).unwrap_or(100);
    let by_agent = server.agent.as_ref().is_some_and(|agent| agent.keeps_out);
    let gets_nothing = server.weight == 0 || agent_percent == 0 && server.effective_weight == 0;
    // Agents report idleness, and a busy server has no smaller capacity for that. Without the agent's part,
    // the weight shows the progress of the slow start.
    let share = server
        .weight_percent
        .map_or(1.0, |percent| (f64::from(percent) / f64::from(agent_percent.max(1))).clamp(0.0, 1.0));
    Some(Member {
        server: ServerName::new(&server.name).ok()?,
        address: server.address.parse().ok(),
        health: match server.health {
            // The server gets no requests, whatever its checks report.
            health if health.usable() && (by_agent || gets_nothing) => Health::Shunned,
            Seen::NoCheck | Seen::Up | Seen::GoingDown { .. } | Seen::HalfOpen { .. } => Health::Up(share),
            Seen::Ejected { .. } => Health::Shunned,
            // The agent's state hides the result of the checks.
            Seen::Down if server.agent.is_some() && !has_failed_its_check(server) => Health::Shunned,
            Seen::Down | Seen::GoingUp { .. } => Health::Down,
        },
        draining: server.admin != AdminState::Ready && !by_agent,
        active: server.traffic.active.current,
    })
}

fn cpu<'s>(servers: impl Iterator<Item = &'s ServerSnapshot>, stale_after: Duration) -> Option<f64> {
    let (mut sum, mut told, mut all) = (0.0, 0_u32, 0_u32);
    for server in servers {
        all += 1;
        let agent = server.agent.as_ref().filter(|agent| u128::from(agent.ms_ago) <= stale_after.as_millis());
        if let Some(percent) = agent.and_then(|agent| agent.cpu_percent) {
            sum += f64::from(percent) / 100.0;
            told += 1;
        }
    }
    (told > 0 && told * 2 >= all).then(|| sum / f64::from(told))
}

/// Returns true if the last check failed; false for a server without checks.
fn has_failed_its_check(server: &ServerSnapshot) -> bool {
    server.check.as_ref().is_some_and(|check| !check.code.passed() && check.code != CheckCode::Initializing)
}

#[cfg(test)]
mod tests {
    use weir_control::{AgentSnapshot, CheckSnapshot};

    use super::*;

    fn server(health: Seen, admin: AdminState) -> ServerSnapshot {
        ServerSnapshot {
            name: "web-1".to_owned(),
            address: "127.0.0.1:80".to_owned(),
            health,
            admin,
            weight: 1,
            ..ServerSnapshot::default()
        }
    }

    #[test]
    fn a_server_is_capacity_when_its_checks_pass_and_by_as_much_as_its_weight_has_risen() {
        let up = member(&server(Seen::Up, AdminState::Ready)).unwrap();
        assert_eq!((up.health, up.draining), (Health::Up(1.0), false));
        assert_eq!(up.address, Some("127.0.0.1:80".parse().unwrap()));
        let rising = ServerSnapshot { weight_percent: Some(30), ..server(Seen::Up, AdminState::Ready) };
        assert_eq!(member(&rising).unwrap().health, Health::Up(0.3));
        for health in [Seen::Down, Seen::GoingUp { successes: 1, rise: 2 }] {
            assert_eq!(member(&server(health, AdminState::Ready)).unwrap().health, Health::Down);
        }
    }

    #[test]
    fn a_server_whose_checks_pass_is_not_ill_when_traffic_or_its_agent_put_it_out() {
        let ejected = server(Seen::Ejected { remaining_ms: 5 }, AdminState::Ready);
        assert_eq!(member(&ejected).unwrap().health, Health::Shunned);
        for (code, health) in [(CheckCode::L7Ok, Health::Shunned), (CheckCode::L4Refused, Health::Down)] {
            let by_agent = ServerSnapshot {
                agent: Some(AgentSnapshot { says: "down".to_owned(), ..AgentSnapshot::default() }),
                check: Some(CheckSnapshot { code, ..CheckSnapshot::default() }),
                ..server(Seen::Down, AdminState::Ready)
            };
            assert_eq!(member(&by_agent).unwrap().health, health);
        }
    }

    #[test]
    fn a_server_that_its_agent_drains_is_neither_capacity_nor_to_be_called_back() {
        let agent = AgentSnapshot { says: "drain".to_owned(), keeps_out: true, ..AgentSnapshot::default() };
        for admin in [AdminState::Drain, AdminState::Maintenance, AdminState::Ready] {
            let drained = ServerSnapshot { agent: Some(agent.clone()), ..server(Seen::Up, admin) };
            let seen = member(&drained).unwrap();
            assert_eq!((seen.health, seen.draining), (Health::Shunned, false), "{admin:?}");
        }
        let none = AgentSnapshot { weight_percent: Some(0), ..AgentSnapshot::default() };
        let nothing = ServerSnapshot { agent: Some(none), ..server(Seen::Up, AdminState::Ready) };
        assert_eq!(member(&nothing).unwrap().health, Health::Shunned);
        let weightless = ServerSnapshot { weight: 0, ..server(Seen::Up, AdminState::Ready) };
        assert_eq!(member(&weightless).unwrap().health, Health::Shunned);
    }

    #[test]
    fn a_server_that_its_agent_calls_busy_is_no_less_capacity_and_rises_as_others_do() {
        for (agent_percent, weight_percent, share) in [
            (75, Some(75), 1.0),
            (75, Some(4), 4.0 / 75.0),
            (75, None, 1.0),
            (150, None, 1.0),
            (150, Some(75), 0.5),
        ] {
            let agent = AgentSnapshot { weight_percent: Some(agent_percent), ..AgentSnapshot::default() };
            let up = ServerSnapshot { effective_weight: 1, ..server(Seen::Up, AdminState::Ready) };
            let busy = ServerSnapshot { agent: Some(agent), weight_percent, ..up };
            let seen = member(&busy).unwrap().health;
            assert!(
                matches!(seen, Health::Up(up) if (up - share).abs() < 1e-9),
                "{agent_percent} {weight_percent:?}: {seen:?}"
            );
        }
    }

    #[test]
    fn the_load_of_processors_is_the_mean_of_those_that_have_said_so_lately_if_these_are_most() {
        let busy = |percent: u32, ms_ago| {
            let agent = AgentSnapshot { cpu_percent: Some(percent), ms_ago, ..AgentSnapshot::default() };
            ServerSnapshot { agent: Some(agent), ..server(Seen::Up, AdminState::Ready) }
        };
        let silent = server(Seen::Up, AdminState::Ready);
        let mean = |servers: &[ServerSnapshot]| cpu(servers.iter(), Duration::from_secs(15));
        assert_eq!(mean(&[busy(50, 0), busy(100, 15_000)]), Some(0.75));
        assert_eq!(mean(&[busy(50, 0), busy(100, 15_001)]), Some(0.5));
        assert_eq!(mean(&[busy(50, 0), busy(100, 20_000), silent.clone()]), None);
        assert_eq!(mean(&[silent]), None);
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn what_an_operator_has_taken_out_is_on_its_way_out() {
        for admin in [AdminState::Drain, AdminState::Maintenance] {
            assert!(member(&server(Seen::Up, admin)).unwrap().draining);
        }
    }
}
