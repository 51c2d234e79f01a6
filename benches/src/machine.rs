//! The machine of a measurement, and its preparation.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Serialize;

use crate::error::{Context, Error, Result};
use crate::workshop::read_line;

/// Description of the machine.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
    pub(crate) system: String,
    /// Network settings in use, with the congestion control.
    pub(crate) network: String,
    /// Load average over the minute before the start. A high one means noise.
    pub(crate) load_before: f64,
}

impl Machine {
    pub(crate) fn look() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let after_colon = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
        let cpu = cpuinfo.lines().find(|line| line.starts_with("model name")).and_then(after_colon);
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let memory_kb =
            meminfo.lines().next().and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        let load = read_line("/proc/loadavg");
        Self {
            cpu: cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_gib: memory_kb.unwrap_or(0) / (1 << 20),
            kernel: format!("Linux {}", read_line("/proc/sys/kernel/osrelease")),
            system: pretty.unwrap_or("unknown").trim_matches('"').to_owned(),
            network: crate::network::describe(),
            load_before: load.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0),
        }
    }
}

/// Moves this process, and so all load generators that it starts, to the load's core. Raises the limit of
/// open files to the given number.
pub(crate) fn prepare(descriptors: u64) -> Result<()> {
    move_to_load_core()?;
    permit_descriptors(descriptors)
}

/// Prepares like [`prepare`], but accepts fewer files. Returns the number of files that may be open, at most
/// `descriptors`.
pub(crate) fn prepare_up_to(descriptors: u64) -> Result<u64> {
    move_to_load_core()?;
    if permit_descriptors(descriptors).is_ok() {
        return Ok(descriptors);
    }
    // This process may not raise the hard limit.
    let maximum = getrlimit(Resource::Nofile).maximum.unwrap_or(descriptors);
    permit_descriptors(maximum)?;
    Ok(maximum)
}

fn move_to_load_core() -> Result<()> {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        return Err(Error::new("two cores are needed: one for the balancer, one for the load"));
    }
    let mut load_core = CpuSet::new();
    load_core.set(1);
    sched_setaffinity(None, &load_core).context("moving to core 1")
}

fn permit_descriptors(descriptors: u64) -> Result<()> {
    let now = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= descriptors);
    if !enough(now.current) {
        let maximum = if enough(now.maximum) { now.maximum } else { Some(descriptors) };
        setrlimit(Resource::Nofile, Rlimit { current: Some(descriptors), maximum })
            .context(format_args!("a limit of {descriptors} open files (ulimit -n)"))?;
    }
    Ok(())
}
