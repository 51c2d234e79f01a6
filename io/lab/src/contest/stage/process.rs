//! Programs of a scenario: started in their place, observed until they answer, and ended with all their child
//! processes.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::super::remote::{Host, Start};
use super::super::rivals::HOST;
use super::strangers::{MARK, group_members};
use super::{Ledger, Network, Place};

/// Running program, which ends with its whole process group when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    body: Body,
}

/// Location of the process.
#[derive(Debug)]
enum Body {
    Here { child: Child, log: PathBuf },
    There { host: Arc<Host>, pid: u32 },
}

/// Callback that returns true if the user wants to stop.
pub(crate) type Stop<'s> = &'s (dyn Fn() -> bool + Sync);

/// Maximum time of a start. Usually it takes a fraction of a second, but longer on a busy machine.
const START_MAX: Duration = Duration::from_secs(20);

impl Process {
    /// Starts the program, with its output in a file in `directory`.
    pub(crate) fn start(
        name: &str,
        mut command: Command,
        directory: &Path,
        (network, place): (&Network, Place),
        ledger: &mut Ledger,
    ) -> Result<Self, String> {
        if let Some(host) = network.host(place) {
            let pid = host.start(start_of(name, &command, directory))?;
            return Ok(Self { name: name.to_owned(), body: Body::There { host: Arc::clone(host), pid } });
        }
        let failed = |cause: std::io::Error| format!("{name}: {cause}");
        let log = directory.join("said.log");
        let file = File::create(&log).map_err(failed)?;
        let same = file.try_clone().map_err(failed)?;
        // A separate process group: Ctrl-C in the terminal must reach only the lab, which ends the others in
        // order.
        command.stdin(Stdio::null()).stdout(file).stderr(same).process_group(0);
        command.envs(ledger.work().map(|work| (MARK, work)));
        // Before the start, so that the ledger has a trace of it if the lab is killed before it records the
        // process.
        ledger.intend().map_err(failed)?;
        let child = network.within(place, || command.spawn()).and_then(|child| child).map_err(failed)?;
        let process = Self { name: name.to_owned(), body: Body::Here { child, log } };
        ledger.process(process.pid()).map_err(failed)?;
        Ok(process)
    }

    pub(crate) fn pid(&self) -> u32 {
        match &self.body {
            Body::Here { child, .. } => child.id(),
            Body::There { pid, .. } => *pid,
        }
    }

    /// Sends a signal to the process, but not to its children. If the process has ended, its clients notice
    /// it.
    pub(crate) fn signal(&self, signal: Signal) {
        match &self.body {
            Body::Here { .. } => {
                if let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process(pid, signal);
                }
            }
            Body::There { host, pid } => drop(host.signal(*pid, signal.as_raw())),
        }
    }

    /// Returns the ids of the process and of its group on their machine.
    pub(crate) fn members(&self) -> Vec<u32> {
        match &self.body {
            Body::Here { child, .. } => group_members(child.id()),
            Body::There { host, pid } => host.members(*pid).unwrap_or_default(),
        }
    }

    /// Returns how the process has ended; `None` = it runs.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match &mut self.body {
            Body::Here { child, .. } => child.try_wait().ok().flatten().map(|status| status.to_string()),
            Body::There { host, pid } => host.ended(*pid).unwrap_or_else(Some),
        }
    }

    /// Waits until the address accepts a connection. If `path` is given, also waits until a plain GET of it
    /// returns a status below 500. Returns early if the user stops the lab.
    pub(crate) fn wait_ready(
        &mut self,
        address: SocketAddr,
        path: Option<&str>,
        from: (&Network, Place),
        stop: Stop<'_>,
    ) -> Result<(), String> {
        let deadline = Instant::now() + START_MAX;
        let (network, place) = from;
        loop {
            if stop() {
                return Err(format!("{}: stopped while it was started", self.name));
            }
            if let Some(status) = self.ended() {
                return Err(format!("{} ended at once ({status}): {}", self.name, self.last_words()));
            }
            let is_answered = match network.host(place) {
                Some(host) => host.answers(address, path)?,
                None => network.within(place, || answers(address, path, stop)).unwrap_or(false),
            };
            if is_answered {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("{} does not answer on {address}: {}", self.name, self.last_words()));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the end of its output.
    pub(crate) fn last_words(&self) -> String {
        let log = match &self.body {
            Body::Here { log, .. } => log,
            Body::There { host, pid } => return host.last_words(*pid).unwrap_or_else(|cause| cause),
        };
        let said = std::fs::read(log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        let lines: Vec<&str> = said.trim().lines().collect();
        if lines.is_empty() {
            return "it has said nothing".to_owned();
        }
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        match &mut self.body {
            Body::Here { child, .. } => {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // The process may have ended by itself.
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
            }
            // If the connection is lost, the process has ended already.
            Body::There { host, pid } => drop(host.end(*pid)),
        }
    }
}

/// Converts a command to a request for another machine. Recipes contain only valid UTF-8.
fn start_of(name: &str, command: &Command, directory: &Path) -> Start {
    let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
    let set = |(name, value): (&std::ffi::OsStr, Option<&std::ffi::OsStr>)| Some((text(name), text(value?)));
    Start {
        name: name.to_owned(),
        program: text(command.get_program()),
        arguments: command.get_args().map(text).collect(),
        environment: command.get_envs().filter_map(set).collect(),
        directory: directory.to_owned(),
    }
}

/// Maximum time of a response. Servers of a scenario may delay it.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Interval at which a stop by the user is checked.
const LOOK: Duration = Duration::from_millis(100);

/// Returns true if the address accepts a connection and, if `path` is given, a plain GET of it returns a
/// status below 500.
pub(crate) fn answers(address: SocketAddr, path: Option<&str>, stop: Stop<'_>) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        let Some(path) = path else { return Ok(true) };
        stream.set_read_timeout(Some(LOOK))?;
        // In one write, because a second one would wait for the acknowledgement of the first.
        stream.write_all(
            format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n").as_bytes(),
        )?;
        let (mut answer, mut filled) = ([0; 10], 0);
        let deadline = Instant::now() + ANSWER_MAX;
        while filled < answer.len() {
            match stream.read(&mut answer[filled..]) {
                Ok(0) => return Ok(false),
                Ok(bytes) => filled += bytes,
                Err(cause) if cause.kind() != ErrorKind::WouldBlock => return Err(cause),
                Err(_) if stop() || Instant::now() > deadline => return Ok(false),
                Err(_) => {}
            }
        }
        Ok(answer.starts_with(b"HTTP/1.1 ") && answer[9] < b'5')
    };
    ask().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use weir_config::lab::Topology;

    use super::*;

    #[test]
    fn a_program_that_never_answers_is_not_waited_for_when_the_user_wants_an_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(directory.path()).unwrap();
        let network = Network::make(Topology::Loopback, 1, &mut ledger).unwrap();
        // A server that accepts connections and sends nothing.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut command = Command::new("sleep");
        command.arg("600");
        let at = (&network, Place::Balancer);
        let mut process = Process::start("sleep", command, directory.path(), at, &mut ledger).unwrap();
        let begun = Instant::now();
        let wants_an_end = move || begun.elapsed() > Duration::from_millis(150);
        let said =
            process.wait_ready(silent.local_addr().unwrap(), Some("/"), at, &wants_an_end).unwrap_err();
        assert_eq!(said, "sleep: stopped while it was started");
        assert!(begun.elapsed() < ANSWER_MAX);
    }
}
