//! Programs under measurement. Each is started on its own core, watched until it responds, and ended with all
//! its descendants.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cpu;
use crate::error::{Context, Error, Result};

/// Core that only the balancers use.
pub(crate) const BALANCER_CORE: usize = 0;

/// Cores on which a program may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// The balancer's core.
    Balancer,
    /// The core of the origin and the load generator.
    Load,
    /// Both.
    All,
}

impl Cores {
    /// Returns the list in taskset's syntax. Two cores suffice; others would stay idle.
    fn list(self) -> &'static str {
        match self {
            Self::Balancer => "0",
            Self::Load => "1",
            Self::All => "0,1",
        }
    }

    /// Returns a command that runs `program` on these cores.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", self.list()]).arg(program);
        command
    }
}

/// A running program; ends when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Starts a program. Its messages go to the file `log`. Its output goes to `output`, which may be the
    /// same file, or is discarded.
    pub(crate) fn start(
        name: &str,
        command: &mut Command,
        output: Option<&Path>,
        log: &Path,
    ) -> Result<Self> {
        let create = |path: &Path| File::create(path).context(path.display());
        let file = create(log)?;
        let output = match output {
            // Uses one file for both, so that neither overwrites the other.
            Some(path) if path == log => Some(file.try_clone().context(path.display())?),
            Some(path) => Some(create(path)?),
            None => None,
        };
        let output = output.map_or_else(Stdio::null, Stdio::from);
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(file)
            .spawn()
            .context(format_args!("{name}: starting it"))?;
        Ok(Self { name: name.to_owned(), child })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until a plain HTTP GET of `/health` returns 200. For a `tls` listener, waits until it accepts a
    /// connection.
    pub(crate) fn wait_ready(&mut self, address: SocketAddr, tls: bool, log: &Path) -> Result<()> {
        let path = if tls { None } else { Some("/health") };
        self.wait_ready_at(address, path, Duration::from_secs(10), log)
    }

    /// Waits, at most for `patience`, until a plain HTTP GET of `path` returns 200 or, without a path, until
    /// a connection is accepted.
    pub(crate) fn wait_ready_at(
        &mut self,
        address: SocketAddr,
        path: Option<&str>,
        patience: Duration,
        log: &Path,
    ) -> Result<()> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().context(&self.name)? {
                return Err(Error::new(format!(
                    "{} ended at once ({status}): {}",
                    self.name,
                    last_words(log)
                )));
            }
            if path.map_or_else(|| TcpStream::connect(address).is_ok(), |path| healthy(address, path)) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let asked = path.unwrap_or_default();
                return Err(Error::new(format!(
                    "{} does not answer on {address}{asked}: {}",
                    self.name,
                    last_words(log)
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Waits for the end of the process. Returns false after `at_most`.
    pub(crate) fn wait(&mut self, at_most: Duration) -> bool {
        let deadline = Instant::now() + at_most;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Finds the descendants first, because they lose their parent when this process ends.
        let family = cpu::family(self.child.id());
        // Uses SIGKILL: after a SIGTERM, contestants would drain while the next turn waits for the core.
        // Kills parents first, because a master replaces a worker that dies.
        for member in family {
            send(member, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, signal);
    }
}

/// Returns the last 40 lines of a program's messages, because the stack trace of a Java program has hundreds.
fn last_words(log: &Path) -> String {
    let said = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = said.trim().lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

fn healthy(address: SocketAddr, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: bench.test\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        Ok(answer.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}
