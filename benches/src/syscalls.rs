//! System calls of a balancer per request, counted by strace.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde::Serialize;

use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::process::Process;
use crate::rivals::Balancer;
use crate::workshop::Workshop;
use crate::wrk::Load;

/// Result of one turn.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    pub(crate) per_request: f64,
    /// Most frequent calls, with their number per request.
    pub(crate) most: Vec<(String, f64)>,
}

/// Counts a balancer's system calls while a closed loop keeps it busy.
pub(crate) fn measure(workshop: &Workshop, balancer: &Balancer, load: &Load) -> Result<Sample> {
    let counts = workshop.path("strace.txt");
    let log = workshop.path("strace.log");
    let mut strace = Command::new("strace");
    strace.args(["-c", "-f", "-o"]).arg(&counts);
    for pid in cpu::family(balancer.process.pid()) {
        strace.args(["-p", &pid.to_string()]);
    }
    let mut strace = Process::start("strace", &mut strace, None, &log)?;
    // strace prints this when it is attached. Earlier calls would be missed.
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while !std::fs::read_to_string(&log).unwrap_or_default().contains("attached") {
        if std::time::Instant::now() > deadline {
            return Err(Error::new("strace did not attach"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let report = load.run()?;
    strace.signal(Signal::INT);
    if !strace.wait(Duration::from_secs(10)) {
        return Err(Error::new("strace does not end"));
    }
    let text = std::fs::read_to_string(&counts).context(counts.display())?;
    let calls = parse(&text);
    let requests = report.requests as f64;
    let total: u64 = calls.iter().map(|(_, count)| count).sum();
    if total == 0 {
        return Err(Error::new(format!("strace counted nothing:\n{text}")));
    }
    let most = calls.into_iter().take(6).map(|(name, count)| (name, count as f64 / requests)).collect();
    Ok(Sample { per_request: total as f64 / requests, most })
}

/// Reads the table of `strace -c`: names and numbers of calls, the most frequent first.
pub(crate) fn parse(table: &str) -> Vec<(String, u64)> {
    let rows = table.lines().filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        // % time, seconds, usecs/call, calls, [errors], syscall
        let (&name, calls) = (fields.last()?, fields.get(3)?.parse().ok()?);
        let row = matches!(fields.len(), 5 | 6) && name != "total" && fields[0].parse::<f64>().is_ok();
        row.then(|| (name.to_owned(), calls))
    });
    let mut calls: Vec<_> = rows.collect();
    calls.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_with_and_without_errors_and_without_its_total() {
        let table = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.01    0.500000           5    100000           sendto
 39.99    0.300000           3    120000     20000 recvfrom
------ ----------- ----------- --------- --------- ----------------
100.00    0.800000           3    220000     20000 total
";
        assert_eq!(parse(table), [("recvfrom".to_owned(), 120_000), ("sendto".to_owned(), 100_000)]);
    }
}
