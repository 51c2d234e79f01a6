//! The balancer of a fleet's servers: a pool of this process, or a HAProxy.

use std::net::SocketAddr;

use weir_fleet::live::{Balancer, Member};
use weir_model::ServerName;
use weir_scale::{Observation, Sample};

use super::pool::Pool;

/// The balancer of a fleet.
pub(super) enum Balance {
    Pool(Box<Pool>),
    Haproxy(Box<dyn Balancer>),
}

impl Balance {
    /// Returns true if the fleet's pool no longer exists.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Pool(pool) if !pool.exists())
    }

    fn inner(&self) -> &dyn Balancer {
        match self {
            Self::Pool(pool) => pool.as_ref(),
            Self::Haproxy(haproxy) => haproxy.as_ref(),
        }
    }
}

impl Balancer for Balance {
    fn sample(&self) -> Sample {
        self.inner().sample()
    }

    fn observations(&self) -> Vec<(ServerName, Observation)> {
        self.inner().observations()
    }

    fn members(&self) -> Result<Vec<Member>, String> {
        self.inner().members()
    }

    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        self.inner().admit(server, address)
    }

    fn troubles(&self) -> Vec<String> {
        self.inner().troubles()
    }

    fn relocate(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        self.inner().relocate(server, address)
    }

    fn drain(&self, server: &ServerName) -> Result<(), String> {
        self.inner().drain(server)
    }

    fn recall(&self, server: &ServerName) -> Result<(), String> {
        self.inner().recall(server)
    }

    fn remove(&self, server: &ServerName, force: bool) -> Result<(), String> {
        self.inner().remove(server, force)
    }
}
