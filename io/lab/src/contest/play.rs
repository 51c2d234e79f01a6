//! Plays a scenario: every case with every rival, repeatedly, in a random order from the seed.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use weir_config::lab::{self, Case, Mark, Product, Rival, Scenario, ServerKind, Topology};
use weir_config::{Diagnostic, Severity, Source};

use super::remote::Hosts;
use super::rivals::{self, Program};
use super::servers::ServerPark;
use super::stage::{Certificates, Cleaned, Ledger, Network, Place, Stop, is_root};
use super::store::{Configured, Played, Store, StoreError};
use super::turn::{Ring, TurnError};
use super::{identity, keepalived, machine};
use crate::engine::raise_descriptor_limit;
use crate::rng::Rng;

/// Scenario to play, and its options.
#[derive(Debug, Clone, Copy)]
pub struct Play<'a> {
    /// Scenario.
    pub scenario: &'a Scenario,
    /// Text of the scenario, for error messages and to recognize it.
    pub source: &'a Source,
    /// True for the quick form.
    pub quick: bool,
    /// Path of the program of Weir.
    pub own: &'a Path,
}

/// Event during a play.
#[derive(Debug)]
pub enum Event<'a> {
    /// Remains of killed labs were removed.
    Cleaned(Cleaned),
    /// Warning about a line of the scenario.
    Warning(Diagnostic),
    /// A rival is left out.
    LeftOut {
        /// Name of the rival.
        rival: &'a str,
        /// Reason.
        why: &'a str,
    },
    /// The preparation is complete.
    Ready {
        /// Total number of runs.
        runs: usize,
        /// Runs that the file already contains.
        done: usize,
    },
    /// A run has ended.
    Ran {
        /// The run.
        run: &'a Played,
        /// Number of completed runs.
        done: usize,
        /// Total number of runs.
        runs: usize,
        /// Estimated time of the remaining runs.
        left: Duration,
    },
}

/// Reason why a scenario was not played to its end.
#[derive(Debug)]
pub enum PlayError {
    /// Error at a line of the scenario.
    At(Box<Diagnostic>),
    /// Other error.
    Other(String),
    /// The user stopped the lab. Completed runs are kept.
    Stopped,
}

impl From<StoreError> for PlayError {
    fn from(cause: StoreError) -> Self {
        Self::Other(format!("results: {cause}"))
    }
}

/// Plays the runs that `store` does not contain. Calls `stop` often. Returns the names of rivals that were
/// left out during the play, because they did not start or did not accept their configuration. The report
/// says why.
///
/// # Errors
/// If the scenario cannot be played on this machine, or if the user stops the lab.
pub fn play(
    play: Play<'_>,
    store: &mut Store,
    stop: Stop<'_>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<String>, PlayError> {
    let Play { scenario, source, quick, own } = play;
    is_the_same(store, source, quick)?;
    // Servers and balancers inherit the limit. A program may still set another limit itself.
    raise_descriptor_limit();
    let ledgers = Ledger::directory();
    let cleaned = Ledger::clean(&ledgers);
    if !cleaned.is_nothing() {
        tell(Event::Cleaned(cleaned));
    }
    let hosts = scenario.hosts.as_ref().map(|hosts| Hosts::connect(hosts, own, stop)).transpose();
    let hosts = match hosts {
        Err(_) if stop() => return Err(PlayError::Stopped),
        hosts => hosts.map_err(|cause| at_line(source, scenario.topology_mark, cause))?,
    };
    let (rivals, left_out) = find_rivals(&play, hosts.as_ref(), tell)?;
    let mut ledger = Ledger::open(&ledgers)
        .map_err(|cause| PlayError::Other(format!("a ledger in {}: {cause}", ledgers.display())))?;
    let directory = work_directory(&mut ledger).map_err(PlayError::Other)?;
    let largest = scenario.cases.iter().map(|case| case.servers).max().unwrap_or(1);
    let network = match hosts {
        Some(hosts) => Network::over(hosts),
        None => make_network(&play, largest, &mut ledger, tell)?,
    };
    if let Some(pair) = &scenario.balancer.pair {
        let made = network.add_spare(scenario.topology, &mut ledger);
        let program = made.and_then(|()| keepalived::find(pair.program.as_deref()));
        let program = program.map_err(|cause| at_line(source, pair.mark, cause))?;
        store.set_meta("keepalived", &program.version)?;
    }
    let needs_tls = scenario.balancer.tls_in || scenario.balancer.tls_out;
    let certificates =
        needs_tls.then(|| Certificates::make(directory.path())).transpose().map_err(PlayError::Other)?;
    if let (Some(pem), Some(hosts)) = (&certificates, network.hosts()) {
        give(pem, hosts).map_err(PlayError::Other)?;
    }
    let described = network.describe(scenario.topology);
    identity::compare(store, &play, &rivals, (&described, network.hosts()))?;
    let park = ServerPark::start(
        scenario,
        own,
        directory.path(),
        certificates.as_ref(),
        &network,
        &mut ledger,
        stop,
    );
    let park = match park {
        Err(_) if stop() => return Err(PlayError::Stopped),
        park => park.map_err(|cause| at_line(source, scenario.servers.mark, cause))?,
    };
    // Fields are dropped in this order: servers before their network and their files.
    let mut ring =
        Ring { scenario, directory: directory.path(), network, certificates, park, ledger, told: None };
    keep_facts(&play, &ring, &rivals, &left_out, store)?;

    take_turns(&play, &mut ring, &rivals, store, stop, tell)
}

