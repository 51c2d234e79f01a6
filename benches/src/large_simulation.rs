//! Simulation of ten thousand servers and ten million requests on one core: time and memory, compared with a
//! tenth of the requests. It serves to plan fleets that no test machine can hold.

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::rivals::Contestant;

const SERVERS: u32 = 10_000;
const REQUESTS: [u32; 2] = [1_000_000, 10_000_000];
/// Algorithms, with the load if it differs from the default. With keys, some servers get several times the
/// load of others. At a higher load such a server is overloaded, its queue grows with the requests, and the
/// memory with it.
const ALGORITHMS: [(&str, Option<&str>); 4] =
    [("round-robin", None), ("least-connections", None), ("peak-ewma", None), ("rendezvous", Some("0.15"))];
/// Limit of the simulation's time ("in minutes").
const TIME_MAX: Duration = Duration::from_secs(5 * 60);
/// Limit of the memory's growth from a tenth of the requests.
const GROWTH_MAX: f64 = 1.1;

struct Run {
    took: Duration,
    memory_bytes: u64,
}

/// Prints a table. Returns whether time and memory are within their limits.
pub(crate) fn run(contestant: &Contestant) -> Result<bool> {
    let mut table = format!(
        "\n## {SERVERS} servers simulated\n\nOne thread, one seed.\n\n| algorithm | {} requests | {} requests | memory | |\n|---|---|---|---|---|\n",
        REQUESTS[0], REQUESTS[1]
    );
    let mut is_kept = true;
    for (algorithm, load) in ALGORITHMS {
        let run = |requests| simulate(contestant, algorithm, load, requests);
        let [few, many] = [run(REQUESTS[0])?, run(REQUESTS[1])?];
        let growth = many.memory_bytes as f64 / few.memory_bytes.max(1) as f64;
        let kept = many.took <= TIME_MAX && growth <= GROWTH_MAX;
        is_kept &= kept;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let row = format!(
            "| {algorithm} | {:.1} s | {:.1} s | {:.1} -> {:.1} MiB | {} |",
            few.took.as_secs_f64(),
            many.took.as_secs_f64(),
            mib(few.memory_bytes),
            mib(many.memory_bytes),
            if kept { "kept" } else { "**missed**" }
        );
        eprintln!("{row}");
        let _ = writeln!(table, "{row}");
    }
    println!("{table}");
    Ok(is_kept)
}

fn simulate(contestant: &Contestant, algorithm: &str, load: Option<&str>, requests: u32) -> Result<Run> {
    let mut command = Command::new(&contestant.program);
    command.arg("simulate").args(["--servers", &SERVERS.to_string(), "--concurrency", "4"]);
    command.args(["--requests", &requests.to_string(), "--algorithms", algorithm]);
    command.args(["--seeds", "1", "--threads", "1", "--json"]).stdin(Stdio::null()).stdout(Stdio::null());
    if let Some(load) = load {
        command.args(["--load", load]);
    }
    let started = Instant::now();
    let mut child = command.spawn().context("weir simulate")?;
    let memory_bytes = largest_memory(&mut child)?;
    Ok(Run { took: started.elapsed(), memory_bytes })
}

/// Returns the peak memory of a process until its end, sampled ten times a second.
fn largest_memory(child: &mut Child) -> Result<u64> {
    let mut largest = 0;
    loop {
        largest = largest.max(cpu::memory_bytes(child.id()));
        match child.try_wait().context("weir simulate")? {
            Some(status) if status.success() => return Ok(largest),
            Some(status) => return Err(Error::new(format!("weir simulate: {status}"))),
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}
