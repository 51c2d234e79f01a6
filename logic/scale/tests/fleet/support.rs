//! A fleet in virtual time whose simulated provider executes actions at once or after a delay.

use std::sync::Arc;
use std::time::Duration;

use weir_model::Name;
use weir_scale::{Action, Decision, Now, Rules, Sample, Scaler, Server, ServerState, Successor};

pub(crate) const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) struct Fleet {
    pub(crate) scaler: Scaler,
    pub(crate) servers: Vec<Server>,
    pub(crate) now: Duration,
    pub(crate) requests: u64,
    carry: f64,
    /// Name of a server that never becomes ready.
    pub(crate) stuck: Option<Name>,
    start_up: Duration,
    made: u32,
}

impl Fleet {
    /// Creates a fleet with healthy servers.
    pub(crate) fn new(rules: Rules, servers: u32, start_up: Duration) -> Self {
        let mut fleet = Self {
            scaler: Scaler::new(Arc::new(rules)),
            servers: Vec::new(),
            now: Duration::ZERO,
            requests: 0,
            carry: 0.0,
            stuck: None,
            start_up,
            made: 0,
        };
        (0..servers).for_each(|_| fleet.make(ServerState::Active));
        fleet
    }

    pub(crate) fn make(&mut self, state: ServerState) {
        self.made += 1;
        self.servers.push(Server {
            name: Name::new(&format!("s{}", self.made)).unwrap(),
            flavour: None,
            zone: None,
            created: self.now,
            cost_per_hour: 1.0,
            active: 0,
            state,
        });
    }

    /// Simulates a second with `rate` requests; `None` = no measurement.
    pub(crate) fn second(&mut self, rate: Option<f64>) -> Decision {
        self.now += s(1);
        if let Some(rate) = rate {
            self.carry += rate;
            self.requests += self.carry as u64;
            self.carry -= self.carry.floor();
            self.scaler.observe(self.now, &Sample::of_requests(self.requests));
        }
        self.advance();
        let decision = self.scaler.decide(Now::at(self.now), &self.servers);
        self.scaler.refit();
        decision.actions.iter().for_each(|action| self.act(action));
        decision
    }

    pub(crate) fn seconds(&mut self, count: u64, rate: f64) -> Decision {
        (0..count).map(|_| self.second(Some(rate))).last().unwrap()
    }

    fn advance(&mut self) {
        for server in self.servers.iter_mut().filter(|server| Some(&server.name) != self.stuck.as_ref()) {
            match server.state {
                ServerState::Creating { ready, for_standby } if ready <= self.now => {
                    server.state = if for_standby { ServerState::Stopped } else { ServerState::Active };
                }
                ServerState::Booting { ready } if ready <= self.now => server.state = ServerState::Active,
                ServerState::Stopping => server.state = ServerState::Stopped,
                _ => {}
            }
        }
    }

    fn act(&mut self, action: &Action) {
        let now = self.now;
        let ready = now + self.start_up;
        match action {
            Action::Recall { server } => self.set(server, ServerState::Active),
            Action::Wake { server } => self.set(server, ServerState::Booting { ready }),
            Action::Create { count, for_standby, .. } => (0..*count)
                .for_each(|_| self.make(ServerState::Creating { ready, for_standby: *for_standby })),
            Action::Drain { server } => self.set(server, ServerState::Draining { since: now }),
            Action::Stop { server, .. } => self.set(server, ServerState::Stopping),
            Action::Delete { server, .. } => self.servers.retain(|there| there.name != *server),
            Action::Replace { server, by, .. } => {
                self.servers.retain(|there| there.name != *server);
                match by {
                    Successor::Woken(other) => self.set(other, ServerState::Booting { ready }),
                    Successor::Created(_) => self.make(ServerState::Creating { ready, for_standby: false }),
                    Successor::Nobody => {}
                }
            }
        }
    }

    /// Sets the state of a server. Panics if it does not exist, because the decision is then wrong.
    pub(crate) fn set(&mut self, name: &Name, state: ServerState) {
        let server = self.servers.iter_mut().find(|server| server.name == *name);
        server.unwrap_or_else(|| panic!("no server {name}")).state = state;
    }

    pub(crate) fn name(&self, at: usize) -> Name {
        self.servers[at].name.clone()
    }

    pub(crate) fn states(&self) -> String {
        self.servers.iter().map(|server| server.state.name()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn running(&self) -> u32 {
        let running =
            |server: &&Server| matches!(server.state, ServerState::Active) || server.state.ready().is_some();
        self.servers.iter().filter(running).count() as u32
    }
}
