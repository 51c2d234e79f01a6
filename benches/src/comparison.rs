//! Sequence of a comparison: scenario by scenario, turn by turn, contestant by contestant.

use std::time::{Duration, Instant};

use crate::awake::Awake;
use crate::error::{Error, Result};
use crate::machine::{self, Machine};
use crate::options::Compare;
use crate::origin::Origin;
use crate::process::BALANCER_CORE;
use crate::results::{ClosedLoop, Measured, Results, Sample, ScenarioResult, now_s};
use crate::rivals::{Balancer, Contestant, nginx_programs};
use crate::scenario::{Scenario, Setup};
use crate::workshop::Workshop;
use crate::wrk::Load;
use crate::{cpu, idle, latency, peak, report, syscalls};

/// Turns for memory and system calls, which hardly vary.
const TURNS_OF_STEADY_FIGURES: usize = 3;

/// Failed turns after which a contestant leaves a scenario.
const FAILURES_MAX: usize = 2;

/// Runs `compare`. Returns whether all requirements were met.
pub(crate) fn run(options: &Compare) -> Result<bool> {
    let machine = Machine::look();
    machine::prepare(options.idle as u64 + 4096)?;
    let contestants = Contestant::all(options)?;
    let workshop = Workshop::open()?;
    let program = nginx_programs().into_iter().next().ok_or_else(|| Error::new("no NGINX"))?;
    let origin = Origin::start(&workshop, &program)?;
    let mut results = Results {
        machine,
        started_s: now_s(),
        turns: options.turns(),
        turn_s: options.turn().as_secs(),
        connections: options.connections,
        contestants,
        scenarios: Vec::new(),
    };
    let all = Scenario::all().iter().copied();
    let chosen: Vec<_> =
        all.filter(|scenario| options.only.is_empty() || options.only.contains(scenario)).collect();
    for scenario in chosen {
        let measurement = Measurement {
            options,
            workshop: &workshop,
            origin: &origin,
            contestants: &results.contestants,
            scenario,
            rate_per_s: if scenario == Scenario::Latency {
                half_of_peak(options, &workshop, &origin, &results)?
            } else {
                0.0
            },
        };
        let result = measurement.run();
        println!("{}", report::scenario(&results, &result));
        results.scenarios.push(result);
    }
    let path = results.save(options.json.as_deref())?;
    let verdict = report::verdict(&results);
    println!("{}", verdict.text);
    println!("every sample: {}", path.display());
    Ok(verdict.kept)
}

/// Measurement of one scenario.
struct Measurement<'a> {
    options: &'a Compare,
    workshop: &'a Workshop,
    origin: &'a Origin,
    contestants: &'a [Contestant],
    scenario: Scenario,
    /// Request rate of the open loop.
    rate_per_s: f64,
}

