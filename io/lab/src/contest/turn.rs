//! One turn: a rival is started, warmed up, measured, and ended.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_config::lab::{Case, Demand, Product, Rival, Scenario, Scheme, ServerKind, Way};
use weir_config::plan::{TlsOut, TlsVersion};

use super::balancers::{ACTIVE, Balancers};
use super::flaw::{RunFlaw, Whose};
use super::keepalived::{self, Owners};
use super::machine::calibrate;
use super::monitor;
use super::monitors::Monitors;
use super::rivals::{self, Assignment, HOST, Program, Recipe};
use super::servers::ServerPark;
use super::stage::{Certificates, Ledger, Network, Place, Stop};
use super::store::Played;
use super::trouble::{Due, Trouble};
use super::{figures, fleet, idle};
use crate::engine::Running;
use crate::facts::{Balance, Expected, Mode};
use crate::judge::Flaw;
use crate::load::Load;
use crate::schedule::{Arrivals, Phase, Phases};
use crate::summary::Run;
use crate::target::{Body, TargetSpec};
use crate::targets_file::parse_mix;
use crate::turns::{Order, Turns};

/// State that all turns of a scenario share.
pub(crate) struct Ring<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) directory: &'a Path,
    pub(crate) network: Network,
    pub(crate) certificates: Option<Certificates>,
    pub(crate) park: ServerPark,
    pub(crate) ledger: Ledger,
    /// Product and program that gave rules to the kernel in the balancer's network.
    pub(crate) told: Option<(Product, PathBuf)>,
}

/// Reason why a turn failed.
pub(crate) enum TurnError {
    /// The rival does not start or does not accept its configuration. Other rivals may.
    Rival(String),
    /// The lab or the machine failed.
    Failed(String),
    /// Another program uses the port of the balancer.
    PortTaken(SocketAddr, std::io::Error),
    /// The user stopped the lab.
    Stopped,
}

/// Rate that one thread of the generator reaches with ease, in requests per second.
const RATE_PER_THREAD: f64 = 15_000.0;
const TICK: Duration = Duration::from_millis(10);

