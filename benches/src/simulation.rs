//! Comparison of `weir simulate` with the proxy. Three servers with known service times get the same Poisson
//! arrivals, once through the proxy in an open loop and once simulated. It compares the figures that a
//! planner needs: mean and percentiles.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;
use weir_origin::{Origin, OriginHandle, ServiceTime, Spread};

use crate::awake::Awake;
use crate::error::{Context, Error, Result};
use crate::openloop::{self, Arrivals, Load, Outcome};
use crate::options::Simulation;
use crate::rivals::{Balancer, Contestant};
use crate::statistics::quantile;
use crate::workshop::{Workshop, free_addresses};
use crate::{large_simulation, machine};

const ALGORITHMS: [&str; 4] = ["round-robin", "random", "least-connections", "peak-ewma"];

/// Places and mean service times of the servers: two alike, and one half as fast.
const SERVERS: [(usize, Duration); 3] =
    [(8, Duration::from_millis(40)), (8, Duration::from_millis(40)), (8, Duration::from_millis(80))];
const WEIGHTS: [u32; 3] = [2, 2, 1];
/// Request rate: 0.75 of the 500/s that the servers can handle.
const RATE_PER_S: f64 = 375.0;
const CONNECTIONS: usize = 512;
const SEED: u64 = 11;
/// Most runs until one keeps its schedule.
const TRIES_MAX: usize = 6;
/// Largest mean delay of starts, as a share of the mean waiting time of clients.
const DELAY_MAX: f64 = 0.02;

/// Waiting times of clients in seconds.
#[derive(Debug, Clone, Copy)]
struct Waits {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
}

/// Largest accepted deviation of the simulated mean and 95th percentile from the measured ones. The unknown
/// part of the timers' delays is some percent of these service times.
const DIFFERENCE_MAX: f64 = 0.15;

/// Runs `simulation`. Prints a table and returns whether the deviations are within their limit.
pub(crate) fn run(options: &Simulation) -> Result<bool> {
    let contestant = Contestant::weir()?;
    if options.only_large {
        return large_simulation::run(&contestant);
    }
    machine::prepare(4096)?;
    let workshop = Workshop::open()?;
    let _awake = Awake::keep(&workshop)?;
    let delay = timer_delay(&contestant, &workshop)?;
    let simulated = simulate(&contestant, &workshop, delay)?;
    let mut table = format!(
        "\n## The simulator against the proxy\n\n{RATE_PER_S}/s Poisson on 3 servers ({}), {} s each; timers add {:.2} ms to each service, and the \
         simulation knows it. Milliseconds measured / simulated, and the difference.\n\n| algorithm | mean | p50 | p95 | p99 |\n|---|---|---|---|---|\n",
        SERVERS.map(|(places, mean)| format!("{places} places, {} ms", mean.as_millis())).join("; "),
        options.seconds,
        delay.as_secs_f64() * 1e3,
    );
    let mut is_near = true;
    for algorithm in ALGORITHMS {
        let measured =
            measure(&contestant, &workshop, algorithm, Duration::from_secs(options.seconds.max(1)))?;
        let expected = simulated(algorithm)?;
        let cell = |figure: fn(&Waits) -> f64| {
            let (real, simulated) = (figure(&measured) * 1e3, figure(&expected) * 1e3);
            format!("{real:.1} / {simulated:.1} ({:+.1}%)", (simulated / real - 1.0) * 100.0)
        };
        let cells = [cell(|it| it.mean), cell(|it| it.p50), cell(|it| it.p95), cell(|it| it.p99)];
        let off = |figure: fn(&Waits) -> f64| (figure(&expected) / figure(&measured) - 1.0).abs();
        let far = off(|it| it.mean).max(off(|it| it.p95)) > DIFFERENCE_MAX;
        is_near &= !far;
        let verdict = if far { " **too far**" } else { "" };
        let _ = writeln!(table, "| {algorithm}{verdict} | {} |", cells.join(" | "));
        eprintln!("{algorithm}: {}", cells.join(", "));
    }
    println!("{table}");
    let limit = DIFFERENCE_MAX * 100.0;
    println!("Required: mean and p95 within {limit:.0}%: {}.", if is_near { "kept" } else { "missed" });
    Ok(is_near & large_simulation::run(&contestant)?)
}

fn measure(
    contestant: &Contestant,
    workshop: &Workshop,
    algorithm: &str,
    duration: Duration,
) -> Result<Waits> {
    let origins = start_origins(&SERVERS, Spread::Exponential)?;
    let balancer = start(contestant, workshop, algorithm, &origins)?;
    let load = Load {
        address: balancer.address,
        path: "/",
        rate_per_s: RATE_PER_S,
        arrivals: Arrivals::Poisson { seed: SEED },
        duration: Duration::from_secs(5),
        connections: CONNECTIONS,
    };
    openloop::run(&load)?;
    Ok(waits(&kept_schedule(algorithm, &Load { duration, ..load })?))
}