/// Plays the turns that are not in the file. Returns the rivals that were left out meanwhile.
fn take_turns(
    play: &Play<'_>,
    ring: &mut Ring<'_>,
    rivals: &[(Rival, Program)],
    store: &mut Store,
    stop: Stop<'_>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<String>, PlayError> {
    let Play { scenario, source, .. } = play;
    let done = store.done()?;
    let turns: Vec<Turn> = turns(scenario, rivals.len()).collect();
    let key = |turn: &Turn| {
        (scenario.cases[turn.case].name.clone(), rivals[turn.rival].0.name.clone(), turn.repeat)
    };
    let open: Vec<(usize, &Turn)> =
        turns.iter().enumerate().filter(|(_, turn)| !done.contains(&key(turn))).collect();
    let mut runs = turns.len();
    let mut count = runs - open.len();
    tell(Event::Ready { runs, done: count });
    let (begun, mut played) = (Instant::now(), 0_u32);
    // Indices of the rivals that are left out from here on.
    let mut ended: Vec<usize> = Vec::new();
    for (at, (place, turn)) in open.iter().enumerate() {
        if ended.contains(&turn.rival) {
            continue;
        }
        let (case, (rival, program)) = (&scenario.cases[turn.case], &rivals[turn.rival]);
        let ran = match ring.play(case, rival, program, stop) {
            Ok(ran) => ran,
            // A stop also makes pending waits fail, so such errors count as a stop.
            Err(TurnError::Stopped) => return Err(PlayError::Stopped),
            Err(TurnError::Failed(_) | TurnError::Rival(_)) if stop() => return Err(PlayError::Stopped),
            Err(TurnError::Failed(cause)) => {
                return Err(at_line(source, rival.mark, format!("{}, {}: {cause}", case.name, rival.name)));
            }
            Err(TurnError::PortTaken(address, cause)) => {
                let said = format!("{} cannot listen on {address}: {cause}", rival.name);
                return Err(at_line(source, scenario.balancer.port_mark.or(rival.mark), said));
            }
            Err(TurnError::Rival(cause)) => {
                ended.push(turn.rival);
                let mut others = rivals.iter().enumerate().filter(|(at, _)| !ended.contains(at));
                if others.all(|(_, (other, _))| other.product == Product::None) {
                    let said = format!("{}, {}: {cause}", case.name, rival.name);
                    return Err(at_line(source, rival.mark, said));
                }
                let why = format!("{}, repeat {}: {cause}", case.name, turn.repeat + 1);
                store.leave_out(&rival.name, &why)?;
                tell(Event::LeftOut { rival: &rival.name, why: &why });
                runs -= open[at..].iter().filter(|(_, other)| other.rival == turn.rival).count();
                continue;
            }
        };
        let run = Played { repeat: turn.repeat, place: u32::try_from(*place).unwrap_or(u32::MAX), ..ran };
        store.add(&run)?;
        count += 1;
        played += 1;
        let each = begun.elapsed() / played;
        let left = each.saturating_mul(u32::try_from(runs - count).unwrap_or(u32::MAX));
        tell(Event::Ran { run: &run, done: count, runs, left });
        rest(scenario.pause.duration(), stop)?;
    }
    Ok(ended.into_iter().map(|at| rivals[at].0.name.clone()).collect())
}

/// One turn of a rival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    repeat: u32,
    case: usize,
    rival: usize,
}

/// Returns all turns: repeats in order, in each repeat every case, in each case every rival in random order.
/// Slow changes of the machine therefore affect all rivals alike.
fn turns(scenario: &Scenario, rivals: usize) -> impl Iterator<Item = Turn> {
    let mut rng = Rng::new(scenario.seed);
    let (repeats, cases) = (scenario.repeats, scenario.cases.len());
    let blocks = (0..repeats).flat_map(move |repeat| (0..cases).map(move |case| (repeat, case)));
    blocks.flat_map(move |(repeat, case)| {
        let mut order: Vec<usize> = (0..rivals).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, ((u128::from(rng.next()) * (at as u128 + 1)) >> 64) as usize);
        }
        order.into_iter().map(move |rival| Turn { repeat, case, rival })
    })
}

