//! Defines the command line of `weir simulate`, and applies its options to the scenario.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use weir_balance::Algorithm;
use weir_config::simulation::{
    Arrivals, Group, LogFormat, LoggedTimes, Measure, Replay, Scenario, SimTime, Volume,
};

/// Compare the balancing algorithms on simulated traffic, and say which one wins
///
/// Requests, servers and their queues are simulated; the servers are chosen by the very code that chooses
/// them in a running Weir. Without a scenario it is a Poisson stream at 80% of what ten equal servers can do.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  weir simulate --load 0.9
      Ten servers, nearly busy, every algorithm: a table with the best on top.
  weir simulate --servers 100 --algorithms least-connections,random,round-robin --rank-by p99.9
      Three algorithms among a hundred servers; the rarest latencies decide.
  weir simulate --config /etc/weir/weir.toml --pool web --concurrency 8 --service 25ms --rate 900
      The servers, weights and limits of a real pool.
  weir simulate --replay /var/log/weir/access.log --servers 4 --concurrency 16
      Yesterday's traffic once more. common, combined, httplog, Weir's JSON lines, or CSV.
  weir simulate scenario.toml --html report.html
      Everything from a file, and a page with curves.

A scenario file says more than the options do: bursts, daily curves, heavy tails, unequal servers, caches, failures.
docs/reference/simulate.md has every key, docs/guide/simulate.md an example from beginning to end.

Exits with 0 if it could be simulated, with 2 if not.")]
pub(crate) struct SimulateArgs {
    /// The scenario file (TOML); what options say goes before it.
    #[arg(value_name = "SCENARIO")]
    pub(super) scenario: Option<PathBuf>,
    /// Take servers, weights, limits and the algorithm in use from a pool of this config.
    #[arg(long, value_name = "CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// Which pool, if the config has several.
    #[arg(long, value_name = "POOL", requires = "config")]
    pub(super) pool: Option<String>,
    /// Compare these, separated by commas, instead of all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    algorithms: Vec<Algorithm>,
    /// So many equal servers.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "config")]
    servers: Option<u32>,
    /// Requests that each server works on at the same time; further ones wait in line.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    concurrency: Option<u32>,
    /// Mean rate as a share of what the servers can do: 0.8 = 80%.
    #[arg(long, value_name = "SHARE", value_parser = load, conflicts_with_all = ["rate", "replay"])]
    load: Option<f64>,
    /// Mean rate in requests per second.
    #[arg(long, value_name = "N", value_parser = rate, conflicts_with = "replay")]
    rate: Option<f64>,
    /// Mean time that a request takes a server, such as 25ms.
    #[arg(long, value_name = "TIME", value_parser = service)]
    service: Option<SimTime>,
    /// Requests come as this log says; `-` = standard input.
    #[arg(long, value_name = "LOG")]
    pub(super) replay: Option<PathBuf>,
    /// Workers of the balancer.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: Option<u32>,
    /// Requests of each run.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    requests: Option<u64>,
    /// Runs of each algorithm; more of them make the confidence intervals narrower.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: Option<u32>,
    /// Where randomness begins: the same seed gives the same result.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The latency that decides who wins.
    #[arg(long, value_name = "LATENCY", value_parser = measure)]
    rank_by: Option<Measure>,
    /// Threads that simulate; they change nothing but how long it takes. As many as there are cores unless
    /// told otherwise.
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<NonZeroUsize>,
    /// Print for programs.
    #[arg(long)]
    pub(super) json: bool,
    /// Write a page with curves to this file, too.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

impl SimulateArgs {
    /// Replaces values of the scenario by those of the options.
    pub(super) fn override_in(&self, scenario: &mut Scenario) -> Result<(), String> {
        if !self.algorithms.is_empty() {
            scenario.algorithms.clear();
            for algorithm in &self.algorithms {
                if !scenario.algorithms.contains(algorithm) {
                    scenario.algorithms.push(*algorithm);
                }
            }
        }
        if let Some(servers) = self.servers {
            let [Group { count, disturbances, agent, .. }] = scenario.groups.as_mut_slice() else {
                return Err(
                    "--servers: the scenario has several groups of servers; say there how many each has"
                        .to_owned(),
                );
            };
            if disturbances.iter().any(|disturbance| disturbance.span().servers > servers)
                || agent.iter().any(|word| word.servers > servers)
            {
                return Err(format!(
                    "--servers {servers}: more of them fail, are slow, drain or have agents that speak in the scenario"
                ));
            }
            *count = servers;
        }
        if let Some(concurrency) = self.concurrency {
            scenario.groups.iter_mut().for_each(|group| group.concurrency = concurrency);
        }
        if let Some(mean) = self.service {
            scenario.service.set_mean(mean)?;
        }
        self.override_arrivals(scenario)?;
        if let Some(requests) = self.requests {
            scenario.requests = Some(requests);
            if !matches!(scenario.arrivals, Arrivals::Replay(_)) {
                scenario.warm_up = requests / 10;
            }
        }
        scenario.balancer.workers = self.workers.unwrap_or(scenario.balancer.workers);
        scenario.seeds = self.seeds.unwrap_or(scenario.seeds);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.rank_by = self.rank_by.unwrap_or(scenario.rank_by);
        match scenario.requests {
            Some(requests) if scenario.warm_up >= requests => Err(format!(
                "nothing is left to be measured of {requests} requests: the first {} are the warm-up",
                scenario.warm_up
            )),
            _ => Ok(()),
        }
    }

    fn override_arrivals(&self, scenario: &mut Scenario) -> Result<(), String> {
        if let Some(file) = &self.replay {
            match &mut scenario.arrivals {
                Arrivals::Replay(replay) => replay.file.clone_from(file),
                drawn @ Arrivals::Drawn { .. } => {
                    *drawn = Arrivals::Replay(Replay {
                        file: file.clone(),
                        format: LogFormat::Auto,
                        speed: 1.0,
                        times: LoggedTimes::Logged,
                    });
                    (scenario.requests, scenario.warm_up) = (None, 0);
                }
            }
        }
        let volume = self.load.map(Volume::Load).or(self.rate.map(Volume::PerSecond));
        match (volume, &mut scenario.arrivals) {
            (None, _) => Ok(()),
            (Some(new), Arrivals::Drawn { volume, .. }) => {
                *volume = new;
                Ok(())
            }
            (Some(_), Arrivals::Replay(_)) => {
                Err("--load and --rate: the scenario replays a log, which says when requests come".to_owned())
            }
        }
    }
}

fn load(text: &str) -> Result<f64, String> {
    number(text, 1e-6, 100.0)
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, 1e-6, 1e9)
}

fn number(text: &str, min: f64, max: f64) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (min..=max).contains(&number) { Ok(number) } else { Err(format!("out of range: {min} to {max}")) }
}

fn service(text: &str) -> Result<SimTime, String> {
    match text.parse::<SimTime>() {
        Ok(SimTime(0)) => Err("must be more than 0".to_owned()),
        Ok(time) => Ok(time),
        Err(cause) => Err(cause.to_string()),
    }
}

fn measure(text: &str) -> Result<Measure, String> {
    let names = Measure::ALL.map(Measure::name);
    Measure::ALL
        .into_iter()
        .find(|measure| measure.name() == text)
        .ok_or_else(|| format!("one of {}", names.join(", ")))
}