impl Measurement<'_> {
    fn run(&self) -> ScenarioResult {
        let mut result =
            ScenarioResult { scenario: self.scenario, samples: Vec::new(), failures: Vec::new() };
        let turns = match self.scenario {
            Scenario::Memory | Scenario::Syscalls => self.options.turns().min(TURNS_OF_STEADY_FIGURES),
            _ => self.options.turns(),
        };
        let count = self.contestants.len();
        for turn in 0..turns {
            for place in 0..count {
                // Another contestant begins each turn, so that drift does not always affect the same one.
                let contestant = (place + turn) % count;
                let name = &self.contestants[contestant].name;
                // Repeats a failed turn once and records the failure. One failed request may be the machine's
                // fault; two failed turns are not.
                let failed_before = result.failures.iter().filter(|(failed, _)| failed == name).count();
                if failed_before >= FAILURES_MAX {
                    continue;
                }
                for _ in failed_before..FAILURES_MAX {
                    let label = format!("{} {}/{turns} {name}", self.scenario.name(), turn + 1);
                    match self.turn(&self.contestants[contestant]) {
                        Ok(measured) => {
                            eprintln!("{label}: {}", report::brief(&measured));
                            result.samples.push(Sample { contestant, turn, measured });
                            break;
                        }
                        Err(error) => {
                            eprintln!("{label}: {error}");
                            result.failures.push((name.clone(), error.to_string()));
                        }
                    }
                }
            }
        }
        result
    }

    fn turn(&self, contestant: &Contestant) -> Result<Measured> {
        let setup = self.scenario.setup();
        let start = |setup: Setup| contestant.start(self.workshop, self.origin, setup);
        match self.scenario {
            Scenario::Latency => {
                let _awake = Awake::keep(self.workshop)?;
                let balancer = start(setup)?;
                let (rate_per_s, turn) = (self.rate_per_s, self.options.turn());
                latency::measure(self.workshop, self.origin, &balancer, rate_per_s, turn)
                    .map(Measured::OpenLoop)
            }
            Scenario::Memory => {
                let measure =
                    |setup| idle::measure(self.workshop, &start(setup)?, setup.tls_in, self.options.idle);
                Ok(Measured::Memory {
                    plain: measure(setup)?,
                    tls: measure(Setup { tls_in: true, ..setup })?,
                })
            }
            Scenario::Syscalls => {
                let balancer = start(setup)?;
                let load = self.load(&balancer, self.options.turn());
                self.load(&balancer, self.options.warm_up()).run()?;
                syscalls::measure(self.workshop, &balancer, &load).map(Measured::Syscalls)
            }
            _ => {
                let balancer = start(setup)?;
                self.load(&balancer, self.options.warm_up()).run()?;
                closed_loop(&balancer, setup.workers, &self.load(&balancer, self.options.turn()))
                    .map(Measured::ClosedLoop)
            }
        }
    }

    fn load(&self, balancer: &Balancer, duration: Duration) -> Load {
        Load {
            address: balancer.address,
            path: self.scenario.path(),
            tls: self.scenario.setup().tls_in,
            closes: self.scenario.closes(),
            connections: self.options.connections,
            duration,
        }
    }
}

/// Runs a load, and measures its cost by the kernel's counters before and after.
fn closed_loop(balancer: &Balancer, workers: u32, load: &Load) -> Result<ClosedLoop> {
    let pid = balancer.process.pid();
    let (stolen_before, total_before) = cpu::stolen_and_total();
    let (core_before, cpu_before, since) =
        (cpu::free_or_stolen(BALANCER_CORE), cpu::cpu_time(pid), Instant::now());
    let report = load.run()?;
    let (spent, elapsed) = (cpu::cpu_time(pid).saturating_sub(cpu_before), since.elapsed());
    let free = cpu::free_or_stolen(BALANCER_CORE).saturating_sub(core_before);
    let (stolen_after, total_after) = cpu::stolen_and_total();
    Ok(ClosedLoop {
        cpu_us_per_request: spent.as_secs_f64() * 1e6 / report.requests as f64,
        core_us_per_request: (workers == 1)
            .then(|| elapsed.saturating_sub(free).as_secs_f64() * 1e6 / report.requests as f64),
        requests_per_s: report.requests_per_s,
        p50_us: report.p50_us,
        p99_us: report.p99_us,
        cores_used: spent.as_secs_f64() / elapsed.as_secs_f64(),
        stolen: (stolen_after - stolen_before) as f64 / (total_after - total_before).max(1) as f64,
    })
}

/// Returns half of the open-loop peak of the first HAProxy or, without one, of the first contestant.
fn half_of_peak(options: &Compare, workshop: &Workshop, origin: &Origin, results: &Results) -> Result<f64> {
    let contestants = &results.contestants;
    let at = contestants.iter().position(|one| one.product.is_haproxy()).unwrap_or(0);
    let balancer = contestants[at].start(workshop, origin, Setup::PLAIN)?;
    let load = Load {
        address: balancer.address,
        path: "/1k",
        tls: false,
        closes: false,
        connections: options.connections,
        duration: Duration::from_secs(3),
    };
    let closed_per_s = load.run()?.requests_per_s;
    let _awake = Awake::keep(workshop)?;
    let open_per_s = peak::open_loop(&balancer, latency::CONNECTIONS, closed_per_s)?;
    println!(
        "{} carries {closed_per_s:.0}/s in a closed loop and {open_per_s:.0}/s by the clock",
        contestants[at].name
    );
    Ok(open_per_s / 2.0)
}
