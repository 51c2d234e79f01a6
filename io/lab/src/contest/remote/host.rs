//! This side of another machine: asks, and waits for answers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::DeserializeOwned;
use weir_config::lab::{self, Product};

use super::super::rivals::Program;
use super::super::stage::{Place, Stop};
use super::super::store::Sample;
use super::words::{Answer, Ask, Hello, Seen, Start};

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

/// The connection.
#[derive(Debug)]
struct Link {
    ssh: Child,
    /// `None` = it is being ended.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What ssh complains about.
    complaints: File,
}

/// Whoever says nothing for so long is stuck: what is asked of a machine takes seconds.
const SILENCE_MAX_S: i64 = 300;
/// More lines than this nobody's login greets with.
const GREETINGS_MAX: usize = 200;
/// What an agent may take to end what it has started; a machine under heavy load gets time.
const END_MAX: Duration = Duration::from_secs(20);

impl Hosts {
    /// Connects to all of them, and takes `own` there: the program of Weir.
    ///
    /// # Errors
    /// One cannot be reached, or Weir does not run there; the text names it.
    pub(crate) fn connect(hosts: &lab::Hosts, own: &Path, stop: Stop<'_>) -> Result<Self, String> {
        let mut known: Vec<(&lab::Host, Arc<Host>)> = Vec::new();
        let config = hosts.ssh_config.as_deref();
        for host in std::iter::once(&hosts.balancer).chain(&hosts.servers) {
            if stop() {
                return Err("stopped while machines were connected".to_owned());
            }
            if !known.iter().any(|(other, _)| *other == host) {
                let connected = Host::connect(host, config, own);
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
    fn connect(host: &lab::Host, config: Option<&Path>, own: &Path) -> Result<Self, String> {
        let mut link = Link::open(&host.destination, config, own)?;
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

    pub(crate) fn watch(&self, every: Duration, balancer: Vec<u32>, servers: Vec<u32>) -> Result<(), String> {
        let every_ms = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
        self.ask(&Ask::Watch { every_ms, balancer, servers })
    }

    /// What monitors saw since [`Self::watch`].
    pub(crate) fn seen(&self) -> Result<Vec<Sample>, String> {
        let seen: Vec<Seen> = self.ask(&Ask::Seen)?;
        Ok(seen.into_iter().filter_map(Seen::sample).collect())
    }
}

/// What the other machine's shell does: puts the first bytes that come into a file of its own, starts that, and takes it away when it
/// has ended. In quotes that every login shell understands.
fn script(program_bytes: u64) -> String {
    format!(
        "exec sh -c 'd=$(mktemp -d \"${{TMPDIR:-/tmp}}/weir-lab-program-XXXXXX\") || exit 1; trap \"rm -rf \\\"$d\\\"\" EXIT; \
         trap \"exit 1\" HUP INT TERM; head -c {program_bytes} >\"$d/weir\" && chmod 755 \"$d/weir\" && \"$d/weir\" lab agent'"
    )
}

impl Link {
    fn open(destination: &str, config: Option<&Path>, own: &Path) -> Result<Self, String> {
        let failed = |what: &'static str| move |cause: io::Error| format!("{what}: {cause}");
        let mut program = File::open(own).map_err(failed("the program of Weir"))?;
        let size = program.metadata().map_err(failed("the program of Weir"))?.len();
        let complaints = tempfile::tempfile().map_err(failed("a temporary file"))?;
        let mut command = Command::new("ssh");
        // Nobody is there to be asked, and a machine that has gone is noticed within seconds.
        for option in ["BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=5", "ServerAliveCountMax=3"]
        {
            command.args(["-o", option]);
        }
        if let Some(config) = config {
            command.arg("-F").arg(config);
        }
        command.args(["-T", "--", destination, &script(size)]);
        let stderr = complaints.try_clone().map_err(failed("a temporary file"))?;
        // A group of its own: Ctrl-C in the terminal is for the lab, which ends the others in order.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
        let mut ssh = command.spawn().map_err(failed("ssh"))?;
        let (Some(mut input), Some(output)) = (ssh.stdin.take(), ssh.stdout.take()) else {
            return Err("ssh: has no pipes".to_owned());
        };
        let copied = io::copy(&mut program, &mut input);
        let link = Self { ssh, input: Some(input), output: BufReader::new(output), complaints };
        match copied {
            Ok(bytes) if bytes == size => Ok(link),
            Ok(_) => Err("the program of Weir has changed meanwhile".to_owned()),
            Err(cause) => Err(link.lost(&cause.to_string())),
        }
    }

    /// What the agent says first. Logins may greet before.
    fn greeting(&mut self) -> Result<Hello, String> {
        for _ in 0..GREETINGS_MAX {
            if let Ok(hello) = serde_json::from_str(&self.line()?) {
                return Ok(hello);
            }
        }
        Err("Weir does not start there: its login says too much".to_owned())
    }

    fn exchange(&mut self, ask: &Ask) -> Result<Answer, String> {
        let text = serde_json::to_string(ask).map_err(|cause| cause.to_string())?;
        let written = match &mut self.input {
            Some(input) => input.write_all(format!("{text}\n").as_bytes()).and_then(|()| input.flush()),
            None => return Err("is being left".to_owned()),
        };
        written.map_err(|cause| self.lost(&cause.to_string()))?;
        let line = self.line()?;
        serde_json::from_str(&line).map_err(|cause| format!("{cause}: {line}"))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        if self.output.buffer().is_empty() {
            let mut awaited = [PollFd::new(self.output.get_ref(), PollFlags::IN)];
            let until = Timespec { tv_sec: SILENCE_MAX_S, tv_nsec: 0 };
            if poll(&mut awaited, Some(&until)) == Ok(0) {
                self.input = None;
                return Err(self.lost(&format!("no answer within {SILENCE_MAX_S} s")));
            }
        }
        match self.output.read_line(&mut line) {
            Ok(0) => Err(self.lost("the connection has ended")),
            Ok(_) => Ok(line),
            Err(cause) => Err(self.lost(&cause.to_string())),
        }
    }

    /// With what ssh, or the other machine's shell, has said of it.
    fn lost(&self, cause: &str) -> String {
        let mut said = vec![0; 4096];
        let length = self.complaints.metadata().map_or(0, |metadata| metadata.len());
        let from = length.saturating_sub(said.len() as u64);
        let filled = self.complaints.read_at(&mut said, from).unwrap_or(0);
        let said = String::from_utf8_lossy(&said[..filled]).trim().to_owned();
        if said.is_empty() { cause.to_owned() } else { said }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The agent sees the end of it, and ends.
        self.input = None;
        let until = Instant::now() + END_MAX;
        while let Ok(None) = self.ssh.try_wait() {
            if Instant::now() > until {
                let _ = self.ssh.kill();
                let _ = self.ssh.wait();
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(destination: &str) -> lab::Hosts {
        let host = |destination: &str| lab::Host { destination: destination.to_owned(), address: None };
        // Nothing of the user's, and nobody's name.
        lab::Hosts {
            balancer: host(destination),
            servers: vec![host(destination)],
            ssh_config: Some("/dev/null".into()),
        }
    }

    #[test]
    fn a_machine_that_cannot_be_reached_is_named_with_what_ssh_says() {
        let own = std::env::current_exe().unwrap();
        let said = Hosts::connect(&hosts("nobody@no-such-machine.invalid"), &own, &|| false).unwrap_err();
        assert!(said.starts_with("nobody@no-such-machine.invalid: "), "{said}");
        assert!(said.contains(": ssh: "), "{said}");
    }

    #[test]
    fn the_script_is_one_that_a_shell_takes_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let program = b"#!/bin/sh\necho \"$0 $1 $2\"; cat\n";
        let mut shell = Command::new("sh")
            .args(["-c", &script(program.len() as u64)])
            .env("TMPDIR", directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        input.write_all(program).unwrap();
        input.write_all(b"a question\n").unwrap();
        drop(input);
        let output = shell.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        assert!(output.status.success() && lines[0].ends_with("/weir lab agent"), "{said}");
        assert_eq!(lines[1], "a question");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "the program is gone");
    }
}