impl Ring<'_> {
    /// Returns the set-up of a rival for a case; `None` = no balancer.
    pub(crate) fn recipe(
        &self,
        case: &Case,
        rival: &Rival,
        bind: SocketAddr,
        directory: &Path,
    ) -> Option<Recipe> {
        // The servers of a fleet do not exist yet.
        let count = if rival.fleet.is_some() { 0 } else { case.servers };
        let servers = self.park.addresses(count);
        let weights = self.scenario.servers.weights(count);
        let roots = self.park.roots(case.servers);
        let setup = &self.scenario.balancer;
        let pem = self.certificates.as_ref().map(|pem| self.network.certificates(Place::Balancer, pem));
        let pem = pem.as_ref();
        rivals::recipe(
            rival.product,
            &Assignment {
                bind,
                servers: &servers,
                weights: &weights,
                scheme: rival.scheme,
                scheduler: rival.scheduler.as_deref(),
                balance: rival.balance.as_deref(),
                way: rival.way,
                roots: &roots,
                key: self.park.key(),
                workers: setup.workers,
                check: &setup.check,
                tls_in: pem.filter(|_| setup.tls_in).map(|pem| pem.site.as_path()),
                tls_out: pem.filter(|_| setup.tls_out).map(|pem| pem.authority.as_path()),
                directory,
                fleet: rival.fleet.as_ref().map(|setup| self.fleet(setup)),
                reloads: case.reload_every.is_some(),
            },
        )
    }

    /// Plays the turn.
    pub(crate) fn play(
        &mut self,
        case: &Case,
        rival: &Rival,
        program: &Program,
        stop: Stop<'_>,
    ) -> Result<Played, TurnError> {
        let failed = TurnError::Failed;
        let (mut balancers, address) = match rival.product {
            Product::None => {
                let servers = self.park.addresses(1);
                let (_, address) = servers.first().ok_or_else(|| failed("there is no server".to_owned()))?;
                (None, *address)
            }
            _ => {
                let balancers = self.start(case, rival, program, stop)?;
                let address = balancers.address;
                (Some(balancers), address)
            }
        };
        if self.scenario.warm_up.0 > 0 {
            let load =
                self.load(case, rival, address, Some(self.scenario.warm_up.duration())).map_err(failed)?;
            self.run(load, stop, None)?;
        }
        let idle = idle::hold(&self.network, case, address, stop).map_err(TurnError::Rival)?;
        let calibration_ns = match self.network.host(Place::Balancer) {
            Some(host) => host.calibrate().map_err(failed)?,
            None => calibrate(),
        };
        let before = case.lose.map(|_| Owners::look(&self.network));
        let watched = balancers.as_ref().map(Balancers::members).unwrap_or_default();
        let every = self.scenario.watch_every.duration();
        let monitors = Monitors::start(
            &self.network,
            (every, &self.scenario.monitors),
            watched.clone(),
            self.park.members(case.servers),
        )
        .map_err(|cause| failed(format!("monitors: {cause}")))?;
        let load = self.load(case, rival, address, None).map_err(failed)?;
        let begun = Instant::now();
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let mut trouble = Trouble::new(case, rival, balancers.as_mut());
        let run = self.run(load, stop, Some(&mut trouble));
        let trouble_flaw = trouble.flaw();
        let seconds = begun.elapsed().as_secs_f64();
        let owners = before.zip(case.lose).map(|(before, loss)| (loss, before, Owners::look(&self.network)));
        let directory = self.directory.join(ACTIVE);
        let seen = monitors.finish(seconds, every);
        let idle_flaw = idle::flaw(&idle);
        drop(idle);
        let run = run?;
        let summary = run.summary();
        let mut flaws: Vec<RunFlaw> = summary.flaws.iter().map(|flaw| flaw_of(&run, flaw)).collect();
        flaws.extend(idle_flaw);
        flaws.extend(trouble_flaw);
        flaws.extend(owners.and_then(|(loss, before, after)| keepalived::flaw(loss, before, after)));
        let mut samples: Vec<_> = match seen {
            Ok((samples, seen)) => {
                flaws.extend(seen.into_iter().map(RunFlaw::of_lab));
                let came_and_went =
                    rival.fleet.iter().flat_map(|_| fleet::samples(&directory, started, seconds));
                samples.into_iter().chain(came_and_went).collect()
            }
            Err(cause) => {
                flaws.push(RunFlaw::of_lab(format!("monitors: {cause}")));
                Vec::new()
            }
        };
        if let Some((_, before, after)) = owners {
            samples.extend(before.samples(0.0).into_iter().chain(after.samples(seconds)));
        }
        // If processes of the balancer come and go, their CPU time and memory are unknown.
        let is_same = balancers.as_ref().map(Balancers::members).unwrap_or_default() == watched;
        let is_steady =
            case.reload_every.is_none() && case.lose.is_none() && !rival.product.is_kernel() && is_same;
        let gap_ms = run.tally.successes.longest_gap_ms(run.tally.last_start_ns);
        let seen = figures::Seen {
            cpu_s: monitor::cpu_seconds(&samples, "balancer").filter(|_| is_steady),
            // The monitors do not watch the servers of a fleet.
            server_cpu_s: monitor::cpu_seconds(&samples, "servers")
                .filter(|_| case.kill_for.is_none() && rival.fleet.is_none()),
            // With other machines, this machine's CPU time is that of the load generator.
            machine_cpu_s: monitor::machine_cpu_seconds(&samples, monitor::processors())
                .filter(|_| self.network.hosts().is_none()),
            memory: monitor::memory_bytes(&samples, "balancer").filter(|_| is_steady),
            server_memory: monitor::memory_bytes(&samples, "servers")
                .filter(|_| case.kill_for.is_none() && rival.fleet.is_none()),
            servers: self.servers_that_ran(case, rival, &samples, seconds),
            outage_ms: case.has_trouble().then_some(gap_ms as f64),
            recovery_ms: case.has_trouble().then(|| run.tally.failures_lasted_ms() as f64),
        };
        let json = |cause: serde_json::Error| failed(cause.to_string());
        Ok(Played {
            case: case.name.clone(),
            rival: rival.name.clone(),
            started_unix_s: started,
            seconds,
            flaws,
            figures: figures::of(&summary, seen),
            sent: summary.requests.sent,
            succeeded: summary.requests.succeeded,
            calibration_ns,
            servers: summary.servers.iter().map(|it| (it.name.clone(), it.requests, it.bytes)).collect(),
            summary: serde_json::to_string(&summary).map_err(json)?,
            histogram: figures::histograms(&run.tally).to_string(),
            samples,
            ..Played::default()
        })
    }

    /// Runs a load, with trouble if the case requires it.
    fn run(
        &mut self,
        load: Load,
        stop: Stop<'_>,
        mut trouble: Option<&mut Trouble<'_>>,
    ) -> Result<Run, TurnError> {
        let failed = |cause: String| TurnError::Failed(format!("the load: {cause}"));
        let requests = load.requests_max;
        let started = self.network.within(Place::Client, || Running::start(load));
        let started = started.map_err(|cause| failed(cause.to_string()))?;
        let mut running = started.map_err(|cause| failed(cause.to_string()))?;
        let half_s = running.head().duration_s.map(|seconds| seconds / 2.0);
        while !running.is_finished() {
            if stop() {
                running.stop();
                // Its threads end within moments, and its results are discarded.
                let _ = running.finish();
                return Err(TurnError::Stopped);
            }
            let progress = running.progress();
            if let Some(trouble) = trouble.as_deref_mut() {
                trouble.reload(progress.at_s);
                let is_half = half_s.is_some_and(|half_s| progress.at_s >= half_s)
                    || requests.is_some_and(|requests| progress.sent * 2 >= requests);
                if is_half {
                    trouble.lose(&self.network).map_err(TurnError::Failed)?;
                }
                match trouble.due(is_half) {
                    Some(Due::Kill) => self.park.kill(0),
                    Some(Due::Revive) => {
                        self.revive(stop).map_err(TurnError::Failed)?;
                        // The restart took time, so check now if requests are still due.
                        let now = running.progress();
                        let is_due = running.head().duration_s.is_none_or(|seconds| now.at_s < seconds)
                            && requests.is_none_or(|requests| now.sent < requests);
                        trouble.came_back(is_due && !running.is_finished());
                    }
                    None => {}
                }
            }
            thread::sleep(TICK);
        }
        let run = running.finish().map_err(|cause| failed(cause.to_string()))?;
        if trouble.is_some_and(|trouble| trouble.is_away()) {
            self.revive(stop).map_err(TurnError::Failed)?;
        }
        Ok(run)
    }

    fn revive(&mut self, stop: Stop<'_>) -> Result<(), String> {
        let Self { park, scenario, certificates, network, ledger, .. } = self;
        park.start_one(0, scenario, certificates.as_ref(), network, ledger, stop)
    }

    /// Returns the load of a case; with `warm_up`, a load of that length.
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
        let may_be_uneven = case.kill_for.is_some()
            || case.lose.is_some()
            || self.scenario.servers.kind == ServerKind::Command;
        // A file that the balancer sends in place of a server does not name the server.
        let is_told = rival.product != Product::None && rival.way != Way::Offloaded;
        let is_seen =
            is_told && rival.fleet.is_none() && case.servers > 1 && case.check_balance && !may_be_uneven;
        let weights = self.scenario.servers.weights(case.servers);
        let delay = self.scenario.servers.delay_min(case.servers);
        let cores = thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
        let threads = match case.demand {
            Demand::Rate { per_s, calls, .. } => {
                (per_s * f64::from(calls.unwrap_or(1)) / RATE_PER_THREAD) as usize + 1
            }
            Demand::Connections(count) => count as usize,
        };
        let asked = match rival.way {
            Way::Dns => self.park.addresses(case.servers).into_iter().map(|(_, address)| address).collect(),
            _ => vec![address],
        };
        let target = TargetSpec {
            method: case.method.clone(),
            url: String::new(),
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
        let targets = targets.iter().flat_map(|target| {
            let at =
                |address| TargetSpec { url: format!("{scheme}://{address}{}", case.path), ..target.clone() };
            asked.iter().map(at)
        });
        let has_size = case.method == "GET" && case.mix.is_none();
        Ok(Load {
            targets: targets.collect(),
            mode,
            log: Vec::new(),
            requests_max: case.requests.filter(|_| warm_up.is_none()),
            duration,
            seed: self.scenario.seed,
            streams: None,
            keep_alive: case.keep_alive,
            connections_max: 20_000,
            threads: threads.clamp(1, cores),
            // With an open loop, the generator is awake for too long for real-time priority: it would delay
            // the measured programs.
            ahead: matches!(case.demand, Demand::Connections(_)),
            timeout: case.timeout.duration(),
            sources: Vec::new(),
            tls: TlsOut {
                verify: true,
                ca: self.certificates.as_ref().map(|pem| pem.authority.clone()),
                server_name: Some(HOST.to_owned()),
                client_certificate: None,
                version_min: TlsVersion::V1_3,
            },
            verify: None,
            server_header: "X-Origin".to_owned(),
            follow: match rival.way {
                Way::Redirected => self.park.urls(case.servers, setup.tls_out),
                _ => Vec::new(),
            },
            expected: Expected {
                statuses: statuses(case, self.scenario.servers.kind),
                // In cases with trouble, failures are the measure and not a flaw.
                body_bytes: case.size.filter(|_| has_size && !case.has_trouble()),
                think_ns: (delay.0 > 0).then_some(delay.0 * 1_000_000),
                balance: balance_of(
                    (case, rival),
                    &self.park.addresses(case.servers),
                    &weights,
                    setup.workers,
                )
                .filter(|_| is_seen),
                ..Expected::default()
            },
            output: None,
        })
    }
}

