//! Tables in Markdown: one for each scenario, and one with the requirements and their results.

use std::fmt::Write as _;

use crate::results::{Measured, Results, ScenarioResult};
use crate::rivals::Product;
use crate::scenario::{IDLE_BYTES_TARGET, SYSCALLS_MAX, Scenario};
use crate::statistics::{Interval, Spread};

/// Table of the requirements.
pub(crate) struct Verdict {
    pub(crate) text: String,
    /// True if all requirements were met.
    pub(crate) kept: bool,
}

/// Describes one sample in a few words.
pub(crate) fn brief(measured: &Measured) -> String {
    match measured {
        Measured::ClosedLoop(sample) => format!(
            "{:.2} us CPU a request, {:.0}/s, {:.2} cores",
            sample.cpu_us_per_request, sample.requests_per_s, sample.cores_used
        ),
        Measured::OpenLoop(sample) => format!(
            "p50 {:.0} us, p99 {:.0} us, p99.9 {:.0} us at {:.0}/s, the machine stood still for {:.1}%{}",
            sample.p50_us,
            sample.p99_us,
            sample.p999_us,
            sample.rate_per_s,
            sample.stalled * 100.0,
            if sample.valid { "" } else { " (too often, or the schedule was not kept: not judged)" }
        ),
        Measured::Memory { plain, tls } => format!(
            "{} KiB idle, {:.0} bytes a connection, {:.0} with TLS",
            plain.idle_bytes / 1024,
            plain.bytes_per_connection(),
            tls.bytes_per_connection()
        ),
        Measured::Syscalls(sample) => {
            let most = sample.most.iter().map(|(name, count)| format!("{name} {count:.2}"));
            format!("{:.2} calls a request: {}", sample.per_request, most.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns the table of one scenario with all contestants.
pub(crate) fn scenario(results: &Results, result: &ScenarioResult) -> String {
    let mut text = format!("\n### {}\n\n", result.scenario.name());
    let head = match result.scenario {
        Scenario::Latency => {
            "| | p50 us | p99 us | p99.9 us | CPU us/request | % left out |\n|---|---|---|---|---|---|\n"
        }
        Scenario::Memory => {
            "| | idle KiB | held KiB | bytes/connection | TLS idle KiB | TLS held KiB | TLS bytes/connection |\n|---|---|---|---|---|---|---|\n"
        }
        Scenario::Syscalls => "| | calls/request | of them |\n|---|---|---|\n",
        _ => {
            "| | CPU us/request | all of its core | requests/s | p50 us | p99 us | cores used |\n|---|---|---|---|---|---|---|\n"
        }
    };
    text.push_str(head);
    for (at, contestant) in results.contestants.iter().enumerate() {
        if result.samples.iter().any(|sample| sample.contestant == at) {
            let _ = writeln!(text, "| {} | {} |", contestant.name, cells(result, at).join(" | "));
        }
    }
    for (name, why) in &result.failures {
        let _ = writeln!(text, "\n{name}, a failed turn: {why}");
    }
    text
}

fn cells(result: &ScenarioResult, at: usize) -> Vec<String> {
    let memory = |figure: fn(&Measured) -> Option<f64>| spread(result.figures(at, figure), 0);
    match result.scenario {
        Scenario::Latency => vec![
            spread(result.open(at, |sample| sample.p50_us), 0),
            spread(result.open(at, |sample| sample.p99_us), 0),
            spread(result.open(at, |sample| sample.p999_us), 0),
            spread(result.open(at, |sample| sample.cpu_us_per_request), 2),
            spread(result.open(at, |sample| sample.stalled * 100.0), 1),
        ],
        Scenario::Memory => vec![
            memory(|it| plain_and_tls(it).map(|(plain, _)| plain.idle_bytes as f64 / 1024.0)),
            memory(|it| plain_and_tls(it).map(|(plain, _)| plain.held_bytes as f64 / 1024.0)),
            memory(|it| plain_and_tls(it).map(|(plain, _)| plain.bytes_per_connection())),
            memory(|it| plain_and_tls(it).map(|(_, tls)| tls.idle_bytes as f64 / 1024.0)),
            memory(|it| plain_and_tls(it).map(|(_, tls)| tls.held_bytes as f64 / 1024.0)),
            memory(|it| plain_and_tls(it).map(|(_, tls)| tls.bytes_per_connection())),
        ],
        Scenario::Syscalls => {
            let per_request = spread(result.figures(at, per_request), 2);
            let first = result.samples.iter().find(|sample| sample.contestant == at);
            let most = match first.map(|sample| &sample.measured) {
                Some(Measured::Syscalls(sample)) => {
                    let most = sample.most.iter().map(|(name, count)| format!("{name} {count:.2}"));
                    most.collect::<Vec<_>>().join(", ")
                }
                _ => String::new(),
            };
            vec![per_request, most]
        }
        _ => vec![
            spread(result.closed(at, |sample| sample.cpu_us_per_request), 2),
            spread(result.figures(at, core_us), 2),
            spread(result.closed(at, |sample| sample.requests_per_s), 0),
            spread(result.closed(at, |sample| sample.p50_us), 0),
            spread(result.closed(at, |sample| sample.p99_us), 0),
            spread(result.closed(at, |sample| sample.cores_used), 2),
        ],
    }
}

fn plain_and_tls(measured: &Measured) -> Option<(&crate::idle::Sample, &crate::idle::Sample)> {
    if let Measured::Memory { plain, tls } = measured { Some((plain, tls)) } else { None }
}

fn core_us(measured: &Measured) -> Option<f64> {
    if let Measured::ClosedLoop(sample) = measured { sample.core_us_per_request } else { None }
}

fn per_request(measured: &Measured) -> Option<f64> {
    if let Measured::Syscalls(sample) = measured { Some(sample.per_request) } else { None }
}

/// Formats as `median (min..max)`.
fn spread(figures: Vec<(usize, f64)>, decimals: usize) -> String {
    match Spread::of(figures.into_iter().map(|(_, figure)| figure)) {
        Some(Spread { min, median, max }) => {
            format!("{median:.decimals$} ({min:.decimals$}..{max:.decimals$})")
        }
        None => "-".to_owned(),
    }
}

/// Returns the table of the requirements with their results and targets.
pub(crate) fn verdict(results: &Results) -> Verdict {
    let machine = &results.machine;
    let mut text = format!(
        "\n## Weir against its rivals\n\n{} ({} cores, {} GiB), {}, {}, {}; load before the start {:.2}; {} turns of {} s, {} connections\n\n\
         | scenario | Weir | best rival | ratio: median (min..max) | required | target | |\n|---|---|---|---|---|---|---|\n",
        machine.cpu,
        machine.cores,
        machine.memory_gib,
        machine.kernel,
        machine.system,
        machine.network,
        machine.load_before,
        results.turns,
        results.turn_s,
        results.connections,
    );
    let mut kept = true;
    if let Some(weir) = results.contestants.iter().position(|one| one.product == Product::Weir) {
        for result in &results.scenarios {
            let row = row(results, result, weir);
            kept &= row.kept;
            let _ = writeln!(text, "| {} | {} |", result.scenario.name(), row.cells.join(" | "));
        }
    } else {
        text.push_str("| Weir took no part | | | | | | |\n");
    }
    for silent in results.silent() {
        kept = false;
        let _ = writeln!(text, "\nFAIL: {silent}");
    }
    Verdict { text, kept }
}

struct Row {
    cells: Vec<String>,
    kept: bool,
}

impl Row {
    fn new(cells: [String; 5], kept: bool, verdict: &str) -> Self {
        Self { cells: cells.into_iter().chain([verdict.to_owned()]).collect(), kept }
    }

    fn missing() -> Self {
        let none = || "-".to_owned();
        Self::new([none(), none(), none(), none(), none()], false, "not measured")
    }
}

fn row(results: &Results, result: &ScenarioResult, weir: usize) -> Row {
    match result.scenario {
        Scenario::Latency => latency_row(results, result, weir),
        Scenario::Memory => memory_row(result, weir),
        Scenario::Syscalls => syscalls_row(result, weir),
        _ => closed_row(results, result, weir),
    }
    .unwrap_or_else(Row::missing)
}

fn closed_row(results: &Results, result: &ScenarioResult, weir: usize) -> Option<Row> {
    let cpu = |at| result.closed(at, |sample| sample.cpu_us_per_request);
    let median = |at| Spread::of(cpu(at).into_iter().map(|(_, figure)| figure)).map(|spread| spread.median);
    let ours = median(weir)?;
    let rivals = (0..results.contestants.len()).filter(|&at| at != weir);
    let (best, theirs) =
        rivals.filter_map(|at| Some((at, median(at)?))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let ratios = Spread::of(ratios(&cpu(weir), &cpu(best)))?;
    let Spread { min, median: ratio, max } = ratios;
    let limits = result.scenario.limits();
    let kept = limits.is_none_or(|limits| ratio <= limits.required);
    let verdict = match limits {
        None => "",
        Some(limits) if ratio <= limits.target => "target",
        Some(limits) if ratio <= limits.required => "pass",
        Some(_) => "FAIL",
    };
    let limit = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("<= {value:.2}"));
    let cells = [
        format!("{ours:.2} us"),
        format!("{theirs:.2} us ({})", results.contestants[best].name),
        format!("{ratio:.3} ({min:.3}..{max:.3})"),
        limit(limits.map(|limits| limits.required)),
        limit(limits.map(|limits| limits.target)),
    ];
    Some(Row::new(cells, kept, verdict))
}

/// Returns the ratio of Weir's figure to the rival's, for each turn that both have.
fn ratios(ours: &[(usize, f64)], theirs: &[(usize, f64)]) -> Vec<f64> {
    pairs(ours, theirs).map(|(ours, theirs)| ours / theirs).collect()
}

fn pairs<'a>(ours: &'a [(usize, f64)], theirs: &'a [(usize, f64)]) -> impl Iterator<Item = (f64, f64)> + 'a {
    ours.iter().filter_map(|(turn, ours)| {
        let (_, theirs) = theirs.iter().find(|(other, _)| other == turn)?;
        Some((*ours, *theirs))
    })
}

fn latency_row(results: &Results, result: &ScenarioResult, weir: usize) -> Option<Row> {
    let haproxy = results.contestants.iter().position(|one| one.product == Product::HaProxy)?;
    let (ours, theirs) =
        (result.open(weir, |sample| sample.p99_us), result.open(haproxy, |sample| sample.p99_us));
    let differences: Vec<_> = pairs(&ours, &theirs).map(|(ours, theirs)| ours - theirs).collect();
    let median = |figures: &[(usize, f64)]| Spread::of(figures.iter().map(|(_, figure)| *figure));
    let (our_median, their_median) = (median(&ours)?.median, median(&theirs)?.median);
    let Interval { low, median: middle, high } = Interval::of(&differences)?;
    // The result is worse only if the whole interval is.
    let kept = low <= 0.0;
    let verdict = match (kept, high <= 0.0) {
        (true, true) => "target",
        (true, false) => "pass (no worse)",
        (false, _) => "FAIL",
    };
    let cells = [
        format!("p99 {our_median:.0} us"),
        format!("p99 {their_median:.0} us ({})", results.contestants[haproxy].name),
        format!("difference {middle:+.1} us (95%: {low:+.1}..{high:+.1})"),
        "<= 0".to_owned(),
        "<= 0".to_owned(),
    ];
    Some(Row::new(cells, kept, verdict))
}

/// Returns the row for memory, which has a target but no requirement yet.
fn memory_row(result: &ScenarioResult, weir: usize) -> Option<Row> {
    let bytes = |figure: fn(&Measured) -> Option<f64>| {
        Spread::of(result.figures(weir, figure).into_iter().map(|(_, figure)| figure))
            .map(|spread| spread.median)
    };
    let plain = bytes(|it| plain_and_tls(it).map(|(plain, _)| plain.bytes_per_connection()))?;
    let tls = bytes(|it| plain_and_tls(it).map(|(_, tls)| tls.bytes_per_connection()))?;
    let (plain_target, tls_target) = IDLE_BYTES_TARGET;
    let verdict = if plain <= plain_target && tls <= tls_target { "target" } else { "above the target" };
    let cells = [
        format!("{plain:.0} and {tls:.0} bytes/connection"),
        "-".to_owned(),
        "-".to_owned(),
        "-".to_owned(),
        format!("<= {plain_target:.0} and {tls_target:.0}"),
    ];
    Some(Row::new(cells, true, verdict))
}

fn syscalls_row(result: &ScenarioResult, weir: usize) -> Option<Row> {
    let figures = result.figures(weir, per_request);
    let calls = Spread::of(figures.into_iter().map(|(_, figure)| figure))?.median;
    let kept = calls <= SYSCALLS_MAX;
    let cells = [
        format!("{calls:.2} calls/request"),
        "-".to_owned(),
        "-".to_owned(),
        format!("<= {SYSCALLS_MAX}"),
        "-".to_owned(),
    ];
    Some(Row::new(cells, kept, if kept { "pass" } else { "FAIL" }))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::machine::Machine;
    use crate::results::{ClosedLoop, Sample};
    use crate::rivals::Contestant;

    fn closed(contestant: usize, turn: usize, cpu_us_per_request: f64) -> Sample {
        let measured = Measured::ClosedLoop(ClosedLoop {
            cpu_us_per_request,
            core_us_per_request: Some(cpu_us_per_request),
            requests_per_s: 30_000.0,
            p50_us: 1000.0,
            p99_us: 2000.0,
            cores_used: 1.0,
            stolen: 0.0,
        });
        Sample { contestant, turn, measured }
    }

    fn results(samples: Vec<Sample>) -> Results {
        let contestant = |name: &str, product| Contestant {
            name: name.to_owned(),
            product,
            program: PathBuf::from("/usr/sbin/x"),
        };
        Results {
            machine: Machine::look(),
            started_s: 0,
            turns: 2,
            turn_s: 1,
            connections: 64,
            contestants: vec![
                contestant("weir-1", Product::Weir),
                contestant("haproxy-1", Product::HaProxy),
                contestant("nginx-1", Product::Nginx),
            ],
            scenarios: vec![ScenarioResult { scenario: Scenario::SmallKept, samples, failures: Vec::new() }],
        }
    }

    #[test]
    fn ratios_are_taken_within_a_turn_against_the_rival_with_the_best_median() {
        // The second turn was slower by half for all contestants, which does not change the ratio.
        let results = results(vec![
            closed(0, 0, 8.0),
            closed(1, 0, 12.0),
            closed(2, 0, 10.0),
            closed(0, 1, 12.0),
            closed(1, 1, 18.0),
            closed(2, 1, 15.0),
        ]);
        let verdict = verdict(&results);
        assert!(verdict.text.contains("(nginx-1) | 0.800 (0.800..0.800) | <= 0.90 | <= 0.80 | target |"));
        assert!(verdict.kept);
    }

    #[test]
    fn a_rival_that_was_never_measured_fails_the_comparison_with_its_reason() {
        let mut results = results(vec![closed(0, 0, 8.0), closed(2, 0, 10.0)]);
        results.scenarios[0].failures = vec![("haproxy-1".to_owned(), "it ended: no such proxy".to_owned())];
        let verdict = verdict(&results);
        let said = "\nFAIL: 1k-keepalive: haproxy-1 was never measured: it ended: no such proxy\n";
        assert!(verdict.text.contains(said), "{}", verdict.text);
        assert!(!verdict.kept);
    }

    #[test]
    fn a_ratio_above_what_is_required_fails() {
        let results = results(vec![closed(0, 0, 9.5), closed(1, 0, 12.0), closed(2, 0, 10.0)]);
        let verdict = verdict(&results);
        assert!(verdict.text.contains("| FAIL |"), "{}", verdict.text);
        assert!(!verdict.kept);
    }

    #[test]
    fn a_scenario_that_weir_could_not_do_is_not_kept() {
        let results = results(vec![closed(1, 0, 12.0), closed(2, 0, 10.0)]);
        assert!(!verdict(&results).kept);
    }
}
