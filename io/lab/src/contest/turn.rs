//! One turn: a rival is started, warmed up, measured, and ended.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_config::lab::{Case, Demand, Product, Rival, Scenario, Scheme, ServerKind};
use weir_config::plan::{TlsOut, TlsVersion};

use super::machine::calibrate;
use super::monitor::{self, Monitor};
use super::rivals::{self, Assignment, HOST, Program, Recipe};
use super::servers::ServerPark;
use super::stage::{Certificates, Ledger, Network, Place, Process};
use super::store::Played;
use super::{figures, idle};
use crate::engine::Running;
use crate::facts::{Balance, Expected, Mode};
use crate::load::Load;
use crate::schedule::{Arrivals, Phase, Phases};
use crate::summary::Run;
use crate::target::{Body, TargetSpec};
use crate::targets_file::parse_mix;

/// What all turns of a scenario share.
pub(crate) struct Ring<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) directory: &'a Path,
    pub(crate) network: Network,
    pub(crate) certificates: Option<Certificates>,
    pub(crate) park: ServerPark,
    pub(crate) ledger: Ledger,
}

/// Why a turn came to nothing.
pub(crate) enum TurnError {
    /// The rival, or the machine, did not do what it must.
    Failed(String),
    /// Where the balancer must listen somebody listens.
    PortTaken(SocketAddr, std::io::Error),
    /// The user wants an end.
    Stopped,
}

/// A thread of the generator makes so many requests a second with ease.
const RATE_PER_THREAD: f64 = 15_000.0;
const TICK: Duration = Duration::from_millis(10);

