//! The network of a scenario: the machine's loopback, or a namespace per party, joined by a bridge.
//!
//! The bridge is in a separate namespace, so that the machine's network is never changed. All interfaces and
//! qdiscs disappear with the namespaces.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use weir_config::lab::{Links, Topology};

use super::super::remote::{Host, Hosts};
use super::ledger::PREFIX;
use super::{Certificates, Ledger, free_address, fresh};

/// Party in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Client,
    Balancer,
    /// Passive balancer of a pair.
    Spare,
    /// Server by number, from 0.
    Server(u32),
}

/// Network of a scenario.
#[derive(Debug)]
pub(crate) struct Network {
    /// Prefix of all names; `None` = no namespaces.
    prefix: Option<String>,
    /// Other machines, if the scenario uses them.
    hosts: Option<Hosts>,
}

impl Network {
    /// Creates the network.
    ///
    /// # Errors
    /// If namespaces cannot be created. The ledger records those that were created.
    pub(crate) fn make(topology: Topology, servers: u32, ledger: &mut Ledger) -> Result<Self, String> {
        let Topology::Namespaces(links) = topology else { return Ok(Self { prefix: None, hosts: None }) };
        let network = Self { prefix: Some(format!("{PREFIX}{}", std::process::id())), hosts: None };
        let switch = network.name("switch");
        add(&switch, ledger)?;
        run("ip", &["-n", &switch, "link", "add", "bridge", "type", "bridge"])?;
        run("ip", &["-n", &switch, "link", "set", "bridge", "up"])?;
        let places = [Place::Client, Place::Balancer].into_iter().chain((0..servers).map(Place::Server));
        for place in places {
            network.join(place, &switch, &links, ledger)?;
        }
        Ok(network)
    }

    /// Uses connected machines as the network.
    pub(crate) fn over(hosts: Hosts) -> Self {
        Self { prefix: None, hosts: Some(hosts) }
    }

    /// Returns the other machines.
    pub(crate) fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// Returns the machine of a place; `None` = this one.
    pub(crate) fn host(&self, place: Place) -> Option<&Arc<Host>> {
        self.hosts.as_ref()?.at(place)
    }

    /// Returns the directory of a place's files; `own` = the one on this machine.
    pub(crate) fn directory(&self, place: Place, own: &Path) -> PathBuf {
        self.host(place).map_or_else(|| own.to_owned(), |host| host.directory.clone())
    }

    /// Creates an empty directory at a place.
    pub(crate) fn fresh(&self, place: Place, path: &Path) -> Result<(), String> {
        match self.host(place) {
            Some(host) => host.fresh(path),
            None => fresh(path).map(drop),
        }
    }

    /// Writes a file at a place.
    pub(crate) fn write(&self, place: Place, path: &Path, text: &str) -> Result<(), String> {
        match self.host(place) {
            Some(host) => host.write(path, text),
            None => std::fs::write(path, text).map_err(|cause| format!("{}: {cause}", path.display())),
        }
    }

    /// Returns the certificates with their paths at a place.
    pub(crate) fn certificates(&self, place: Place, own: &Certificates) -> Certificates {
        self.host(place).map_or_else(|| own.clone(), |host| own.in_directory(&host.directory))
    }

    /// Checks that a listener is possible at a place.
    pub(crate) fn listen(&self, place: Place, address: SocketAddr) -> io::Result<()> {
        match self.host(place) {
            Some(host) => host.listen(address),
            None => self.within(place, || TcpListener::bind(address).map(drop))?,
        }
    }

    /// Adds a place for the passive balancer of a pair. Loopback does not support it.
    ///
    /// # Errors
    /// As for [`Self::make`].
    pub(crate) fn add_spare(&self, topology: Topology, ledger: &mut Ledger) -> Result<(), String> {
        match (topology, &self.prefix) {
            (Topology::Namespaces(links), Some(_)) => {
                self.join(Place::Spare, &self.name("switch"), &links, ledger)
            }
            _ => Err("a pair of balancers needs network namespaces, and these need root".to_owned()),
        }
    }

    /// Disconnects a place from the switch, or connects it again.
    pub(crate) fn plug(&self, place: Place, is_in: bool) -> Result<(), String> {
        let Some(_) = &self.prefix else { return Ok(()) };
        let to = if is_in { "up" } else { "down" };
        run("ip", &["-n", &self.name("switch"), "link", "set", &port(place), to])
    }

