//! Load generators and their command lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use crate::error::{Context, Error, Result};
use crate::process::Cores;
use crate::rivals::Contestant;
use crate::workshop::Workshop;

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Tool {
    Weir,
    Wrk,
    Ab,
    Httperf,
    H2load,
    Oha,
    K6,
    Vegeta,
    Wrk2,
}

/// Task of a generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Task {
    /// Full speed: each connection sends its next request when it has the response.
    FullSpeed { connections: u32, seconds: u64 },
    /// Full speed over HTTP/2, with this number of concurrent requests on each connection.
    FullSpeedHttp2 { connections: u32, streams: u32, seconds: u64 },
    /// This number of requests a second on kept connections.
    Rate { per_s: u32, seconds: u64 },
    /// This number of requests a second, each with its own connection.
    RateOfConnections { per_s: u32, seconds: u64 },
}

/// Installed generators with their paths.
#[derive(Debug)]
pub(super) struct Tools {
    found: Vec<(Tool, PathBuf)>,
}

/// Rough maximum of the other generators in requests a second. Generators that take no duration get a number
/// of requests instead.
const PER_S: u64 = 30_000;

impl Tool {
    const ALL: [Self; 9] = [
        Self::Weir,
        Self::Wrk,
        Self::Ab,
        Self::Httperf,
        Self::H2load,
        Self::Oha,
        Self::K6,
        Self::Vegeta,
        Self::Wrk2,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Weir => "weir",
            Self::Wrk => "wrk",
            Self::Ab => "ab",
            Self::Httperf => "httperf",
            Self::H2load => "h2load",
            Self::Oha => "oha",
            Self::K6 => "k6",
            Self::Vegeta => "vegeta",
            Self::Wrk2 => "wrk2",
        }
    }
}

impl Tools {
    /// Finds all installed generators. Weir's program is the one in the variable WEIR, or else the release
    /// build.
    pub(super) fn find(only: &[String]) -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let in_path =
            |name: &str| directories.iter().map(|directory| directory.join(name)).find(|path| path.is_file());
        let mut found = vec![(Tool::Weir, Contestant::weir()?.program().to_owned())];
        for tool in Tool::ALL.into_iter().filter(|tool| *tool != Tool::Weir) {
            if !only.is_empty() && !only.iter().any(|name| name == tool.name()) {
                continue;
            }
            match in_path(tool.name()) {
                Some(path) => found.push((tool, path)),
                None => eprintln!("{} is not here: left out", tool.name()),
            }
        }
        Ok(Self { found })
    }

    /// Returns the generators that can do the task.
    pub(super) fn able(&self, task: Task) -> Vec<Tool> {
        self.found
            .iter()
            .map(|(tool, _)| *tool)
            .filter(|tool| arguments(*tool, task, "", "").is_some())
            .collect()
    }

    /// Returns the command that runs the task, on the core of the measured programs.
    pub(super) fn command(
        &self,
        tool: Tool,
        task: Task,
        address: &str,
        workshop: &Workshop,
    ) -> Result<Command> {
        let program = self.found.iter().find(|(other, _)| *other == tool).map(|(_, path)| path);
        let program = program.ok_or_else(|| Error::new(format!("{} is not here", tool.name())))?;
        let script = workshop.path("k6.js");
        if tool == Tool::K6 {
            std::fs::write(&script, k6(task, address)).context(script.display())?;
        }
        let script = script.display().to_string();
        let arguments = arguments(tool, task, address, &script)
            .ok_or_else(|| Error::new(format!("{} cannot do that", tool.name())))?;
        // Vegeta reads its targets from a pipe.
        let program = if tool == Tool::Vegeta { Path::new("sh") } else { program.as_path() };
        let mut command = Cores::Balancer.command(program);
        command.args(arguments);
        Ok(command)
    }
}

