//! Comparison of Weir's load generator with others: CPU per request at full speed, and accuracy of a rate.
//! The figures come from the server and the kernel, not from the generators.

mod kept;
mod report;
mod server;
mod tools;

use std::process::Command;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::awake::Awake;
use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::machine::{self, Machine};
use crate::options::Generators;
use crate::process::{Cores, Process};
use crate::results;
use crate::rivals::nginx_programs;
use crate::syscalls;
use crate::workshop::{Workshop, free_addresses};
use kept::Kept;
use server::{SETTLING, Server};
use tools::{Task, Tool, Tools};

/// All results.
#[derive(Debug, Serialize)]
struct Results {
    machine: Machine,
    started_s: u64,
    parts: Vec<Part>,
    /// System calls per request at full speed, by name.
    syscalls: Vec<(Tool, Vec<(String, f64)>)>,
    long: Option<Long>,
}

/// All turns of one task.
#[derive(Debug, Serialize)]
struct Part {
    name: String,
    /// Generator whose CPU per request Weir must not exceed.
    no_more_than: Option<Tool>,
    samples: Vec<Sample>,
    failures: Vec<(Tool, String)>,
}

/// Result of one turn.
#[derive(Debug, Serialize)]
struct Sample {
    tool: Tool,
    /// Number of the turn; samples of the same turn are compared with each other.
    turn: usize,
    cpu_us_per_request: f64,
    requests_per_s: f64,
    /// Accuracy, for tasks with a rate.
    kept: Option<Kept>,
}

/// Result of a longer run of Weir's generator at one rate.
#[derive(Debug, Serialize)]
struct Long {
    rate_per_s: u32,
    seconds: u64,
    kept: Kept,
    /// Weir's own verdict about the run.
    is_valid: bool,
}

/// Server that receives the requests.
enum Target<'s> {
    Own(&'s Server),
    /// NGINX, for HTTP/2; it counts its requests itself.
    Nginx {
        address: String,
        status: String,
    },
}

/// Concurrent requests on each HTTP/2 connection, and number of connections.
const STREAMS: u32 = 8;
const HTTP2_CONNECTIONS: u32 = 8;
/// Rate of requests with a connection each. Every connection uses a port, so the kernel limits this rate in
/// the long run.
const RATE_OF_CONNECTIONS: u32 = 2_000;

/// Runs `generators`. Returns whether all requirements were met.
pub(crate) fn run(options: &Generators) -> Result<bool> {
    machine::prepare(4_096)?;
    let workshop = Workshop::open()?;
    let tools = Tools::find(&options.only)?;
    let _awake = Awake::keep(&workshop)?;
    let machine = Machine::look();
    let server = Server::start()?;
    let own = Target::Own(&server);
    let seconds = options.seconds.max(1);
    let bench = Bench { options, tools: &tools, workshop: &workshop };
    let mut parts = Vec::new();

    let full = Task::FullSpeed { connections: options.connections, seconds };
    parts.push(Part { no_more_than: Some(Tool::Wrk), ..bench.part("full speed", full, &own)? });
    let (_nginx, http2) = start_nginx(&workshop)?;
    let task = Task::FullSpeedHttp2 { connections: HTTP2_CONNECTIONS, streams: STREAMS, seconds };
    parts.push(bench.part("full speed over HTTP/2", task, &http2)?);
    for per_s in options.rates.iter().copied() {
        parts.push(bench.part(&format!("{per_s}/s"), Task::Rate { per_s, seconds }, &own)?);
    }
    let task = Task::RateOfConnections { per_s: RATE_OF_CONNECTIONS, seconds };
    parts.push(bench.part(&format!("{RATE_OF_CONNECTIONS}/s, a connection each"), task, &own)?);

    let mut counted = Vec::new();
    for tool in [Tool::Weir, Tool::Wrk].into_iter().filter(|tool| tools.able(full).contains(tool)) {
        counted.push((tool, bench.syscalls(tool, &server)?));
    }
    let long = match options.rates.iter().max() {
        Some(per_s) => Some(bench.long(*per_s, &server)?),
        None => None,
    };
    let results = Results { machine, started_s: results::now_s(), parts, syscalls: counted, long };
    println!("{}", report::tables(&results));
    let path = results::save(&results, options.json.as_deref(), results.started_s)?;
    eprintln!("every sample: {}", path.display());
    Ok(report::is_kept(&results))
}

