//! HAProxy as the load balancer of a fleet, through its runtime socket with level admin.
//!
//! With version 2.5 or newer, servers are added to a backend with a health check, and stay down until it
//! passes. They are removed when they have drained. Weir recognises its servers by name: the fleet's name and
//! twelve digits. It ignores all other servers of the backend. After a reload, HAProxy has lost the servers,
//! and Weir adds them again. An older HAProxy is reloaded with a configuration made from a template
//! (`rendered`).

mod command;
mod record;
mod rendered;
mod silence;
mod socket;
mod stat;
mod states;
mod template;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use weir_model::ServerName;
use weir_scale::Sample;

pub(crate) use self::rendered::{Rendered, check};
pub(crate) use self::silence::Silence;
use self::stat::Stat;
use self::states::States;
use crate::live::{Balancer, Member};
use crate::token_of;

/// A backend of a running HAProxy.
#[derive(Debug, Clone)]
pub struct Haproxy {
    /// Name of the fleet.
    pub fleet: String,
    /// Path of the runtime socket.
    pub socket: PathBuf,
    /// Name of the backend. Its algorithm must permit new servers (`leastconn`, `roundrobin`, `random`,
    /// `hash`).
    pub backend: String,
    /// Options after the address in `add server`, for example `check inter 1s rise 2 fall 3`.
    pub options: String,
    /// Record of a command without an answer.
    pub(crate) silence: Silence,
}

/// Maximum time for a whole reply. A reply without progress fails sooner (`socket`).
const PATIENCE: Duration = Duration::from_secs(5);

impl Haproxy {
    /// Checks that the socket exists, permits the necessary commands, and has the backend.
    pub fn verify(&self) -> Result<(), String> {
        self.stat()?;
        // Without permission, HAProxy reports that instead of the missing server.
        let reply = self.ask(&format!("set server {}/weir-none state ready", self.backend))?;
        match reply.contains("ermission denied") {
            true => {
                Err(format!("{}: {}: the socket needs `level admin`", self.socket.display(), reply.trim()))
            }
            false => Ok(()),
        }
    }

    fn stat(&self) -> Result<Stat, String> {
        let text = self.ask("show stat")?;
        let stat = Stat::parse(&text).map_err(|why| format!("{}: {why}", self.socket.display()))?;
        match stat.backend(&self.backend) {
            Some(_) => Ok(stat),
            None => Err(format!("{}: there is no backend {}", self.socket.display(), self.backend)),
        }
    }

    fn ask(&self, command: &str) -> Result<String, String> {
        let named = |cause: &io::Error| format!("{}: {cause}", self.socket.display());
        self.silence.check(Instant::now()).map_err(|cause| named(&cause))?;
        let answered = socket::ask(&self.socket, command, PATIENCE);
        self.silence.note(Instant::now(), &answered);
        answered.map_err(|cause| named(&cause))
    }

    /// Executes commands in order, up to the first refused one.
    fn tell(&self, commands: &[String]) -> Result<(), String> {
        commands.iter().try_for_each(|command| {
            let reply = self.ask(command)?;
            match reply.trim() {
                "" | "New server registered." | "Server deleted." => Ok(()),
                refusal => Err(format!("{command}: {}", refusal.lines().next().unwrap_or(refusal))),
            }
        })
    }

    /// Reads the administrative states of the servers. The statistics do not show them for servers that are
    /// down.
    fn states(&self) -> Result<States, String> {
        let text = self.ask(&format!("show servers state {}", self.backend))?;
        States::parse(&text).map_err(|why| format!("{}: {why}", self.socket.display()))
    }

    /// Puts a server into rotation; it stays down until its health check passes.
    fn begin(&self, server: &ServerName) -> Result<(), String> {
        self.tell(&[
            format!("enable health {}/{server}", self.backend),
            // After maintenance, a server counts as up until a check fails, unless it was set down in
            // between.
            self.set(server, "state drain"),
            self.set(server, "health down"),
            self.set(server, "state ready"),
        ])
    }

    /// Puts a server into maintenance; `force` also aborts its requests.
    fn take_out(&self, server: &ServerName, force: bool) -> Result<(), String> {
        self.tell(&[self.set(server, "state maint")])?;
        match force {
            true => self.tell(&[format!("shutdown sessions server {}/{server}", self.backend)]),
            false => Ok(()),
        }
    }

    fn set(&self, server: &ServerName, what: &str) -> String {
        format!("set server {}/{server} {what}", self.backend)
    }
}

impl Balancer for Haproxy {
    fn sample(&self) -> Sample {
        self.stat().ok().and_then(|stat| stat.backend(&self.backend)).unwrap_or_default()
    }

    fn members(&self) -> Result<Vec<Member>, String> {
        let (stat, states) = (self.stat()?, self.states()?);
        let mut members = stat.members(&self.backend, |name| token_of(&self.fleet, name));
        for member in &mut members {
            member.draining = states.is_out(member.server.as_str());
        }
        Ok(members)
    }

    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        let path = format!("{}/{server}", self.backend);
        self.tell(&[format!("add server {path} {address} {}", self.options)])?;
        self.begin(server)
    }

    fn relocate(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        let command = self.set(server, &format!("addr {} port {}", address.ip(), address.port()));
        // The reply describes the change.
        let reply = self.ask(&command)?;
        if reply.contains("changed") || reply.trim().is_empty() {
            return self.tell(&[self.set(server, "health down")]);
        }
        Err(format!("{command}: {}", reply.trim()))
    }

    fn drain(&self, server: &ServerName) -> Result<(), String> {
        self.tell(&[self.set(server, "state drain")])
    }

    fn recall(&self, server: &ServerName) -> Result<(), String> {
        // The process that added the server may have been killed before its first check.
        match self.states()?.was_begun(server.as_str()) {
            true => self.tell(&[self.set(server, "state ready")]),
            false => self.begin(server),
        }
    }

    fn remove(&self, server: &ServerName, force: bool) -> Result<(), String> {
        self.take_out(server, force)?;
        self.tell(&[format!("del server {}/{server}", self.backend)])
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_haproxy_that_hangs_is_asked_once_a_look_and_told_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let haproxy = Haproxy {
            fleet: "web".to_owned(),
            socket,
            backend: "web".to_owned(),
            options: String::new(),
            silence: Silence::default(),
        };
        assert_eq!(haproxy.sample(), Sample::default());
        let why = haproxy.members().unwrap_err();
        assert!(why.ends_with("socket: HAProxy does not answer: is it stopped, or overloaded?"), "{why}");
        let connections = std::iter::from_fn(|| listener.accept().ok()).count();
        assert_eq!(connections, 1);
    }

    #[test]
    fn one_that_is_not_there_is_asked_again_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let silence = Silence::default();
        let now = Instant::now();
        silence.note(now, &socket::ask(&directory.path().join("none"), "show stat", PATIENCE));
        assert!(silence.check(now).is_ok());
        silence.note::<()>(now, &Err(silence::does_not_answer()));
        assert!(silence.check(now).is_err() && silence.check(now + PATIENCE).is_ok());
    }
}
