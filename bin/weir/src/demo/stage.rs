//! Starts and ends everything that the demo runs: a directory, servers, the balancer.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use tokio::task::JoinSet;

use super::child::Child;
use super::directory::Directory;
use super::facts::{BalancerFacts, Facts, Files, NodeFacts, ServerFacts};
use super::server::{SERVERS, WebServer};
use super::{config, fleet, panic, storage};

/// Web servers and storage nodes behind the balancer.
type Behind<'a> = (&'a [ServerFacts], &'a [NodeFacts]);

/// Running servers and balancer. Dropping it kills them and removes their directory.
#[derive(Debug)]
pub(super) struct Stage {
    facts: Facts,
    servers: Vec<Child>,
    nodes: Vec<Child>,
    balancer: Child,
    /// The last field: it is dropped when the children that write to it are gone.
    _directory: Directory,
}

impl Stage {
    /// Starts everything. Returns when the balancer accepts connections. Must be called within a
    /// [`tokio::task::LocalSet`].
    pub(super) async fn start() -> Result<Self, String> {
        // The config needs absolute paths, and TMPDIR may be relative.
        let directory = std::path::absolute(std::env::temp_dir())
            .and_then(|parent| Directory::make_in(&parent))
            .map_err(|error| format!("temporary directory: {error}"))?;
        directory.remove_abandoned();
        panic::remove_on_abort(directory.path().to_owned());
        let files = Files::within(directory.path());
        let log = File::options().create(true).append(true).open(&files.log);
        let log = log.map_err(|error| format!("{}: {error}", files.log.display()))?;
        std::env::current_exe()
            .and_then(|program| std::os::unix::fs::symlink(program, &files.program))
            .map_err(|error| format!("{}: {error}", files.program.display()))?;
        let (servers, children) = start_servers(&log).await?;
        let (nodes, node_children) = storage::start(&files, &log).await?;
        let (balancer, child) = start_balancer((&servers, &nodes), &files, &log).await?;
        if let Err(error) = fleet::ready(&files.control).await {
            return Err(format!("{error}:\n{}", child.said()));
        }
        let facts = Facts { balancer, servers, nodes, files };
        let (servers, nodes) = (children, node_children);
        Ok(Self { facts, servers, nodes, balancer: child, _directory: directory })
    }

    /// Returns the addresses, processes and files.
    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Kills a server, as if its machine had lost power.
    pub(super) fn kill_server(&mut self, at: usize) -> Result<(), String> {
        self.servers.get_mut(at).map_or(Ok(()), Child::kill)
    }

    /// Returns true if the server that this stage has started still runs.
    pub(super) fn server_lives(&mut self, at: usize) -> bool {
        self.servers.get_mut(at).is_some_and(|server| server.ended().is_none())
    }

    /// Returns an error if the balancer has ended, without which there is no demo. Also reaps web servers
    /// that have ended.
    pub(super) fn look(&mut self) -> Result<(), String> {
        for server in self.servers.iter_mut().chain(&mut self.nodes) {
            server.ended();
        }
        match self.balancer.ended() {
            None => Ok(()),
            Some(status) => Err(format!("the balancer has ended, {status}:\n{}", self.balancer.said())),
        }
    }

    /// Ends everything in order: first the balancer, then the servers behind it.
    pub(super) async fn stop(mut self) {
        /// Longer than the balancer's `drain-timeout` and the grace period of the servers.
        const PATIENCE: Duration = Duration::from_secs(5);
        self.balancer.stop(PATIENCE).await;
        fleet::end(&self.facts.files.config).await;
        let mut stops = JoinSet::new();
        for mut server in self.servers.drain(..).chain(self.nodes.drain(..)) {
            stops.spawn_local(async move { server.stop(PATIENCE).await });
        }
        stops.join_all().await;
    }
}

async fn start_servers(log: &File) -> Result<(Vec<ServerFacts>, Vec<Child>), String> {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let start =
        |spec: &WebServer| Child::start(&format!("server {}", spec.name), &spec.arguments(any_port), log);
    // Starts all of them before it waits, so that they start in parallel.
    let children = SERVERS.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let mut facts = Vec::new();
    for (spec, child) in SERVERS.into_iter().zip(&children) {
        let address = child.wait_for(|line| line.strip_prefix("listening on ")?.parse().ok()).await?;
        facts.push(ServerFacts { spec, address, pid: child.pid() });
    }
    Ok((facts, children))
}

async fn start_balancer(
    servers: Behind<'_>,
    files: &Files,
    log: &File,
) -> Result<(BalancerFacts, Child), String> {
    /// Attempts to start the balancer. Its ports are chosen in advance, so that the config shows them;
    /// another process may take one first.
    const TRIES: usize = 3;
    let mut outcome = try_start_balancer(servers, files, log).await;
    for _ in 1..TRIES {
        if outcome.is_err() {
            outcome = try_start_balancer(servers, files, log).await;
        }
    }
    outcome
}

async fn try_start_balancer(
    servers: Behind<'_>,
    files: &Files,
    log: &File,
) -> Result<(BalancerFacts, Child), String> {
    let [site, app, admin] = free_addresses().map_err(|error| format!("find free ports: {error}"))?;
    let text = config::text([site, app, admin], servers, files)?;
    fs::write(&files.config, text).map_err(|error| format!("{}: {error}", files.config.display()))?;
    let arguments = ["run".to_owned(), files.config.to_string_lossy().into_owned()];
    let child = Child::start("the balancer", &arguments, log)?;
    child.wait_for(|line| line.contains(" is ready").then_some(())).await?;
    Ok((BalancerFacts { site, app, admin }, child))
}

/// Returns addresses that were free a moment ago.
fn free_addresses() -> io::Result<[SocketAddr; 3]> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listeners = [bind()?, bind()?, bind()?];
    let [one, two, three] = listeners.each_ref().map(TcpListener::local_addr);
    Ok([one?, two?, three?])
}