impl Ring<'_> {
    /// How a rival is set up for a case; `None` = there is no balancer.
    pub(crate) fn recipe(
        &self,
        case: &Case,
        rival: &Rival,
        bind: SocketAddr,
        directory: &Path,
    ) -> Option<Recipe> {
        let servers = self.park.addresses(case.servers);
        let setup = &self.scenario.balancer;
        let pem = self.certificates.as_ref();
        rivals::recipe(
            rival.product,
            &Assignment {
                bind,
                servers: &servers,
                scheme: rival.scheme,
                workers: setup.workers,
                check: &setup.check,
                tls_in: pem.filter(|_| setup.tls_in).map(|pem| pem.site.as_path()),
                tls_out: pem.filter(|_| setup.tls_out).map(|pem| pem.authority.as_path()),
                directory,
                reloads: case.reload_every.is_some(),
            },
        )
    }

    /// Plays it.
    pub(crate) fn play(
        &mut self,
        case: &Case,
        rival: &Rival,
        program: &Program,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Played, TurnError> {
        let failed = TurnError::Failed;
        let (balancer, address) = match rival.product {
            Product::None => {
                let servers = self.park.addresses(1);
                let (_, address) = servers.first().ok_or_else(|| failed("there is no server".to_owned()))?;
                (None, *address)
            }
            _ => {
                let (process, address) = self.start(case, rival, program)?;
                (Some(process), address)
            }
        };
        if self.scenario.warm_up.0 > 0 {
            let load =
                self.load(case, rival, address, Some(self.scenario.warm_up.duration())).map_err(failed)?;
            self.run(load, stop, None)?;
        }
        let idle = idle::hold(&self.network, case, address, stop).map_err(failed)?;
        let calibration_ns = calibrate();
        let watched = balancer.as_ref().map(Process::members).unwrap_or_default();
        let every = self.scenario.watch_every.duration();
        let monitor = Monitor::start(every, watched, self.park.members(case.servers))
            .map_err(|cause| failed(format!("monitors: {cause}")))?;
        let load = self.load(case, rival, address, None).map_err(failed)?;
        let begun = Instant::now();
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let run = self.run(load, stop, Some(Trouble { case, rival, balancer: balancer.as_ref() }));
        let seconds = begun.elapsed().as_secs_f64();
        let seen = monitor.finish();
        drop(idle);
        let run = run?;
        let summary = run.summary();
        let mut flaws: Vec<String> = summary.flaws.iter().map(|flaw| flaw.text.clone()).collect();
        let samples = match seen {
            Ok(samples) => {
                flaws.extend(monitor::flaw(&samples, seconds, every));
                samples
            }
            Err(cause) => {
                flaws.push(format!("monitors: {cause}"));
                Vec::new()
            }
        };
        let cpu_s = monitor::cpu_seconds(&samples, "balancer").filter(|_| case.reload_every.is_none());
        let memory = monitor::memory_bytes(&samples, "balancer");
        let buckets: Vec<_> = run.tally.all.latency.buckets().collect();
        let json = |cause: serde_json::Error| failed(cause.to_string());
        Ok(Played {
            case: case.name.clone(),
            rival: rival.name.clone(),
            started_unix_s: started,
            seconds,
            flaws,
            figures: figures::of(&summary, cpu_s, memory),
            sent: summary.requests.sent,
            succeeded: summary.requests.succeeded,
            calibration_ns,
            servers: summary.servers.iter().map(|it| (it.name.clone(), it.requests, it.bytes)).collect(),
            summary: serde_json::to_string(&summary).map_err(json)?,
            histogram: serde_json::to_string(&buckets).map_err(json)?,
            samples,
            ..Played::default()
        })
    }

    fn start(
        &mut self,
        case: &Case,
        rival: &Rival,
        program: &Program,
    ) -> Result<(Process, SocketAddr), TurnError> {
        let failed = TurnError::Failed;
        let port = self.scenario.balancer.port;
        let address = self.network.address(Place::Balancer, port);
        let address = address.map_err(|cause| failed(format!("an address for {}: {cause}", rival.name)))?;
        let is_free = self.network.within(Place::Balancer, || std::net::TcpListener::bind(address).map(drop));
        if let Ok(Err(cause)) = is_free {
            return Err(TurnError::PortTaken(address, cause));
        }
        let directory = self.directory.join("balancer");
        let start = || -> std::io::Result<()> {
            let _ = fs::remove_dir_all(&directory);
            fs::create_dir_all(&directory)
        };
        start().map_err(|cause| failed(format!("{}: {cause}", directory.display())))?;
        let Some(recipe) = self.recipe(case, rival, address, &directory) else {
            return Err(failed(format!("{} is no balancer", rival.name)));
        };
        let path = directory.join(recipe.file);
        fs::write(&path, &recipe.config).map_err(|cause| failed(format!("{}: {cause}", path.display())))?;
        let mut command = Command::new(&program.path);
        command.args(&recipe.arguments).current_dir(&directory);
        let place = (&self.network, Place::Balancer);
        let mut process =
            Process::start(&rival.name, command, &directory, place, &mut self.ledger).map_err(failed)?;
        // A whole answer through to a server, where the probe speaks what the listener does.
        let is_plain = !self.scenario.balancer.tls_in;
        let path = is_plain.then_some(if case.method == "GET" { case.path.as_str() } else { "/" });
        process.wait_ready(address, path, (&self.network, Place::Client)).map_err(failed)?;
        Ok((process, address))
    }

    /// Makes a load, and trouble meanwhile where the case asks for it.
    fn run(
        &mut self,
        load: Load,
        stop: &(dyn Fn() -> bool + Sync),
        trouble: Option<Trouble<'_>>,
    ) -> Result<Run, TurnError> {
        let failed = |cause: String| TurnError::Failed(format!("the load: {cause}"));
        let requests = load.requests_max;
        let started = self.network.within(Place::Client, || Running::start(load));
        let started = started.map_err(|cause| failed(cause.to_string()))?;
        let mut running = started.map_err(|cause| failed(cause.to_string()))?;
        let half_s = running.head().duration_s.map(|seconds| seconds / 2.0);
        let mut killed: Option<Instant> = None;
        let mut is_back = false;
        let mut reloads = 0_u64;
        while !running.is_finished() {
            if stop() {
                running.stop();
                // Its threads end within moments; nothing of it is kept.
                let _ = running.finish();
                return Err(TurnError::Stopped);
            }
            let progress = running.progress();
            if let Some(trouble) = &trouble {
                reloads += u64::from(trouble.reload(progress.at_s, reloads));
            }
            if let Some(lasts) = trouble.as_ref().and_then(|trouble| trouble.case.kill_for) {
                let is_half = half_s.is_some_and(|half_s| progress.at_s >= half_s)
                    || requests.is_some_and(|requests| progress.sent * 2 >= requests);
                match killed {
                    None if is_half => {
                        self.park.kill(0);
                        killed = Some(Instant::now());
                    }
                    Some(at) if !is_back && at.elapsed() >= lasts.duration() => {
                        self.revive().map_err(TurnError::Failed)?;
                        is_back = true;
                    }
                    _ => {}
                }
            }
            thread::sleep(TICK);
        }
        let run = running.finish().map_err(|cause| failed(cause.to_string()))?;
        if killed.is_some() && !is_back {
            self.revive().map_err(TurnError::Failed)?;
        }
        Ok(run)
    }

    fn revive(&mut self) -> Result<(), String> {
        let Self { park, scenario, certificates, network, ledger, .. } = self;
        park.start_one(0, scenario, certificates.as_ref(), network, ledger)
    }

    /// What a case asks for; with a warm-up's length, that much of it.
    fn load(
        &self,
        case: &Case,
        rival: &Rival,
        address: SocketAddr,
        warm_up: Option<Duration>,
    ) -> Result<Load, String> {
        let setup = &self.scenario.balancer;
        let is_tls = if rival.product == Product::None { setup.tls_out } else { setup.tls_in };
        let scheme = if is_tls { "https" } else { "http" };
        let (mode, duration) = mode(case, self.scenario.seed, warm_up)?;
        let may_be_uneven = case.kill_for.is_some() || self.scenario.servers.kind == ServerKind::Command;
        let is_even = rival.scheme == Scheme::RoundRobin
            && rival.product != Product::None
            && case.servers > 1
            && case.check_balance
            && !may_be_uneven;
        let delay = self.scenario.servers.delay;
        let cores = thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
        let threads = match case.demand {
            Demand::Rate { per_s, calls, .. } => {
                (per_s * f64::from(calls.unwrap_or(1)) / RATE_PER_THREAD) as usize + 1
            }
            Demand::Connections(count) => count as usize,
        };
        let target = TargetSpec {
            method: case.method.clone(),
            url: format!("{scheme}://{address}{}", case.path),
            headers: case.headers.clone(),
            body: if case.body_bytes > 0 { Body::Generated { bytes: case.body_bytes } } else { Body::Empty },
            weight: None,
        };
        let targets = match &case.mix {
            Some(mix) => {
                let mut targets = parse_mix(mix, &target)?;
                let has_none = |it: &&mut TargetSpec| !["PUT", "POST", "PATCH"].contains(&it.method.as_str());
                targets.iter_mut().filter(has_none).for_each(|target| target.body = Body::Empty);
                targets
            }
            None => vec![target],
        };
        let has_size = case.method == "GET" && case.mix.is_none();
        Ok(Load {
            targets,
            mode,
            log: Vec::new(),
            requests_max: case.requests.filter(|_| warm_up.is_none()),
            duration,
            seed: self.scenario.seed,
            keep_alive: case.keep_alive,
            connections_max: 20_000,
            threads: threads.clamp(1, cores),
            timeout: case.timeout.duration(),
            sources: Vec::new(),
            tls: TlsOut {
                verify: true,
                ca: self.certificates.as_ref().map(|pem| pem.authority.clone()),
                server_name: Some(HOST.to_owned()),
                client_certificate: None,
                version_min: TlsVersion::V1_2,
            },
            verify: None,
            server_header: "X-Origin".to_owned(),
            expected: Expected {
                statuses: Vec::new(),
                body_bytes: case.size.filter(|_| has_size),
                think_ns: (delay.0 > 0).then_some(delay.0 * 1_000_000),
                balance: is_even.then_some(Balance::Equal(case.servers as usize)),
            },
            output: None,
        })
    }
}