/// Returns the expected distribution of requests over servers with these names, by a rival's algorithm.
/// `None` = the algorithm does not determine it.
fn balance_of(
    (case, rival): (&Case, &Rival),
    servers: &[(String, SocketAddr)],
    weights: &[u32],
    workers: u32,
) -> Option<Balance> {
    use Product::{Apache, Caddy, Envoy, Haproxy, Nginx, Weir};
    let sum: f64 = weights.iter().copied().map(f64::from).sum();
    match rival.scheme {
        _ if rival.has_own_scheme() => None,
        Scheme::RoundRobin if takes_turns(rival.product, case) => {
            let weight = |at: usize| weights.get(at).copied().unwrap_or(1);
            let weights = servers.iter().enumerate().map(|(at, (name, _))| (name.clone(), weight(at)));
            let order = match rival.product {
                Weir | Haproxy | Nginx | Apache | Product::Nftables => Order::Spread,
                Envoy | Product::Traefik => Order::ByDeadline,
                _ => Order::InRuns,
            };
            Some(Balance::InTurn(Turns { weights: weights.collect(), counters: workers, order }))
        }
        Scheme::RoundRobin if sum > 0.0 => {
            let shares = servers.iter().zip(weights);
            let shares = shares.map(|((name, _), weight)| (name.clone(), f64::from(*weight) / sum));
            Some(Balance::Shares(shares.collect()))
        }
        Scheme::RoundRobin => Some(Balance::Equal(servers.len())),
        // The client has one address.
        Scheme::Source => Some(Balance::One),
        // A server with a far lower weight may get no request.
        Scheme::LeastConnections if has_light_one(weights) => None,
        Scheme::Random if sum > 0.0 => None,
        // These products select a server per request. Others may select per connection, and there are few of
        // them.
        Scheme::Random if matches!(rival.product, Weir | Haproxy | Nginx | Envoy | Caddy) => {
            // With few requests, a server may get none by chance.
            let share = |(name, _): &(String, SocketAddr)| (name.clone(), 1.0 / servers.len() as f64);
            Some(Balance::Shares(servers.iter().map(share).collect()))
        }
        // The number of requests per server depends on its response times. These products use every server.
        Scheme::LeastConnections
            if matches!(rival.product, Weir | Haproxy | Nginx | Apache | Envoy | Caddy) =>
        {
            Some(Balance::Each(servers.len()))
        }
        Scheme::LeastConnections | Scheme::Random => None,
    }
}

