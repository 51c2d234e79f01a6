//! The agent on another machine, which executes the lab's requests until the connection ends.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use weir_config::lab::{Product, Topology, Watched};

use super::super::monitor::Monitor;
use super::super::rivals::{self, in_path};
use super::super::stage::{Ledger, Network, Place, Process, answers, fresh};
use super::super::{identity, machine, play, servers};
use super::words::{Answer, Ask, Hello, Seen, Start};
use crate::engine::raise_descriptor_limit;

/// Serves one lab that sends requests over `input`, until the input ends. Then ends and removes everything
/// that was started here.
///
/// # Errors
/// If the agent cannot begin, or cannot respond.
pub fn serve(own: &Path, input: impl BufRead, mut output: impl Write) -> Result<(), String> {
    raise_descriptor_limit();
    let ledgers = Ledger::directory();
    // Removes the remains of killed agents.
    Ledger::clean(&ledgers);
    let mut ledger =
        Ledger::open(&ledgers).map_err(|cause| format!("a ledger in {}: {cause}", ledgers.display()))?;
    let directory = play::work_directory(&mut ledger)?;
    let network = Network::make(Topology::Loopback, 1, &mut ledger)?;
    let hello = Hello {
        directory: directory.path().to_owned(),
        program: own.to_owned(),
        // "client port server port" (ssh(1)).
        address: std::env::var("SSH_CONNECTION")
            .ok()
            .and_then(|text| text.split(' ').nth(2).map(str::to_owned)),
    };
    let mut say = |text: Result<String, serde_json::Error>| -> Result<(), String> {
        let text = text.map_err(|cause| cause.to_string())?;
        let said = output.write_all(format!("{text}\n").as_bytes()).and_then(|()| output.flush());
        said.map_err(|cause| format!("standard output: {cause}"))
    };
    say(serde_json::to_string(&hello))?;
    // Processes are dropped before the ledger that records them.
    let mut agent = Agent { own, network, ledger, processes: BTreeMap::new(), monitor: None };
    for line in input.lines() {
        let line = line.map_err(|cause| format!("standard input: {cause}"))?;
        let answer = match serde_json::from_str(&line) {
            Ok(ask) => agent.answer(ask).map_or_else(Answer::Failed, Answer::Done),
            Err(cause) => Answer::Failed(format!("a question: {cause}")),
        };
        say(serde_json::to_string(&answer))?;
    }
    agent.processes.clear();
    Ok(())
}

struct Agent<'a> {
    own: &'a Path,
    network: Network,
    ledger: Ledger,
    /// Processes by the id of their group's leader.
    processes: BTreeMap<u32, Process>,
    monitor: Option<Monitor>,
}

