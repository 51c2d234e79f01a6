//! Long run with mixed traffic. The memory and the descriptors of a balancer without leaks stay flat.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::machine::{self, Machine};
use crate::options::Soak;
use crate::origin::Origin;
use crate::results::{now_s, save};
use crate::rivals::{Balancer, Contestant, nginx_programs};
use crate::scenario::Setup;
use crate::statistics::Spread;
use crate::workshop::Workshop;
use crate::wrk::{self, Load};

const SAMPLE_EVERY: Duration = Duration::from_secs(2);

/// Parts of the load: path, connections, and whether each request has its own connection.
const TRAFFIC: [(&str, u32, bool); 4] =
    [("/1k", 32, false), ("/1k", 16, true), ("/64k", 8, false), ("/1m", 4, false)];

#[derive(Debug, Serialize)]
struct Results {
    machine: Machine,
    started_s: u64,
    contestant: Contestant,
    requests: u64,
    samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Sample {
    after_s: f64,
    memory_bytes: u64,
    descriptors: usize,
}

/// Runs `soak`. Returns whether memory and descriptors stayed flat.
pub(crate) fn run(options: &Soak) -> Result<bool> {
    let machine = Machine::look();
    machine::prepare(4096)?;
    let contestant = Contestant::weir()?;
    let workshop = Workshop::open()?;
    let program = nginx_programs().into_iter().next().ok_or_else(|| Error::new("no NGINX"))?;
    let origin = Origin::start(&workshop, &program)?;
    let balancer = contestant.start(&workshop, &origin, Setup { workers: 2, ..Setup::PLAIN })?;
    let mut results = Results { machine, started_s: now_s(), contestant, requests: 0, samples: Vec::new() };
    let duration = Duration::from_secs(options.seconds.max(10));
    let load = |(path, connections, closes)| start(&balancer, path, connections, closes, duration);
    let clients = TRAFFIC.into_iter().map(load).collect::<Result<Vec<_>>>()?;
    let since = Instant::now();
    while since.elapsed() < duration {
        std::thread::sleep(SAMPLE_EVERY.min(duration.saturating_sub(since.elapsed())));
        let sample = look(&balancer, since);
        if results.samples.len().is_multiple_of(15) {
            eprintln!(
                "soak: {:.0} s, {} KiB, {} descriptors",
                sample.after_s,
                sample.memory_bytes / 1024,
                sample.descriptors
            );
        }
        results.samples.push(sample);
    }
    for client in clients {
        let output = client.wait_with_output().context("wrk")?;
        results.requests += wrk::parse(&String::from_utf8_lossy(&output.stdout))?.requests;
    }
    let path = save(&results, options.json.as_deref(), results.started_s)?;
    let (text, flat) = judge(&results.samples)?;
    println!("soak: {} requests in {} s, none failed; {text}", results.requests, duration.as_secs());
    println!("every sample: {}", path.display());
    Ok(flat)
}

fn start(
    balancer: &Balancer,
    path: &'static str,
    connections: u32,
    closes: bool,
    duration: Duration,
) -> Result<Child> {
    let load = Load { address: balancer.address, path, tls: false, closes, connections, duration };
    load.command().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("wrk")
}

fn look(balancer: &Balancer, since: Instant) -> Sample {
    let pid = balancer.process.pid();
    Sample {
        after_s: since.elapsed().as_secs_f64(),
        memory_bytes: cpu::memory_bytes(pid),
        descriptors: cpu::descriptors(pid),
    }
}

/// Growth that counts as noise: allocators round up, and pools fill again.
const GROWTH_SHARE_MAX: f64 = 0.05;
const GROWTH_BYTES_MAX: f64 = (1 << 20) as f64;
const GROWTH_DESCRIPTORS_MAX: f64 = 32.0;

/// Compares the second fifth of the time, when pools are full, with the last fifth.
fn judge(samples: &[Sample]) -> Result<(String, bool)> {
    let fifth = samples.len() / 5;
    let median = |part: &[Sample], figure: fn(&Sample) -> f64| Spread::of(part.iter().map(figure));
    let (early, late) = (&samples[fifth..2 * fifth], &samples[samples.len() - fifth..]);
    let memory = |part| median(part, |sample| sample.memory_bytes as f64);
    let descriptors = |part| median(part, |sample| sample.descriptors as f64);
    let (Some(memory_early), Some(memory_late), Some(open_early), Some(open_late)) =
        (memory(early), memory(late), descriptors(early), descriptors(late))
    else {
        return Err(Error::new("too short for a verdict"));
    };
    let grown = memory_late.median - memory_early.median;
    let memory_flat = grown <= memory_early.median * GROWTH_SHARE_MAX || grown <= GROWTH_BYTES_MAX;
    let descriptors_flat = open_late.median - open_early.median <= GROWTH_DESCRIPTORS_MAX;
    let word = |flat| if flat { "flat" } else { "GROWS" };
    let text = format!(
        "memory {:.0} -> {:.0} KiB: {}; descriptors {:.0} -> {:.0}: {}",
        memory_early.median / 1024.0,
        memory_late.median / 1024.0,
        word(memory_flat),
        open_early.median,
        open_late.median,
        word(descriptors_flat)
    );
    Ok((text, memory_flat && descriptors_flat))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory_bytes: impl Fn(u64) -> u64, descriptors: impl Fn(u64) -> usize) -> Vec<Sample> {
        let at = |second: u64| Sample {
            after_s: second as f64,
            memory_bytes: memory_bytes(second),
            descriptors: descriptors(second),
        };
        (0..100).map(at).collect()
    }

    #[test]
    fn growth_at_the_start_only_is_flat() {
        let warm = samples(|second| (second.min(15) + 10) << 20, |second| second.min(10) as usize * 8);
        assert!(judge(&warm).unwrap().1);
    }

    #[test]
    fn steady_growth_of_memory_is_not() {
        assert!(!judge(&samples(|second| (second + 10) << 20, |_| 80)).unwrap().1);
    }

    #[test]
    fn steady_growth_of_descriptors_is_not() {
        assert!(!judge(&samples(|_| 10 << 20, |second| 80 + second as usize)).unwrap().1);
    }

    #[test]
    fn too_few_samples_are_not_judged() {
        assert!(judge(&samples(|_| 1, |_| 1)[..4]).is_err());
    }
}
