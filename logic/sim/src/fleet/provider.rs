//! Servers that start, drain and stop in virtual time.

use std::time::Duration;

use serde::Serialize;
use weir_model::{Name, ServerName};
use weir_scale::{Action, Scaler, Server, ServerState, Successor};

use crate::rng::Rng;

/// What servers are like.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct World {
    /// Requests per second that one server can do.
    pub capacity_per_s: f64,
    /// Seconds until a new server takes requests: the mean.
    pub start_up_s: f64,
    /// Seconds until a stopped one does.
    pub wake_up_s: f64,
    /// Starts take up to such a share more or less than their mean.
    pub start_spread: f64,
    /// Seconds until a server that drains is empty: the mean, exponential.
    pub drain_s: f64,
    /// Seconds that a request may wait for a server before the second is one of overload.
    pub wait_s: f64,
    /// Seconds that requests wait at most; more are refused.
    pub queue_s: f64,
    /// Price of a server that runs, per hour.
    pub price_per_hour: f64,
    /// Watts of a server that runs and has nothing to do.
    pub idle_watts: f64,
    /// Watts of a server that is busy all the time.
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

/// The fleet.
pub(super) struct Provider {
    world: World,
    rng: Rng,
    servers: Vec<Server>,
    /// What each of `servers` waits for.
    until: Vec<Until>,
    made: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Until {
    ordered: Duration,
    /// When it takes requests, is empty, or has stopped.
    done: Duration,
}

/// How long stopping takes.
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

    /// What is done by `now`. Each running server works on `busy` requests.
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
