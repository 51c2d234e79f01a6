//! What runs where: addresses, processes, files.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::server::WebServer;

/// All of it.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) balancer: BalancerFacts,
    /// In the order of [`super::server::SERVERS`].
    pub(super) servers: Vec<ServerFacts>,
    /// In the order of [`super::storage::NODES`].
    pub(super) nodes: Vec<NodeFacts>,
    pub(super) files: Files,
}

/// A storage node.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeFacts {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) pid: u32,
}

/// The balancer.
#[derive(Debug, Clone, Copy)]
pub(super) struct BalancerFacts {
    /// Where it accepts.
    pub(super) site: SocketAddr,
    /// Where it accepts what is for the fleet.
    pub(super) app: SocketAddr,
    /// Where its status page is.
    pub(super) admin: SocketAddr,
}

/// A web server.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerFacts {
    pub(super) spec: WebServer,
    pub(super) address: SocketAddr,
    pub(super) pid: u32,
}

/// What lies in the demo's directory.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) config: PathBuf,
    /// The control socket.
    pub(super) control: PathBuf,
    pub(super) access_log: PathBuf,
    /// What all children write.
    pub(super) log: PathBuf,
    /// The directory that the storage nodes share.
    pub(super) data: PathBuf,
    /// What the fleet remembers.
    pub(super) fleet: PathBuf,
    /// A link to this program, which keeps the proposed commands short.
    pub(super) program: PathBuf,
    pub(super) directory: PathBuf,
}

impl Files {
    pub(super) fn within(directory: &Path) -> Self {
        Self {
            config: directory.join("weir.toml"),
            control: directory.join("control.sock"),
            access_log: directory.join("access.log"),
            log: directory.join("demo.log"),
            data: directory.join("data"),
            fleet: directory.join("fleet"),
            program: directory.join("weir"),
            directory: directory.to_owned(),
        }
    }

    /// The config of a storage node.
    pub(super) fn node(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.toml"))
    }
}