    /// Removes the shared address from both places, because a killed keepalived leaves it there.
    pub(crate) fn take_shared(&self) {
        for place in [Place::Balancer, Place::Spare] {
            let address = format!("{SHARED}/16");
            // Fails at the place that does not have the address.
            let _ = run("ip", &["-n", &self.namespace(place), "address", "del", &address, "dev", "eth0"]);
        }
    }

    /// Returns true if the parties have separate networks.
    pub(crate) fn is_apart(&self) -> bool {
        self.prefix.is_some()
    }

    /// Runs a program at a place to its end.
    ///
    /// # Errors
    /// If it does not run, or fails. The text contains its output. Over loopback, it is not run.
    pub(crate) fn run_within(&self, place: Place, program: &Path, arguments: &[&str]) -> Result<(), String> {
        if self.prefix.is_none() {
            return Err("it would be for all of this machine".to_owned());
        }
        let (namespace, program) = (self.namespace(place), program.display().to_string());
        run("ip", &[&["netns", "exec", namespace.as_str(), program.as_str()], arguments].concat())
    }

    /// Returns true if a place has the shared address.
    pub(crate) fn has_shared(&self, place: Place) -> bool {
        let namespace = self.namespace(place);
        let shown =
            Command::new("ip").args(["-n", &namespace, "-4", "address", "show", "dev", "eth0"]).output();
        shown.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&format!(" {SHARED}/")))
    }

    /// Creates the namespace of a place and connects it to the switch.
    fn join(&self, place: Place, switch: &str, links: &Links, ledger: &mut Ledger) -> Result<(), String> {
        let (name, port) = (self.namespace(place), port(place));
        add(&name, ledger)?;
        run(
            "ip",
            &["-n", switch, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &name],
        )?;
        run("ip", &["-n", switch, "link", "set", &port, "master", "bridge", "up"])?;
        let address = format!("{}/16", ip(place));
        run("ip", &["-n", &name, "address", "add", &address, "dev", "eth0"])?;
        run("ip", &["-n", &name, "link", "set", "eth0", "up"])?;
        let rate = match place {
            Place::Client => links.client,
            Place::Balancer | Place::Spare => links.balancer,
            Place::Server(_) => links.server,
        };
        if let Some(mbit) = rate {
            // Each end limits its outgoing traffic.
            limit(&name, "eth0", mbit)?;
            limit(switch, &port, mbit)?;
        }
        Ok(())
    }

    /// Returns an address at a place. On loopback, it has a free port unless `port` is given.
    pub(crate) fn address(&self, place: Place, port: u16) -> io::Result<SocketAddr> {
        if let Some(host) = self.host(place) {
            return host.address(port);
        }
        match (&self.prefix, port) {
            (None, 0) => free_address(),
            (None, port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            (Some(_), 0) => Ok(SocketAddr::from((ip(place), 8_000))),
            (Some(_), port) => Ok(SocketAddr::from((ip(place), port))),
        }
    }

    /// Calls a function in the network of a place, on a separate thread. Threads and processes that it starts
    /// are in that network, too.
    pub(crate) fn within<T: Send>(&self, place: Place, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        let Some(_) = &self.prefix else { return Ok(act()) };
        let path = format!("/run/netns/{}", self.namespace(place));
        let namespace = File::open(path)?;
        std::thread::scope(|scope| {
            let there = scope.spawn(|| -> io::Result<T> {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok(act())
            });
            there.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
        })
    }

    /// Describes the network for reports.
    pub(crate) fn describe(&self, topology: Topology) -> String {
        if let Some(hosts) = &self.hosts {
            let names: Vec<&str> = hosts.each().iter().map(|host| host.name.as_str()).collect();
            return format!("other machines, reached over SSH: {}", names.join(", "));
        }
        let Topology::Namespaces(links) = topology else { return "loopback".to_owned() };
        if self.prefix.is_none() {
            return "loopback, although namespaces were asked for: they need root".to_owned();
        }
        let shown = |rate: Option<f64>| {
            rate.map_or("unlimited".to_owned(), |mbit| format!("{} Mbit/s", (mbit * 1e4).round() / 1e4))
        };
        let scale =
            if links.scale == 1.0 { String::new() } else { format!(", all divided by {}", links.scale) };
        format!(
            "network namespaces; links of client {}, balancer {}, servers {}{scale}",
            shown(links.client),
            shown(links.balancer),
            shown(links.server)
        )
    }

    fn namespace(&self, place: Place) -> String {
        self.name(&port(place))
    }

    fn name(&self, end: &str) -> String {
        format!("{}-{end}", self.prefix.as_deref().unwrap_or(PREFIX))
    }
}