/// Returns the arguments for the task; `None` if the generator cannot do it.
fn arguments(tool: Tool, task: Task, address: &str, script: &str) -> Option<Vec<String>> {
    let url = format!("http://{address}/");
    let (host, port) = address.split_once(':').unwrap_or((address, ""));
    let httperf =
        |options: &str| format!("--hog --server {host} --port {port} --uri / --timeout 20 {options}");
    let text = match (tool, task) {
        (Tool::Weir, Task::FullSpeed { connections, seconds }) => {
            format!("load --quiet --json --threads 1 -c {connections} -d {seconds}s {url}")
        }
        (Tool::Weir, Task::FullSpeedHttp2 { connections, streams, seconds }) => format!(
            "load --quiet --json --threads 1 --http2 -c {connections} --streams {streams} -d {seconds}s {url}"
        ),
        (Tool::Weir, Task::Rate { per_s, seconds }) => {
            format!("load --quiet --json --threads 1 --rate {per_s} -d {seconds}s {url}")
        }
        (Tool::Weir, Task::RateOfConnections { per_s, seconds }) => {
            format!("load --quiet --json --threads 1 --no-keep-alive --rate {per_s} -d {seconds}s {url}")
        }
        (Tool::Wrk, Task::FullSpeed { connections, seconds }) => {
            format!("--latency -t1 -c{connections} -d{seconds}s {url}")
        }
        (Tool::Ab, Task::FullSpeed { connections, seconds }) => {
            format!("-q -k -c {connections} -n {} {url}", PER_S * seconds)
        }
        (Tool::Httperf, Task::FullSpeed { connections, seconds }) => {
            let calls = PER_S * seconds / u64::from(connections);
            httperf(&format!("--num-conns {connections} --num-calls {calls} --rate 100000"))
        }
        (Tool::Httperf, Task::RateOfConnections { per_s, seconds }) => {
            httperf(&format!("--num-conns {} --num-calls 1 --rate {per_s}", u64::from(per_s) * seconds))
        }
        (Tool::H2load, Task::FullSpeed { connections, seconds }) => {
            format!("--h1 -t1 -c{connections} -D{seconds} {url}")
        }
        (Tool::H2load, Task::FullSpeedHttp2 { connections, streams, seconds }) => {
            format!("-t1 -c{connections} -m{streams} -D{seconds} {url}")
        }
        // Each client has its own rate, so there must be few clients.
        (Tool::H2load, Task::Rate { per_s, seconds }) => {
            format!("--h1 -t1 -c8 --rps={} -D{seconds} {url}", per_s / 8)
        }
        (Tool::Oha, Task::FullSpeed { connections, seconds }) => {
            format!("--no-tui -c {connections} -z {seconds}s {url}")
        }
        (Tool::Oha, Task::FullSpeedHttp2 { connections, streams, seconds }) => {
            format!("--no-tui --http2 -c {connections} -p {streams} -z {seconds}s {url}")
        }
        (Tool::Oha, Task::Rate { per_s, seconds }) => {
            format!("--no-tui -c 64 -q {per_s} -z {seconds}s {url}")
        }
        (Tool::K6, Task::FullSpeed { .. } | Task::Rate { .. }) => format!("run --quiet {script}"),
        (Tool::Vegeta, Task::Rate { per_s, seconds }) => {
            let attack = format!(
                "echo GET {url} | vegeta attack -rate {per_s} -duration {seconds}s -output /dev/null"
            );
            return Some(vec!["-c".to_owned(), attack]);
        }
        (Tool::Wrk2, Task::Rate { per_s, seconds }) => {
            format!("-t1 -c64 -d{seconds}s -R{per_s} {url}")
        }
        _ => return None,
    };
    Some(text.split_whitespace().map(str::to_owned).collect())
}

/// Returns a script for k6.
fn k6(task: Task, address: &str) -> String {
    let scenario = match task {
        Task::FullSpeed { connections, seconds } | Task::FullSpeedHttp2 { connections, seconds, .. } => {
            format!("executor: 'constant-vus', vus: {connections}, duration: '{seconds}s'")
        }
        Task::Rate { per_s, seconds } | Task::RateOfConnections { per_s, seconds } => format!(
            "executor: 'constant-arrival-rate', rate: {per_s}, timeUnit: '1s', duration: '{seconds}s', preAllocatedVUs: 200"
        ),
    };
    format!(
        "import http from 'k6/http';
export const options = {{ discardResponseBodies: true, scenarios: {{ load: {{ {scenario} }} }} }};
export default function () {{ http.get('http://{address}/'); }}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_asked_for_what_it_can_do() {
        let full = Task::FullSpeed { connections: 64, seconds: 3 };
        let rate = Task::Rate { per_s: 5_000, seconds: 3 };
        let said = |tool, task| arguments(tool, task, "a:1", "s.js").map(|words| words.join(" "));
        assert_eq!(said(Tool::Wrk, full).as_deref(), Some("--latency -t1 -c64 -d3s http://a:1/"));
        assert_eq!(said(Tool::Wrk, rate), None);
        assert_eq!(said(Tool::Ab, full).as_deref(), Some("-q -k -c 64 -n 90000 http://a:1/"));
        assert_eq!(said(Tool::H2load, rate).as_deref(), Some("--h1 -t1 -c8 --rps=625 -D3 http://a:1/"));
        assert!(said(Tool::Httperf, full).unwrap().contains("--num-conns 64 --num-calls 1406 --rate 100000"));
        assert!(k6(rate, "a:1").contains("rate: 5000, timeUnit: '1s', duration: '3s'"));
    }
}