/// Data that all turns share.
struct Bench<'b> {
    options: &'b Generators,
    tools: &'b Tools,
    workshop: &'b Workshop,
}

impl Bench<'_> {
    /// Runs all generators that can do the task, in turns; another one begins each round.
    fn part(&self, name: &str, task: Task, target: &Target<'_>) -> Result<Part> {
        let able = self.tools.able(task);
        let mut part =
            Part { name: name.to_owned(), no_more_than: None, samples: Vec::new(), failures: Vec::new() };
        for turn in 0..self.options.repeats.max(1) {
            for at in 0..able.len() {
                let tool = able[(at + turn) % able.len()];
                if part.failures.iter().filter(|(other, _)| *other == tool).count() >= 2 {
                    continue;
                }
                match self.turn(tool, turn, task, target) {
                    Ok(sample) => {
                        eprintln!("{name}, turn {}, {}: {}", turn + 1, tool.name(), report::brief(&sample));
                        part.samples.push(sample);
                    }
                    Err(error) => {
                        eprintln!("{name}, turn {}, {}: {error}", turn + 1, tool.name());
                        part.failures.push((tool, error.to_string()));
                    }
                }
            }
        }
        Ok(part)
    }

    fn turn(&self, tool: Tool, turn: usize, task: Task, target: &Target<'_>) -> Result<Sample> {
        let command = self.tools.command(tool, task, &target.address(), self.workshop)?;
        let rate = match task {
            Task::Rate { per_s, seconds } | Task::RateOfConnections { per_s, seconds } => {
                Some((per_s, seconds))
            }
            _ => None,
        };
        let _first = match (target, rate) {
            (Target::Own(server), Some(_)) => Some(server.note_arrivals()?),
            _ => None,
        };
        let (before, since) = (target.requests()?, Instant::now());
        let spent = finish(tool, command)?.cpu;
        let elapsed = since.elapsed();
        std::thread::sleep(SETTLING);
        // NGINX also counts the request that asks for the count.
        let questions = u64::from(matches!(target, Target::Nginx { .. }));
        let requests = (target.requests()? - before).saturating_sub(questions);
        let kept = match (target, rate) {
            (Target::Own(server), Some((per_s, seconds))) => {
                Some(Kept::of(&mut server.arrivals(), f64::from(per_s), u64::from(per_s) * seconds))
            }
            _ => None,
        };
        if requests == 0 {
            return Err(Error::new("it sent nothing"));
        }
        Ok(Sample {
            tool,
            turn,
            cpu_us_per_request: spent.as_secs_f64() * 1e6 / requests as f64,
            requests_per_s: requests as f64 / elapsed.as_secs_f64(),
            kept,
        })
    }

    /// Returns the system calls per request at full speed, the most frequent first.
    fn syscalls(&self, tool: Tool, server: &Server) -> Result<Vec<(String, f64)>> {
        let task = Task::FullSpeed { connections: self.options.connections, seconds: 2 };
        let target = Target::Own(server);
        let traced = self.tools.command(tool, task, &target.address(), self.workshop)?;
        let counts = self.workshop.path("generator-calls.txt");
        let mut command = Command::new("strace");
        command.args(["-c", "-f", "-o"]).arg(&counts).arg(traced.get_program()).args(traced.get_args());
        let before = server.requests();
        finish(tool, command)?;
        std::thread::sleep(SETTLING);
        let requests = (server.requests() - before).max(1) as f64;
        let text = std::fs::read_to_string(&counts).context(counts.display())?;
        let calls = syscalls::parse(&text).into_iter().take(5);
        Ok(calls.map(|(name, count)| (name, count as f64 / requests)).collect())
    }

    fn long(&self, rate_per_s: u32, server: &Server) -> Result<Long> {
        let seconds = self.options.long_seconds.max(1);
        let task = Task::Rate { per_s: rate_per_s, seconds };
        let command = self.tools.command(Tool::Weir, task, &server.address.to_string(), self.workshop)?;
        let _first = server.note_arrivals()?;
        let ended = finish(Tool::Weir, command)?;
        std::thread::sleep(SETTLING);
        let kept = Kept::of(&mut server.arrivals(), f64::from(rate_per_s), u64::from(rate_per_s) * seconds);
        Ok(Long { rate_per_s, seconds, kept, is_valid: ended.is_success })
    }
}