impl Agent<'_> {
    fn answer(&mut self, ask: Ask) -> Result<Value, String> {
        match ask {
            Ask::Fresh { path } => drop(fresh(&path)?),
            Ask::Write { path, text } => std::fs::write(&path, text).map_err(at(&path))?,
            Ask::Files { directory, sizes } => {
                servers::make_files(&directory, &sizes).map_err(at(&directory))?
            }
            Ask::FreePort { address } => {
                return Ok(json!(free_port(address).map_err(|cause| format!("{address}: {cause}"))?));
            }
            Ask::Listen { address } => drop(TcpListener::bind(address).map_err(|cause| cause.to_string())?),
            Ask::Find { product, named } => {
                let product = Product::ALL.into_iter().find(|known| known.name() == product);
                let product = product.ok_or("a product that this Weir does not know")?;
                let program = rivals::find(product, named.as_deref(), self.own)?;
                return Ok(json!([program.path, program.version]));
            }
            Ask::Checksum { program } => {
                let program = found(&program)?;
                return Ok(json!(identity::checksum(&program).map_err(at(&program))?));
            }
            Ask::Start(start) => return self.start(&start).map(|pid| json!(pid)),
            Ask::Ended { process } => return Ok(json!(self.process(process)?.ended())),
            Ask::LastWords { process } => return Ok(json!(self.process(process)?.last_words())),
            Ask::Members { process } => return Ok(json!(self.process(process)?.members())),
            Ask::Signal { process, signal } => {
                let known = [Signal::HUP, Signal::USR1, Signal::USR2];
                let signal = known.into_iter().find(|known| known.as_raw() == signal);
                self.process(process)?.signal(signal.ok_or("a signal that is not meant for balancers")?);
            }
            Ask::End { process } => drop(self.processes.remove(&process)),
            Ask::Answers { address, path } => return Ok(json!(answers(address, path.as_deref(), &|| false))),
            Ask::Watch { every_ms, further, balancer, servers } => {
                let of =
                    |name: &String| Watched::of(name).ok_or_else(|| format!("there is no monitor {name}"));
                let further = further.iter().map(of).collect::<Result<_, _>>()?;
                let monitor = Monitor::start(Duration::from_millis(every_ms), further, balancer, servers);
                self.monitor = Some(monitor.map_err(|cause| format!("monitors: {cause}"))?);
            }
            Ask::Seen => {
                let seen = self.monitor.take().ok_or("nothing is watched")?.finish()?;
                return Ok(json!(seen.into_iter().map(Seen::from).collect::<Vec<_>>()));
            }
            Ask::Calibrate => return Ok(json!(machine::calibrate())),
            Ask::Facts => return Ok(json!(machine::lasting())),
        }
        Ok(Value::Null)
    }

    fn process(&mut self, pid: u32) -> Result<&mut Process, String> {
        self.processes.get_mut(&pid).ok_or_else(|| format!("no process {pid} was started"))
    }

    fn start(&mut self, start: &Start) -> Result<u32, String> {
        let program = found(Path::new(&start.program)).map_err(|cause| format!("{}: {cause}", start.name))?;
        let mut command = Command::new(program);
        command.args(&start.arguments).current_dir(&start.directory);
        command.envs(start.environment.iter().map(|(name, value)| (name, value)));
        let place = (&self.network, Place::Balancer);
        let process = Process::start(&start.name, command, &start.directory, place, &mut self.ledger)?;
        let pid = process.pid();
        self.processes.insert(pid, process);
        Ok(pid)
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> String + '_ {
    move |cause| format!("{}: {cause}", path.display())
}

/// Returns the path of a program that may be given as a name.
fn found(program: &Path) -> Result<PathBuf, String> {
    match program.to_str().filter(|name| !name.contains('/')) {
        None => Ok(program.to_owned()),
        Some(name) => in_path(&[name])
            .ok_or_else(|| format!("there is no program {name} in PATH or the usual directories")),
    }
}

fn free_port(address: SocketAddr) -> io::Result<u16> {
    Ok(TcpListener::bind(address)?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers_to(asks: &[Ask]) -> Vec<Value> {
        let lines: String = asks.iter().map(|ask| serde_json::to_string(ask).unwrap() + "\n").collect();
        let mut said = Vec::new();
        serve(Path::new("/usr/bin/weir"), lines.as_bytes(), &mut said).unwrap();
        String::from_utf8(said).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn what_was_started_ends_when_nobody_asks_any_more_and_its_files_go() {
        let hello = &answers_to(&[])[0];
        let directory = PathBuf::from(hello["directory"].as_str().unwrap());
        assert!(!directory.exists(), "of an agent that is over");
        let own = tempfile::tempdir().unwrap();
        let start = Start {
            name: "sleeper".to_owned(),
            program: "sleep".to_owned(),
            arguments: vec!["600".to_owned()],
            environment: Vec::new(),
            directory: own.path().to_owned(),
        };
        let said = answers_to(&[Ask::Start(start)]);
        let pid = said[1]["done"].as_u64().unwrap();
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn what_cannot_be_done_is_said_and_the_next_question_answered() {
        let said = answers_to(&[
            Ask::Find { product: "nonsense".to_owned(), named: None },
            Ask::Find { product: "nginx".to_owned(), named: Some("/no/such/nginx".into()) },
            Ask::Checksum { program: "no-such-program".into() },
            Ask::Ended { process: 1 },
            Ask::Seen,
            Ask::FreePort { address: "127.0.0.1:0".parse().unwrap() },
        ]);
        let failed = |at: usize| said[at]["failed"].as_str().unwrap();
        assert!(failed(1).contains("does not know") && failed(2).contains("/no/such/nginx"), "{said:?}");
        assert!(failed(3).contains("no-such-program") && failed(4).contains("no process 1"), "{said:?}");
        assert_eq!(failed(5), "nothing is watched");
        assert!(said[6]["done"].as_u64().unwrap() > 0);
    }
}