/// Refuses to continue results of another scenario. [`identity`] checks the programs and the machine.
fn is_the_same(store: &Store, source: &Source, quick: bool) -> Result<(), PlayError> {
    let form = if quick { "quick" } else { "full" };
    for (key, own) in [("scenario", source.text.as_str()), ("form", form)] {
        match store.meta(key)? {
            None => store.set_meta(key, own)?,
            Some(there) if there == own => {}
            Some(_) => {
                let what = if key == "form" { "the other form of this scenario" } else { "another scenario" };
                return Err(PlayError::Other(format!(
                    "the file has results of {what}: give --output another name"
                )));
            }
        }
    }
    Ok(())
}

/// Rivals with an existing program, and the names of the others with the reasons.
type Rivals = (Vec<(Rival, Program)>, Vec<(String, String)>);

fn find_rivals(
    play: &Play<'_>,
    hosts: Option<&Hosts>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Rivals, PlayError> {
    let balancer = hosts.and_then(|hosts| hosts.at(Place::Balancer));
    let has_weights = !play.scenario.servers.weights.is_empty();
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for rival in &play.scenario.rivals {
        let program = match rival.product.is_kernel() && !has_namespaces(play.scenario) {
            true => Err("its rules would be for all of this machine: it needs network namespaces, and these need root".to_owned()),
            false => match balancer {
                Some(host) => host.find(rival.product, rival.program.as_deref()),
                None => rivals::find(rival.product, rival.program.as_deref(), play.own),
            }
            .and_then(|program| {
                let how = (rival.scheme, rival.scheduler.as_deref());
                rivals::is_able(rival.product, how, has_weights, &program).map(|()| program)
            }),
        };
        match program {
            Ok(program) => found.push((rival.clone(), program)),
            // A program that the scenario names must exist.
            Err(why) if rival.program.is_some() => return Err(at_line(play.source, rival.mark, why)),
            Err(why) => {
                tell(Event::LeftOut { rival: &rival.name, why: &why });
                left_out.push((rival.name.clone(), why));
            }
        }
    }
    if found.iter().all(|(rival, _)| rival.product == Product::None)
        && play.scenario.rivals.len() != found.len()
    {
        return Err(PlayError::Other("nobody is left to be compared".to_owned()));
    }
    Ok((found, left_out))
}

/// Returns true if the parties get separate network namespaces.
fn has_namespaces(scenario: &Scenario) -> bool {
    matches!(scenario.topology, Topology::Namespaces(_)) && is_root()
}

fn make_network(
    play: &Play<'_>,
    servers: u32,
    ledger: &mut Ledger,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Network, PlayError> {
    let Play { scenario, source, .. } = play;
    if scenario.topology != Topology::Loopback && !has_namespaces(scenario) {
        let said =
            "network namespaces need root: it is played over loopback, without the rates of links".to_owned();
        if let Some(mark) = scenario.topology_mark {
            tell(Event::Warning(lab::complaint(source, mark, Severity::Warning, said)));
        }
        return Network::make(Topology::Loopback, servers, ledger).map_err(PlayError::Other);
    }
    Network::make(scenario.topology, servers, ledger)
        .map_err(|cause| at_line(source, scenario.topology_mark, cause))
}

/// Copies the certificates to all machines.
fn give(pem: &Certificates, hosts: &Hosts) -> Result<(), String> {
    for path in [&pem.site, &pem.authority] {
        let text = fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        for host in hosts.each() {
            host.write(&host.directory.join(path.file_name().unwrap_or_default()), &text)?;
        }
    }
    Ok(())
}

/// Creates the work directory in memory if possible, so that servers' files do not wait for disks.
pub(super) fn work_directory(ledger: &mut Ledger) -> Result<tempfile::TempDir, String> {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let failed = |cause: std::io::Error| format!("a directory in {}: {cause}", parent.display());
    let directory = tempfile::Builder::new().prefix("weir-lab-").tempdir_in(&parent).map_err(failed)?;
    ledger.work_directory(directory.path()).map_err(failed)?;
    // Workers of rivals may run as another user.
    let all_may_read = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(directory.path(), all_may_read).map_err(failed)?;
    Ok(directory)
}

/// Stores the facts about scenario, machine and rivals for the report.
fn keep_facts(
    play: &Play<'_>,
    ring: &Ring<'_>,
    rivals: &[(Rival, Program)],
    left_out: &[(String, String)],
    store: &Store,
) -> Result<(), PlayError> {
    if store.meta("kernel")?.is_none() {
        for (name, value) in machine::facts() {
            store.set_meta(&name, &value)?;
        }
        for host in ring.network.hosts().map(Hosts::each).unwrap_or_default() {
            for (name, value) in host.facts().map_err(PlayError::Other)? {
                store.set_meta(&name, &value)?;
            }
        }
        let product = match play.scenario.servers.kind {
            ServerKind::Nginx => Some(Product::Nginx),
            ServerKind::Apache => Some(Product::Apache),
            ServerKind::Origin | ServerKind::Storage | ServerKind::Command => None,
        };
        if let Some(product) = product {
            let named = play.scenario.servers.program.as_deref();
            let found = match ring.network.host(Place::Server(0)) {
                Some(host) => host.find(product, named),
                None => rivals::find(product, named, play.own),
            };
            let version = found.map(|program| program.version).unwrap_or_default();
            store.set_meta("servers", &format!("{} {version}", product.name()))?;
        }
        store.set_meta("name", &play.source.name)?;
        store.set_meta("topology", &ring.network.describe(play.scenario.topology))?;
    }
    let shown = std::net::SocketAddr::from(([127, 0, 0, 1], 8080));
    for rival in &play.scenario.rivals {
        let mut configured = Configured { rival: rival.name.clone(), ..Configured::default() };
        match rivals.iter().find(|(other, _)| other.name == rival.name) {
            None => {
                let why = left_out.iter().find(|(name, _)| *name == rival.name);
                configured.left_out = why.map(|(_, why)| why.clone()).unwrap_or_default();
            }
            Some((_, program)) => {
                configured.version.clone_from(&program.version);
                configured.program = program.path.display().to_string();
                let bind = ring.front().map_or(shown, |(bind, _)| bind);
                let recipe = play.scenario.cases.first().and_then(|case: &Case| {
                    let directory = ring.network.directory(Place::Balancer, ring.directory);
                    ring.recipe(case, rival, bind, &directory.join("balancer"))
                });
                configured.config = recipe.map(|recipe| recipe.shown()).unwrap_or_default();
                if let Some(pair) = &play.scenario.balancer.pair {
                    let beside =
                        keepalived::config(Place::Balancer, pair.interval.duration(), std::process::id());
                    configured.config.push_str(&format!("\n# keepalived beside it\n{beside}"));
                }
            }
        }
        store.set_rival(&configured)?;
    }
    Ok(())
}

fn at_line(source: &Source, mark: Option<Mark>, message: String) -> PlayError {
    match mark {
        Some(mark) => PlayError::At(Box::new(lab::complaint(source, mark, Severity::Error, message))),
        None => PlayError::Other(message),
    }
}

fn rest(pause: Duration, stop: Stop<'_>) -> Result<(), PlayError> {
    let until = Instant::now() + pause;
    while Instant::now() < until {
        if stop() {
            return Err(PlayError::Stopped);
        }
        std::thread::sleep(Duration::from_millis(10).min(until.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(repeats: u32, seed: u64) -> Scenario {
        let text =
            format!("repeats = {repeats}\nseed = {seed}\n[[test]]\nconnections = [1, 2]\npath = \"/\"\n");
        lab::load(&Source::new("x", text), false, &|_| None).unwrap()
    }

    #[test]
    fn everybody_has_a_turn_in_each_block_and_the_order_is_the_seeds() {
        let all: Vec<Turn> = turns(&scenario(20, 1), 3).collect();
        assert_eq!(all.len(), 20 * 2 * 3);
        let mut firsts = [0; 3];
        for block in all.chunks(3) {
            let mut rivals: Vec<usize> = block.iter().map(|turn| turn.rival).collect();
            firsts[rivals[0]] += 1;
            rivals.sort_unstable();
            assert_eq!(rivals, [0, 1, 2]);
            assert!(block.iter().all(|turn| (turn.repeat, turn.case) == (block[0].repeat, block[0].case)));
        }
        assert!(firsts.iter().all(|count| *count > 4), "{firsts:?}");
        assert_eq!(all, turns(&scenario(20, 1), 3).collect::<Vec<_>>());
        assert_ne!(all, turns(&scenario(20, 2), 3).collect::<Vec<_>>());
    }

    #[test]
    fn results_of_another_scenario_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("x")).unwrap();
        let source = |text: &str| Source::new("x", text);
        is_the_same(&store, &source("a"), true).unwrap();
        is_the_same(&store, &source("a"), true).unwrap();
        let said = |text, quick| match is_the_same(&store, &source(text), quick) {
            Err(PlayError::Other(said)) => said,
            other => panic!("{other:?}"),
        };
        assert!(said("b", true).contains("another scenario"));
        assert!(said("a", false).contains("other form"));
    }
}