/// Returns the name of a place's port at the switch.
fn port(place: Place) -> String {
    match place {
        Place::Client => "client".to_owned(),
        Place::Balancer => "balancer".to_owned(),
        Place::Spare => "spare".to_owned(),
        Place::Server(number) => format!("s{}", number + 1),
    }
}

/// Shared address of a pair of balancers.
pub(crate) const SHARED: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 100);

/// Returns an address from a network for benchmarks (RFC 2544), which is not routed.
fn ip(place: Place) -> Ipv4Addr {
    match place {
        Place::Client => Ipv4Addr::new(198, 18, 0, 1),
        Place::Balancer => Ipv4Addr::new(198, 18, 0, 2),
        Place::Spare => Ipv4Addr::new(198, 18, 0, 3),
        Place::Server(number) => Ipv4Addr::new(198, 18, 1, u8::try_from(number + 1).unwrap_or(u8::MAX)),
    }
}

fn add(name: &str, ledger: &mut Ledger) -> Result<(), String> {
    ledger.namespace(name).map_err(|cause| format!("the ledger: {cause}"))?;
    run("ip", &["netns", "add", name])?;
    run("ip", &["-n", name, "link", "set", "lo", "up"])
}

/// Minimum burst: the kernel passes on up to 64 KiB at once, as packets of 1,500 bytes plus headers. A
/// smaller bucket would split each piece. That costs the sender several times the CPU time of a real network
/// card.
const BURST_MIN_BYTES: f64 = 80_000.0;

/// Adds a token bucket that permits bursts of 4 ms and queues at most 50 ms.
fn limit(namespace: &str, device: &str, mbit: f64) -> Result<(), String> {
    let bytes_per_s = mbit * 125_000.0;
    let burst = (bytes_per_s * 0.004).max(BURST_MIN_BYTES).round().to_string();
    let rate = format!("{}bit", (mbit * 1e6).round());
    let shape = ["rate", &rate, "burst", &burst, "latency", "50ms"];
    let arguments = [&["-n", namespace, "qdisc", "add", "dev", device, "root", "tbf"][..], &shape].concat();
    run("tc", &arguments)
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let failed = |cause: &dyn std::fmt::Display| format!("{program} {}: {cause}", arguments.join(" "));
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|cause| failed(&cause))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(&String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn loopback_gives_addresses_that_are_free() {
        let directory = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(directory.path()).unwrap();
        let network = Network::make(Topology::Loopback, 2, &mut ledger).unwrap();
        let address = network.address(Place::Server(0), 0).unwrap();
        TcpListener::bind(address).unwrap();
        assert_eq!(network.address(Place::Balancer, 81).unwrap().to_string(), "127.0.0.1:81");
        assert_eq!(network.within(Place::Client, || 7).unwrap(), 7);
    }

    #[test]
    fn parties_in_namespaces_reach_each_other_at_the_rate_of_their_links_and_leave_nothing() {
        if !super::super::is_root() || super::super::super::rivals::in_path(&["ip"]).is_none() {
            return weir_testkit::untested("needs root and ip");
        }
        let directory = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(directory.path()).unwrap();
        let links = Links { client: None, balancer: Some(100.0), server: Some(10.0), scale: 2.0 };
        let network = Network::make(Topology::Namespaces(links), 1, &mut ledger).unwrap();
        let prefix = network.prefix.clone().unwrap();
        let address = network.address(Place::Server(0), 0).unwrap();
        let listener = network.within(Place::Server(0), || TcpListener::bind(address)).unwrap().unwrap();
        let mut client = network.within(Place::Client, || TcpStream::connect(address)).unwrap().unwrap();
        let (stream, peer) = listener.accept().unwrap();
        drop(stream);
        assert_eq!(peer.ip(), ip(Place::Client));
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        let shown = |arguments: &[&str]| {
            String::from_utf8(Command::new("tc").args(arguments).output().unwrap().stdout).unwrap()
        };
        let server = format!("{prefix}-s1");
        assert!(shown(&["-n", &server, "qdisc", "show", "dev", "eth0"]).contains("tbf"));
        assert!(network.describe(Topology::Namespaces(links)).contains("all divided by 2"));
        drop(ledger);
        let left = Command::new("ip").args(["netns", "list"]).output().unwrap().stdout;
        assert!(!String::from_utf8(left).unwrap().contains(&prefix));
    }
}
