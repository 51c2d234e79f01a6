//! This side of another machine: sends requests to its agent and waits for the responses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use weir_config::lab::{self, Product, Watched};

use super::super::rivals::Program;
use super::super::stage::{Place, Stop};
use super::super::store::Sample;
use super::link::Link;
use super::words::{Answer, Ask, Seen, Start};

/// All machines of a scenario.
#[derive(Debug)]
pub(crate) struct Hosts {
    balancer: Arc<Host>,
    servers: Vec<Arc<Host>>,
}

/// Another machine while its connection is open. Everything that was started there ends with the connection.
#[derive(Debug)]
pub(crate) struct Host {
    /// Name in the scenario.
    pub(crate) name: String,
    /// Address at which other machines reach it.
    address: IpAddr,
    /// Directory of this lab's files there.
    pub(crate) directory: PathBuf,
    /// Path of the program of Weir there.
    pub(crate) own: PathBuf,
    link: Mutex<Link>,
}

impl Hosts {
    /// Connects to all machines, and copies `own` to them: the program of Weir.
    ///
    /// # Errors
    /// If a machine cannot be reached, or if Weir does not run there. The text names the machine.
    pub(crate) fn connect(hosts: &lab::Hosts, own: &Path, stop: Stop<'_>) -> Result<Self, String> {
        let mut known: Vec<(&lab::Host, Arc<Host>)> = Vec::new();
        let (config, silence_max) = (hosts.ssh_config.as_deref(), hosts.timeout.duration());
        for host in std::iter::once(&hosts.balancer).chain(&hosts.servers) {
            if stop() {
                return Err("stopped while machines were connected".to_owned());
            }
            if !known.iter().any(|(other, _)| *other == host) {
                let connected = Host::connect(host, config, own, silence_max);
                let connected = connected.map_err(|cause| format!("{}: {cause}", host.destination))?;
                known.push((host, Arc::new(connected)));
            }
        }
        let of = |host: &lab::Host| {
            let found = known.iter().find(|(other, _)| *other == host);
            found.map(|(_, connected)| Arc::clone(connected)).ok_or("a machine is missing".to_owned())
        };
        let servers = hosts.servers.iter().map(of).collect::<Result<_, _>>()?;
        Ok(Self { balancer: of(&hosts.balancer)?, servers })
    }

    /// Returns the machine of a place; `None` = this machine, which runs the client.
    pub(crate) fn at(&self, place: Place) -> Option<&Arc<Host>> {
        match place {
            Place::Client | Place::Spare => None,
            Place::Balancer => Some(&self.balancer),
            Place::Server(number) => self.servers.get(number as usize % self.servers.len().max(1)),
        }
    }

    /// Returns each machine once.
    pub(crate) fn each(&self) -> Vec<&Arc<Host>> {
        let mut each = vec![&self.balancer];
        for host in &self.servers {
            if !each.iter().any(|other| Arc::ptr_eq(other, host)) {
                each.push(host);
            }
        }
        each
    }
}

impl Host {
    fn connect(
        host: &lab::Host,
        config: Option<&Path>,
        own: &Path,
        silence_max: Duration,
    ) -> Result<Self, String> {
        let mut link = Link::open(&host.destination, config, own, silence_max)?;
        let hello = link.greeting()?;
        let told = hello.address.and_then(|address| address.parse().ok());
        let address = host.address.or(told).ok_or(
            "it does not say at which address ssh has reached it: `balancer-address` or `server-addresses` must",
        )?;
        Ok(Self {
            name: host.destination.clone(),
            address,
            directory: hello.directory,
            own: hello.program,
            link: Mutex::new(link),
        })
    }

