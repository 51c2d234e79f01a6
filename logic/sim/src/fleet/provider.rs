//! Simulated servers that start, drain and stop in virtual time.

use std::time::Duration;

use serde::Serialize;
use weir_model::{Name, ServerName};
use weir_scale::{Action, Scaler, Server, ServerState, Successor};

use crate::rng::Rng;

/// Properties of the simulated servers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct World {
    /// Requests per second that one server can handle.
    pub capacity_per_s: f64,
    /// Mean time in seconds until a new server takes requests.
    pub start_up_s: f64,
    /// Mean time in seconds until a stopped server takes requests.
    pub wake_up_s: f64,
    /// Largest deviation of start times from their mean, as a share of it.
    pub start_spread: f64,
    /// Mean time in seconds until a draining server is empty; exponentially distributed.
    pub drain_s: f64,
    /// Waiting time in seconds above which a second counts as one with waiting.
    pub wait_s: f64,
    /// Longest waiting time in seconds; further requests are refused.
    pub queue_s: f64,
    /// Price of a running server, per hour.
    pub price_per_hour: f64,
    /// Power of an idle running server, in watts.
    pub idle_watts: f64,
    /// Power of a fully busy server, in watts.
    pub busy_watts: f64,
}

impl Default for World {
    fn default() -> Self {
        Self {
            capacity_per_s: 10.0,
            start_up_s: 60.0,
            wake_up_s: 20.0,
            start_spread: 0.2,
            drain_s: 5.0,
            wait_s: 1.0,
            queue_s: 10.0,
            price_per_hour: 0.1,
            idle_watts: 60.0,
            busy_watts: 120.0,
        }
    }
}

/// The simulated provider of a fleet's servers.
pub(super) struct Provider {
    world: World,
    rng: Rng,
    servers: Vec<Server>,
    /// Times that each of `servers` waits for.
    until: Vec<Until>,
    made: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Until {
    ordered: Duration,
    /// Time at which it takes requests, is empty, or has stopped.
    done: Duration,
}

/// Time that stopping takes.
const STOP: Duration = Duration::from_secs(3);

impl Provider {
    pub(super) fn new(world: World, rng: Rng, running: u32, stopped: u32) -> Self {
        let mut provider = Self { world, rng, servers: Vec::new(), until: Vec::new(), made: 0 };
        (0..running).for_each(|_| provider.make(Duration::ZERO, ServerState::Active));
        (0..stopped).for_each(|_| provider.make(Duration::ZERO, ServerState::Stopped));
        provider
    }

    pub(super) fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Updates the servers to `now`. Each running server works on `busy` requests.
    pub(super) fn advance(&mut self, now: Duration, busy: u64, scaler: &mut Scaler) {
        for (server, until) in self.servers.iter_mut().zip(&self.until) {
            let is_done = now >= until.done;
            server.active = match server.state {
                ServerState::Active => busy,
                ServerState::Draining { .. } => u64::from(!is_done),
                _ => 0,
            };
            match server.state {
                ServerState::Creating { for_standby: true, .. } | ServerState::Stopping if is_done => {
                    server.state = ServerState::Stopped;
                }
                ServerState::Creating { .. } | ServerState::Booting { .. } if is_done => {
                    let woken = matches!(server.state, ServerState::Booting { .. });
                    scaler.started(woken, until.done.saturating_sub(until.ordered));
                    server.state = ServerState::Active;
                }
                _ => {}
            }
        }
    }

    pub(super) fn act(&mut self, now: Duration, action: &Action, scaler: &Scaler) {
        match action {
            Action::Recall { server } => self.set(server, |server, _| server.state = ServerState::Active),
            Action::Wake { server } => self.wake(now, server, scaler),
            Action::Create { count, for_standby, .. } => {
                (0..*count).for_each(|_| self.create(now, *for_standby, scaler));
            }
            Action::Drain { server } => {
                let lasts = Duration::from_secs_f64(self.rng.exponential() * self.world.drain_s);
                self.set(server, |server, until| {
                    server.state = ServerState::Draining { since: now };
                    until.done = now + lasts;
                });
            }
            Action::Stop { server, .. } => self.set(server, |server, until| {
                server.state = ServerState::Stopping;
                until.done = now + STOP;
            }),
            Action::Delete { server, .. } => self.delete(server),
            Action::Replace { server, by, .. } => {
                self.delete(server);
                match by {
                    Successor::Woken(other) => self.wake(now, other, scaler),
                    Successor::Created(_) => self.create(now, false, scaler),
                    Successor::Nobody => {}
                }
            }
        }
    }

    fn wake(&mut self, now: Duration, name: &ServerName, scaler: &Scaler) {
        let takes = self.varied(self.world.wake_up_s);
        let ready = now + scaler.expected(true);
        self.set(name, |server, until| {
            server.state = ServerState::Booting { ready };
            *until = Until { ordered: now, done: now + takes };
        });
    }

    fn create(&mut self, now: Duration, for_standby: bool, scaler: &Scaler) {
        let takes = self.varied(self.world.start_up_s);
        self.make(now, ServerState::Creating { ready: now + scaler.expected(false), for_standby });
        if let Some(until) = self.until.last_mut() {
            *until = Until { ordered: now, done: now + takes };
        }
    }

    fn make(&mut self, now: Duration, state: ServerState) {
        self.made += 1;
        let Ok(name) = Name::new(&format!("s{}", self.made)) else { return };
        self.servers.push(Server {
            name,
            flavour: None,
            zone: None,
            created: now,
            cost_per_hour: self.world.price_per_hour,
            active: 0,
            state,
        });
        self.until.push(Until::default());
    }

    fn delete(&mut self, name: &ServerName) {
        if let Some(at) = self.servers.iter().position(|server| server.name == *name) {
            self.servers.swap_remove(at);
            self.until.swap_remove(at);
        }
    }

    fn set(&mut self, name: &ServerName, change: impl FnOnce(&mut Server, &mut Until)) {
        if let Some(at) = self.servers.iter().position(|server| server.name == *name) {
            change(&mut self.servers[at], &mut self.until[at]);
        }
    }

    fn varied(&mut self, mean_s: f64) -> Duration {
        let factor = 1.0 + self.world.start_spread * (2.0 * self.rng.unit() - 1.0);
        Duration::from_secs_f64((mean_s * factor).max(0.0))
    }
}