/// What happens during a run besides its load.
struct Trouble<'t> {
    case: &'t Case,
    rival: &'t Rival,
    balancer: Option<&'t Process>,
}

impl Trouble<'_> {
    /// Tells the balancer to read its configuration again if it is time to do so once more.
    fn reload(&self, at_s: f64, so_far: u64) -> bool {
        let Some(every) = self.case.reload_every else { return false };
        let is_due = at_s >= (so_far + 1) as f64 * every.duration().as_secs_f64();
        if let (true, Some(balancer), Some(signal)) =
            (is_due, self.balancer, rivals::reload_signal(self.rival.product))
        {
            balancer.signal(signal);
        }
        is_due
    }
}

/// How requests follow each other, and how long a closed loop lasts.
fn mode(case: &Case, seed: u64, warm_up: Option<Duration>) -> Result<(Mode, Option<Duration>), String> {
    match case.demand {
        Demand::Connections(count) => {
            let duration = warm_up.or(case.requests.is_none().then(|| case.duration.duration()));
            Ok((Mode::Closed { connections: count as usize, pause_s: 0.0 }, duration))
        }
        Demand::Rate { per_s, poisson, calls } => {
            let all_s = case.requests.map_or(case.duration.duration().as_secs_f64(), |count| {
                count as f64 / f64::from(calls.unwrap_or(1)) / per_s
            });
            let duration_s = warm_up.map_or(all_s, |warm_up| warm_up.as_secs_f64().max(1.0 / per_s));
            let phases = Phases::new(vec![Phase { from_per_s: per_s, to_per_s: per_s, duration_s }]);
            let phases = phases.map_err(|cause| format!("{}: {cause}", case.name))?;
            let arrivals = if poisson { Arrivals::Poisson { seed } } else { Arrivals::Even };
            let mode = match calls {
                None => Mode::Open { phases, arrivals },
                Some(calls) => Mode::Sessions { phases, arrivals, calls, pause_s: 0.0 },
            };
            Ok((mode, None))
        }
    }
}