    fn ask<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, String> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match link.exchange(ask) {
            Ok(Answer::Done(value)) => serde_json::from_value(value).map_err(|cause| cause.to_string()),
            Ok(Answer::Failed(why)) => Err(why),
            Err(cause) => Err(cause),
        };
        answer.map_err(|cause| format!("{}: {cause}", self.name))
    }

    /// Returns an address to listen on: with this port, or with a free one for 0.
    pub(crate) fn address(&self, port: u16) -> io::Result<SocketAddr> {
        let address = SocketAddr::new(self.address, port);
        match port {
            0 => {
                let port = self.ask(&Ask::FreePort { address }).map_err(io::Error::other)?;
                Ok(SocketAddr::new(self.address, port))
            }
            _ => Ok(address),
        }
    }

    pub(crate) fn listen(&self, address: SocketAddr) -> io::Result<()> {
        self.ask(&Ask::Listen { address }).map_err(io::Error::other)
    }

    pub(crate) fn fresh(&self, path: &Path) -> Result<(), String> {
        self.ask(&Ask::Fresh { path: path.to_owned() })
    }

    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        self.ask(&Ask::Write { path: path.to_owned(), text: text.to_owned() })
    }

    pub(crate) fn make_files(&self, directory: &Path, sizes: &[u64]) -> Result<(), String> {
        self.ask(&Ask::Files { directory: directory.to_owned(), sizes: sizes.to_vec() })
    }

    pub(crate) fn find(&self, product: Product, named: Option<&Path>) -> Result<Program, String> {
        let ask = Ask::Find { product: product.name().to_owned(), named: named.map(Path::to_owned) };
        self.ask(&ask).map(|(path, version)| Program { path, version })
    }

    pub(crate) fn checksum(&self, program: &Path) -> Result<String, String> {
        self.ask(&Ask::Checksum { program: program.to_owned() })
    }

    /// Returns names and values of the facts about this machine.
    pub(crate) fn facts(&self) -> Result<Vec<(String, String)>, String> {
        let facts: Vec<(String, String)> = self.ask(&Ask::Facts)?;
        Ok(facts.into_iter().map(|(name, value)| (format!("{}: {name}", self.name), value)).collect())
    }

    pub(crate) fn calibrate(&self) -> Result<u64, String> {
        self.ask(&Ask::Calibrate)
    }

    /// Starts a program and returns its process id.
    pub(crate) fn start(&self, start: Start) -> Result<u32, String> {
        self.ask(&Ask::Start(start))
    }

    pub(crate) fn ended(&self, process: u32) -> Result<Option<String>, String> {
        self.ask(&Ask::Ended { process })
    }

    pub(crate) fn last_words(&self, process: u32) -> Result<String, String> {
        self.ask(&Ask::LastWords { process })
    }

    pub(crate) fn members(&self, process: u32) -> Result<Vec<u32>, String> {
        self.ask(&Ask::Members { process })
    }

    pub(crate) fn signal(&self, process: u32, signal: i32) -> Result<(), String> {
        self.ask(&Ask::Signal { process, signal })
    }

    pub(crate) fn end(&self, process: u32) -> Result<(), String> {
        self.ask(&Ask::End { process })
    }

    pub(crate) fn answers(&self, address: SocketAddr, path: Option<&str>) -> Result<bool, String> {
        self.ask(&Ask::Answers { address, path: path.map(str::to_owned) })
    }

    pub(crate) fn watch(
        &self,
        (every, further): (Duration, &[Watched]),
        balancer: Vec<u32>,
        servers: Vec<u32>,
    ) -> Result<(), String> {
        let every_ms = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
        let further = further.iter().map(|what| what.name().to_owned()).collect();
        self.ask(&Ask::Watch { every_ms, further, balancer, servers })
    }

    /// Returns the samples since [`Self::watch`].
    pub(crate) fn seen(&self) -> Result<Vec<Sample>, String> {
        let seen: Vec<Seen> = self.ask(&Ask::Seen)?;
        Ok(seen.into_iter().filter_map(Seen::sample).collect())
    }
}

#[cfg(test)]
mod tests {
    use weir_model::Millis;

    use super::*;

    fn hosts(destination: &str) -> lab::Hosts {
        let host = |destination: &str| lab::Host { destination: destination.to_owned(), address: None };
        // An SSH configuration that is independent of the user's.
        lab::Hosts {
            balancer: host(destination),
            servers: vec![host(destination)],
            ssh_config: Some("/dev/null".into()),
            timeout: Millis::from_secs(300),
        }
    }

    #[test]
    fn a_machine_that_cannot_be_reached_is_named_with_what_ssh_says() {
        let own = std::env::current_exe().unwrap();
        let said = Hosts::connect(&hosts("nobody@no-such-machine.invalid"), &own, &|| false).unwrap_err();
        assert!(said.starts_with("nobody@no-such-machine.invalid: "), "{said}");
        assert!(said.contains(": ssh: "), "{said}");
    }
}