impl Target<'_> {
    fn address(&self) -> String {
        match self {
            Self::Own(server) => server.address.to_string(),
            Self::Nginx { address, .. } => address.clone(),
        }
    }

    /// Returns the number of requests so far.
    fn requests(&self) -> Result<u64> {
        match self {
            Self::Own(server) => Ok(server.requests()),
            Self::Nginx { status, .. } => nginx_requests(status),
        }
    }
}

/// End of a generator's run.
struct Ended {
    cpu: Duration,
    is_success: bool,
}

/// Runs a generator to its end, on its own core.
fn finish(tool: Tool, mut command: Command) -> Result<Ended> {
    let before = cpu::cpu_time_of_ended_children();
    let output = command.output().context(tool.name())?;
    let cpu = cpu::cpu_time_of_ended_children().saturating_sub(before);
    let is_success = output.status.success();
    // At full speed the generator itself is the limit, and Weir's then reports that the run is invalid.
    if !is_success && (tool != Tool::Weir || output.status.code() != Some(1)) {
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8_lossy(&said);
        let end = said.char_indices().nth(400).map_or(said.len(), |(at, _)| at);
        return Err(Error::new(format!("{}: {}", output.status, said[..end].trim())));
    }
    Ok(Ended { cpu, is_success })
}

/// Starts NGINX on the load's core, with HTTP/2 without TLS.
fn start_nginx(workshop: &Workshop) -> Result<(Process, Target<'static>)> {
    let program = nginx_programs().into_iter().next().ok_or_else(|| Error::new("no NGINX"))?;
    let [http2, status] = free_addresses()?;
    let body = "x".repeat(1024);
    let config = format!(
        "daemon off;
worker_processes 1;
user root;
pid http2.pid;
error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  client_body_temp_path http2-body;
  proxy_temp_path http2-proxy;
  server {{ listen {http2} http2 backlog=16384; location / {{ return 200 \"{body}\"; }} }}
  server {{ listen {status}; location / {{ stub_status; }} location = /health {{ return 200; }} }}
}}
"
    );
    let config = workshop.write("http2.conf", &config)?;
    let log = workshop.path("http2.log");
    let mut command = Cores::Load.command(&program);
    command.arg("-p").arg(workshop.path("")).arg("-e").arg("stderr").arg("-c").arg(config);
    let mut process = Process::start("NGINX", &mut command, None, &log)?;
    process.wait_ready(status, false, &log)?;
    Ok((process, Target::Nginx { address: http2.to_string(), status: format!("http://{status}/") }))
}

/// Reads the number of requests: the third number of the third line of NGINX's ngx_http_stub_status_module.
fn nginx_requests(status: &str) -> Result<u64> {
    let output = Command::new("curl").args(["--silent", "--fail", status]).output().context("curl")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.lines().nth(2).and_then(|line| line.split_whitespace().nth(2)?.parse().ok());
    number.ok_or_else(|| Error::new(format!("NGINX does not say how many requests it had: {text}")))
}
