//! This side of another machine: asks, and waits for answers.

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

/// Another machine, as long as the connection to it stands. What was started there ends with that.
#[derive(Debug)]
pub(crate) struct Host {
    /// As the scenario calls it.
    pub(crate) name: String,
    /// Where others reach it.
    address: IpAddr,
    /// Where files of this lab lie there.
    pub(crate) directory: PathBuf,
    /// The program of Weir there.
    pub(crate) own: PathBuf,
    link: Mutex<Link>,
}

impl Hosts {
    /// Connects to all of them, and takes `own` there: the program of Weir.
    ///
    /// # Errors
    /// One cannot be reached, or Weir does not run there; the text names it.
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

    /// Who is where; the client is on this machine.
    pub(crate) fn at(&self, place: Place) -> Option<&Arc<Host>> {
        match place {
            Place::Client | Place::Spare => None,
            Place::Balancer => Some(&self.balancer),
            Place::Server(number) => self.servers.get(number as usize % self.servers.len().max(1)),
        }
    }

    /// Each once.
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

    /// Where somebody may listen: at this port, or at a free one for 0.
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

    /// Names and values of what this machine is.
    pub(crate) fn facts(&self) -> Result<Vec<(String, String)>, String> {
        let facts: Vec<(String, String)> = self.ask(&Ask::Facts)?;
        Ok(facts.into_iter().map(|(name, value)| (format!("{}: {name}", self.name), value)).collect())
    }

    pub(crate) fn calibrate(&self) -> Result<u64, String> {
        self.ask(&Ask::Calibrate)
    }

    /// Starts a program, and says which process it is.
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

    /// What monitors saw since [`Self::watch`].
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
        // Nothing of the user's, and nobody's name.
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
