//! Addresses, processes and files of a running demo.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::server::WebServer;

/// Facts about all parts of the demo.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) balancer: BalancerFacts,
    /// Web servers, in the order of [`super::server::SERVERS`].
    pub(super) servers: Vec<ServerFacts>,
    /// Storage nodes, in the order of [`super::storage::NODES`].
    pub(super) nodes: Vec<NodeFacts>,
    pub(super) files: Files,
}

/// Storage node.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeFacts {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) pid: u32,
}

/// Balancer.
#[derive(Debug, Clone, Copy)]
pub(super) struct BalancerFacts {
    /// Address of the listener for the web servers and storage nodes.
    pub(super) site: SocketAddr,
    /// Address of the listener for the fleet.
    pub(super) app: SocketAddr,
    /// Address of the status page.
    pub(super) admin: SocketAddr,
}

/// Web server.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerFacts {
    pub(super) spec: WebServer,
    pub(super) address: SocketAddr,
    pub(super) pid: u32,
}

/// Files in the demo's directory.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) config: PathBuf,
    /// Control socket.
    pub(super) control: PathBuf,
    pub(super) access_log: PathBuf,
    /// Log with the output of all children.
    pub(super) log: PathBuf,
    /// Directory that the storage nodes share.
    pub(super) data: PathBuf,
    /// State directory of the fleet's provider.
    pub(super) fleet: PathBuf,
    /// Link to this program, which keeps the proposed commands short.
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

    /// Returns the path of a storage node's config.
    pub(super) fn node(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.toml"))
    }
}