/// Runs a load until the mean delay of its starts is at most a fiftieth of the clients' mean waiting time. A
/// longer stall of the machine causes another run.
fn kept_schedule(algorithm: &str, load: &Load) -> Result<Outcome> {
    let mut delayed = String::new();
    for _ in 0..TRIES_MAX {
        let outcome = openloop::run(load)?;
        let delay_s = outcome.mean_delay_s();
        if outcome.is_answered() && delay_s <= waits(&outcome).mean * DELAY_MAX {
            return Ok(outcome);
        }
        delayed = format!("requests were started {:.2} ms late on average", delay_s * 1e3);
        eprintln!("{algorithm}: {delayed}: once more");
    }
    Err(Error::new(format!("{algorithm}: {delayed}: nothing can be compared")))
}

fn waits(outcome: &Outcome) -> Waits {
    let latencies_ns = outcome.latencies_ns();
    let at = |share| quantile(&latencies_ns, share) as f64 / 1e9;
    let sum: u128 = latencies_ns.iter().map(|ns| u128::from(*ns)).sum();
    let mean = sum as f64 / latencies_ns.len().max(1) as f64 / 1e9;
    Waits { mean, p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/// Returns how much longer a service takes than configured, because timers are rounded up. Measured without a
/// queue.
fn timer_delay(contestant: &Contestant, workshop: &Workshop) -> Result<Duration> {
    let told = Duration::from_millis(40);
    let origins = start_origins(&[(1_000, told); 3], Spread::Fixed)?;
    let balancer = start(contestant, workshop, "round-robin", &origins)?;
    let outcome = openloop::run(&Load {
        address: balancer.address,
        path: "/",
        rate_per_s: 100.0,
        arrivals: Arrivals::Poisson { seed: SEED },
        duration: Duration::from_secs(5),
        connections: CONNECTIONS,
    })?;
    let latencies_ns = outcome.latencies_ns();
    let sum: u128 = latencies_ns.iter().map(|ns| u128::from(*ns)).sum();
    let mean_ns = sum / (latencies_ns.len() as u128).max(1);
    Ok(Duration::from_nanos(u64::try_from(mean_ns).unwrap_or(u64::MAX)).saturating_sub(told))
}

fn start_origins(servers: &[(usize, Duration)], spread: Spread) -> Result<Vec<OriginHandle>> {
    let start = |(at, (concurrency, mean)): (usize, &(usize, Duration))| {
        let service = ServiceTime { concurrency: *concurrency, mean: *mean, spread };
        Origin::builder().name(format!("s{at}")).service(service).start().context("a web server")
    };
    servers.iter().enumerate().map(start).collect()
}

fn start(
    contestant: &Contestant,
    workshop: &Workshop,
    algorithm: &str,
    origins: &[OriginHandle],
) -> Result<Balancer> {
    let [bind] = free_addresses()?;
    let servers: Vec<String> = origins
        .iter()
        .zip(WEIGHTS)
        .map(|(origin, weight)| format!("{{ address = \"{}\", weight = {weight} }}", origin.addr()))
        .collect();
    let config = format!(
        "[weir]\nworkers = 1\ncontrol = {control:?}\nstate = false\n\n[listener.web]\nbind = \"{bind}\"\npool = \"web\"\n\n\
         [pool.web]\nbalance = \"{algorithm}\"\nservers = [{}]\n",
        servers.join(", "),
        control = workshop.path("weir.sock"),
    );
    contestant.start_with(workshop, &config, bind)
}

/// Part of the output of `weir simulate --json`.
#[derive(Debug, Deserialize)]
struct Report {
    algorithms: Vec<Simulated>,
}

#[derive(Debug, Deserialize)]
struct Simulated {
    algorithm: String,
    latency_s: Latency,
}

#[derive(Debug, Deserialize)]
struct Latency {
    mean: Figure,
    p50: Figure,
    p95: Figure,
    p99: Figure,
}

#[derive(Debug, Deserialize)]
struct Figure {
    mean: f64,
}

/// Simulates the same servers and traffic with all algorithms.
fn simulate(
    contestant: &Contestant,
    workshop: &Workshop,
    delay: Duration,
) -> Result<impl Fn(&str) -> Result<Waits>> {
    let delayed = |mean: Duration| (mean + delay).as_secs_f64();
    let fastest = delayed(SERVERS[0].1);
    let mut scenario = format!(
        "algorithms = {ALGORITHMS:?}\nrequests = 200000\nseeds = 5\n[arrivals]\nrate = {RATE_PER_S}\n[service]\nmean = \"{}us\"\n",
        (fastest * 1e6).round()
    );
    for ((places, mean), weight) in SERVERS.iter().zip(WEIGHTS) {
        let speed = fastest / delayed(*mean);
        let _ = writeln!(
            scenario,
            "[[servers]]\ncount = 1\nconcurrency = {places}\nspeed = {speed}\nweight = {weight}"
        );
    }
    let file = workshop.write("scenario.toml", &scenario)?;
    let output = std::process::Command::new(&contestant.program)
        .arg("simulate")
        .arg("--json")
        .arg(&file)
        .output()
        .context("weir simulate")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("weir simulate: {}", said.trim())));
    }
    let report: Report = serde_json::from_slice(&output.stdout).context("weir simulate --json")?;
    Ok(move |algorithm: &str| {
        let found = report.algorithms.iter().find(|one| one.algorithm == algorithm);
        let Latency { mean, p50, p95, p99 } =
            &found.ok_or_else(|| Error::new(format!("weir simulate leaves {algorithm} out")))?.latency_s;
        Ok(Waits { mean: mean.mean, p50: p50.mean, p95: p95.mean, p99: p99.mean })
    })
}