/// Returns true if round robin selects a server for each request, and keeps its position for the whole run.
fn takes_turns(product: Product, case: &Case) -> bool {
    // These products select a server per connection.
    let is_by_connection = product.is_kernel() || product == Product::Sozu;
    // A reload may restart the round.
    case.reload_every.is_none() && !(is_by_connection && case.keep_alive)
}

/// Returns the statuses that are expected; empty = any status of success. A WebDAV listing has a status that
/// distinguishes it from an ordinary page.
fn statuses(case: &Case, kind: ServerKind) -> Vec<u16> {
    const MULTI_STATUS: u16 = 207;
    let is_listing = case.method == "PROPFIND" && case.mix.is_none() && kind == ServerKind::Storage;
    if is_listing { vec![MULTI_STATUS] } else { Vec::new() }
}

/// Returns true if one server has less than a quarter of another's weight.
fn has_light_one(weights: &[u32]) -> bool {
    let (least, most) = (weights.iter().min(), weights.iter().max());
    least.zip(most).is_some_and(|(least, most)| least * 4 < *most)
}

/// Returns a flaw with the party at fault.
fn flaw_of(run: &Run, flaw: &Flaw) -> RunFlaw {
    RunFlaw { text: flaw.text.clone(), whose: if run.is_own(flaw) { Whose::Lab } else { Whose::Measured } }
}

fn phases_of(case: &Case) -> Vec<Phase> {
    let phases = case.phases.iter().map(|(per_s, lasts)| Phase {
        from_per_s: *per_s,
        to_per_s: *per_s,
        duration_s: lasts.duration().as_secs_f64(),
    });
    phases.collect()
}

/// Returns the load model, and the duration of a closed loop.
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
            let phases = match (warm_up, case.phases.is_empty()) {
                (None, false) => phases_of(case),
                // The warm-up uses the first rate of the case.
                (Some(_), false) => {
                    let first = case.phases.first().map_or(1.0, |(per_s, _)| per_s.max(1.0));
                    vec![Phase { from_per_s: first, to_per_s: first, duration_s }]
                }
                _ => vec![Phase { from_per_s: per_s, to_per_s: per_s, duration_s }],
            };
            let phases = Phases::new(phases);
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
