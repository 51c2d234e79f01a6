//! `weir lab find-capacity`: measures the highest rate that keeps a latency goal.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use serde_json::json;
use weir_config::plan::{TlsOut, TlsVersion};
use weir_lab::contest::{Capacity, CapacitySearch, Goal, Probe};
use weir_lab::{Arrivals, Expected, Load, Mode, Phase, Phases, Run, Running, TargetSpec};

use super::arguments::CapacityArgs;
use super::capacity_file::Place;
use crate::check::print_out;
use crate::top::Termination;

/// Requests per second that one generator thread sends with ease.
const RATE_PER_THREAD: f64 = 15_000.0;
const TICK: Duration = Duration::from_millis(20);

pub(super) fn run(args: &CapacityArgs) -> Result<ExitCode, String> {
    let goal =
        Goal { quantile: args.quantile, latency_ms: args.latency.as_secs_f64() * 1e3, success: args.success };
    let place = args.fleet.as_deref().map(|fleet| Place::find(&args.config, fleet)).transpose()?;
    let termination = Termination::listen().map_err(|cause| format!("signals: {cause}"))?;
    let mut search =
        CapacitySearch::new(goal, (args.start, args.max), args.precision, args.votes, args.confidence);
    while let Some(per_s) = search.next() {
        let run = ask(args, per_s, &termination)?;
        let probe = probe(&run, per_s, &goal);
        if !args.quiet {
            let latency = probe.latency_ms.map_or("nothing answered".to_owned(), |ms| format!("{ms:.2} ms"));
            let said = match (probe.is_valid, goal.is_kept(&probe)) {
                (false, _) => "the generator was the limit",
                (true, true) => "kept",
                (true, false) => "missed",
            };
            eprintln!("{per_s:.1}/s: {latency}, {:.2}% as expected: {said}", probe.success * 100.0);
        }
        search.tell(&probe);
    }
    let found = search.result()?;
    let printed = print_out(&if args.json { to_json(&found) } else { text(&found, args) });
    if let Some(place) = place.filter(|_| found.per_s > 0.0) {
        if found.missed_per_s.is_none() {
            return Err(format!("no capacity is written: {:.1}/s is not too much; raise --max", found.per_s));
        }
        // Rounds down, so that the server certainly has this capacity.
        let capacity =
            if found.per_s < 10.0 { (found.per_s * 10.0).floor() / 10.0 } else { found.per_s.floor() };
        if capacity <= 0.0 {
            return Err(format!("no capacity is written: {:.2}/s is less than 0.1/s", found.per_s));
        }
        let path = place.write(capacity)?;
        if !args.quiet {
            eprintln!(
                "{}: capacity = {capacity}, from the next reload on; it is at least that with {}% confidence",
                path.display(),
                one_sided(found.confidence)
            );
        }
    }
    Ok(if found.per_s > 0.0 { printed } else { ExitCode::from(1) })
}

fn ask(args: &CapacityArgs, per_s: f64, termination: &Termination) -> Result<Run, String> {
    let duration_s = args.duration.as_secs_f64().max(1.0 / per_s);
    let phases = Phases::new(vec![Phase { from_per_s: per_s, to_per_s: per_s, duration_s }]);
    let cores = thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
    let load = Load {
        targets: vec![TargetSpec {
            method: "GET".to_owned(),
            url: args.url.clone(),
            headers: args.header.clone(),
            ..TargetSpec::default()
        }],
        mode: Mode::Open { phases: phases.map_err(|cause| cause.to_string())?, arrivals: Arrivals::Even },
        log: Vec::new(),
        requests_max: None,
        duration: None,
        seed: 1,
        streams: None,
        keep_alive: true,
        connections_max: 10_000,
        threads: ((per_s / RATE_PER_THREAD) as usize + 1).min(cores),
        ahead: false,
        // A request that takes ten times the latency goal has missed it, whatever its result.
        timeout: (args.latency * 10).max(Duration::from_secs(1)),
        sources: Vec::new(),
        tls: TlsOut {
            verify: !args.insecure,
            ca: None,
            server_name: None,
            client_certificate: None,
            version_min: TlsVersion::V1_2,
        },
        verify: None,
        server_header: String::new(),
        follow: Vec::new(),
        expected: Expected::default(),
        output: None,
    };
    let mut running = Running::start(load).map_err(|cause| cause.to_string())?;
    while !running.is_finished() {
        if termination.came() {
            running.stop();
            return Err("stopped".to_owned());
        }
        thread::sleep(TICK);
    }
    running.finish().map_err(|cause| cause.to_string())
}

/// Returns the result of one run. A server that hangs or gives no response misses the goal; that is not a
/// flaw of the generator.
fn probe(run: &Run, per_s: f64, goal: &Goal) -> Probe {
    let summary = run.summary();
    Probe {
        per_s,
        latency_ms: run.latency_quantile_ms(goal.quantile),
        success: summary.requests.succeeded as f64 / summary.requests.sent.max(1) as f64,
        is_valid: !summary.flaws.iter().any(|flaw| run.is_own(flaw)),
    }
}

fn text(found: &Capacity, args: &CapacityArgs) -> String {
    let goal = format!(
        "{} for {}% of the requests",
        weir_lab::units::time(args.latency.as_nanos() as u64),
        args.quantile * 100.0
    );
    if found.per_s == 0.0 {
        // A rate kept the goal at times, but not in the repeated runs.
        let is_unsteady = found.rates.iter().any(|(_, _, kept)| *kept);
        return match is_unsteady {
            true => format!("no rate was shown to keep {goal}: loads of the same rate differ too much\n"),
            false => format!("no rate keeps {goal}\n"),
        };
    }
    let mut said = match found.missed_per_s {
        Some(missed) => format!(
            "{:.1}/s keep {goal}, {missed:.1}/s do not: the capacity is between them with {}% confidence\n",
            found.per_s,
            percent(found.confidence)
        ),
        None => format!(
            "{:.1}/s keep {goal}, with {}% confidence; no higher rate was shown to be too much\n",
            found.per_s,
            one_sided(found.confidence)
        ),
    };
    if let Some(knee) = found.knee_per_s {
        said.push_str(&format!("up to {knee:.1}/s latency stays within twice that of the lowest rate\n"));
    }
    said
}

/// Returns the confidence in percent for one end of the interval. The other end has the other half of the
/// error.
fn one_sided(confidence: f64) -> f64 {
    percent(f64::midpoint(confidence, 1.0))
}

/// Converts a share to percent and rounds it, to hide binary rounding errors.
fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}

fn to_json(found: &Capacity) -> String {
    let rates = found.rates.iter().map(|(per_s, latency_ms, kept)| {
        json!({ "per_s": per_s, "latency_ms": latency_ms.is_finite().then_some(latency_ms), "kept": kept })
    });
    let value = json!({
        "per_s": found.per_s,
        "missed_per_s": found.missed_per_s,
        "confidence": (found.confidence > 0.0).then_some(found.confidence),
        "knee_per_s": found.knee_per_s,
        "rates": rates.collect::<Vec<_>>(),
    });
    format!("{value}\n")
}
