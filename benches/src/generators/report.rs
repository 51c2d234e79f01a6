//! Report about load generators.

use std::fmt::Write as _;

use super::tools::Tool;
use super::{Part, Results, Sample};
use crate::statistics::Spread;

/// Limits for a rate, as in `weir load`: the share of late starts and the share of sent requests.
const LATE_MAX: f64 = 0.01;
const SENT_MIN: f64 = 0.99;

/// Describes one turn in a few words.
pub(super) fn brief(sample: &Sample) -> String {
    let cost = format!("{:.2} us CPU a request, {:.0}/s", sample.cpu_us_per_request, sample.requests_per_s);
    match sample.kept {
        None => cost,
        Some(kept) => format!(
            "{:.1}% sent, {:.2}% late, by up to {:.1} ms, {cost}",
            kept.sent * 100.0,
            kept.late * 100.0,
            kept.late_max_ms
        ),
    }
}

/// Returns whether all requirements were met.
pub(super) fn is_kept(results: &Results) -> bool {
    let is_kept = |part: &Part| {
        let is_cheap = match part.no_more_than {
            // The requirement was not shown unless both generators had a turn.
            Some(tool) => ratio(part, tool).is_some_and(|ratio| ratio.median <= 1.0),
            None => part.failures.iter().all(|(tool, _)| *tool != Tool::Weir),
        };
        is_cheap && is_rate_kept(part) != Some(false)
    };
    let parts = results.parts.iter().all(is_kept);
    parts && is_long_kept(results)
}

/// Returns whether Weir's median turn at a rate was on time and complete; `None` if there was no rate.
fn is_rate_kept(part: &Part) -> Option<bool> {
    if part.samples.iter().all(|sample| sample.kept.is_none()) {
        return None;
    }
    let own =
        || part.samples.iter().filter(|sample| sample.tool == Tool::Weir).filter_map(|sample| sample.kept);
    let late = Spread::of(own().map(|kept| kept.late));
    let sent = Spread::of(own().map(|kept| kept.sent));
    Some(late.is_some_and(|late| late.median <= LATE_MAX) && sent.is_some_and(|sent| sent.median >= SENT_MIN))
}

fn is_long_kept(results: &Results) -> bool {
    results
        .long
        .as_ref()
        .is_none_or(|long| long.is_valid && long.kept.late <= LATE_MAX && long.kept.sent >= SENT_MIN)
}

pub(super) fn tables(results: &Results) -> String {
    let mut text = String::from("\n## Load generators\n");
    for part in &results.parts {
        let _ = write!(text, "\n### {}\n\n", part.name);
        let has_rate = part.samples.iter().any(|sample| sample.kept.is_some());
        text.push_str(match has_rate {
            false => "| | CPU us/request | requests/s | Weir's CPU by its |\n|---|---|---|---|\n",
            true => "| | sent % | late % | latest ms | CPU us/request | Weir's CPU by its |\n|---|---|---|---|---|---|\n",
        });
        for tool in tools(part) {
            let _ = writeln!(text, "| {} | {} |", tool.name(), cells(part, tool, has_rate).join(" | "));
        }
        for (tool, why) in &part.failures {
            let _ = writeln!(text, "\n{}, a failed turn: {why}", tool.name());
        }
        if let Some(tool) = part.no_more_than {
            let verdict = match ratio(part, tool) {
                None => "no turn of both, **missed**".to_owned(),
                Some(ratio) if ratio.median <= 1.0 => format!("{:.2}, kept", ratio.median),
                Some(ratio) => format!("{:.2}, **missed**", ratio.median),
            };
            let _ = writeln!(text, "\nRequired: no more than {}: {verdict}", tool.name());
        }
        if let Some(is_kept) = is_rate_kept(part) {
            let verdict = if is_kept { "kept" } else { "**missed**" };
            let _ = writeln!(
                text,
                "\nRequired of Weir's median turn: at least {:.0}% sent, at most {:.0}% late: {verdict}",
                SENT_MIN * 100.0,
                LATE_MAX * 100.0
            );
        }
    }
    text.push_str("\n### System calls at full speed\n\n| | a request | of them |\n|---|---|---|\n");
    for (tool, calls) in &results.syscalls {
        let all: f64 = calls.iter().map(|(_, count)| count).sum();
        let each: Vec<String> = calls.iter().map(|(name, count)| format!("{name} {count:.2}")).collect();
        let _ = writeln!(text, "| {} | {all:.2} | {} |", tool.name(), each.join(", "));
    }
    if let Some(long) = &results.long {
        let _ = writeln!(
            text,
            "\nWeir's generator at {}/s for {} s: {:.2}% sent, {:.3}% over 1 ms late, by up to {:.1} ms; it calls the run {}: {}",
            long.rate_per_s,
            long.seconds,
            long.kept.sent * 100.0,
            long.kept.late * 100.0,
            long.kept.late_max_ms,
            if long.is_valid { "valid" } else { "invalid" },
            if is_long_kept(results) { "kept" } else { "**missed**" }
        );
    }
    text
}

fn tools(part: &Part) -> Vec<Tool> {
    let mut tools = Vec::new();
    for sample in &part.samples {
        if !tools.contains(&sample.tool) {
            tools.push(sample.tool);
        }
    }
    tools.sort_by_key(|tool| *tool != Tool::Weir);
    tools
}

fn cells(part: &Part, tool: Tool, has_rate: bool) -> Vec<String> {
    let own = || part.samples.iter().filter(move |sample| sample.tool == tool);
    let cost = spread(own().map(|sample| sample.cpu_us_per_request), 2);
    let ratio = match tool {
        Tool::Weir => String::new(),
        other => ratio(part, other).map_or_else(|| "-".to_owned(), |ratio| shown(ratio, 2)),
    };
    if !has_rate {
        return vec![cost, spread(own().map(|sample| sample.requests_per_s), 0), ratio];
    }
    let kept = || own().filter_map(|sample| sample.kept);
    vec![
        spread(kept().map(|kept| kept.sent * 100.0), 1),
        spread(kept().map(|kept| kept.late * 100.0), 2),
        spread(kept().map(|kept| kept.late_max_ms), 1),
        cost,
        ratio,
    ]
}

/// Returns the ratio of Weir's CPU per request to another generator's in the same turn.
fn ratio(part: &Part, other: Tool) -> Option<Spread> {
    let of = |tool: Tool, turn: usize| {
        let sample = part.samples.iter().find(|sample| sample.tool == tool && sample.turn == turn);
        sample.map(|sample| sample.cpu_us_per_request)
    };
    let turns = part.samples.iter().filter(|sample| sample.tool == Tool::Weir).map(|sample| sample.turn);
    Spread::of(turns.filter_map(|turn| Some(of(Tool::Weir, turn)? / of(other, turn)?)))
}

fn spread(figures: impl Iterator<Item = f64>, decimals: usize) -> String {
    Spread::of(figures).map_or_else(|| "-".to_owned(), |it| shown(it, decimals))
}

/// Formats as `median (min..max)`.
fn shown(Spread { min, median, max }: Spread, decimals: usize) -> String {
    format!("{median:.decimals$} ({min:.decimals$}..{max:.decimals$})")
}

#[cfg(test)]
mod tests {
    use super::super::Long;
    use super::super::kept::Kept;
    use super::*;
    use crate::machine::Machine;

    fn sample(tool: Tool, turn: usize, cpu_us_per_request: f64) -> Sample {
        Sample { tool, turn, cpu_us_per_request, requests_per_s: 1e5, kept: None }
    }

    fn results(wrk: f64, late: f64) -> Results {
        let samples = vec![
            sample(Tool::Wrk, 0, wrk),
            sample(Tool::Weir, 0, 5.0),
            sample(Tool::Weir, 1, 4.0),
            sample(Tool::Wrk, 1, wrk),
        ];
        let part = Part {
            name: "full speed".to_owned(),
            no_more_than: Some(Tool::Wrk),
            samples,
            failures: vec![(Tool::Ab, "broke".to_owned())],
        };
        let kept = Kept { sent: 1.0, late, late_max_ms: 2.0 };
        Results {
            machine: Machine::look(),
            started_s: 0,
            parts: vec![part],
            syscalls: vec![(Tool::Weir, vec![("read".to_owned(), 1.0), ("write".to_owned(), 1.0)])],
            long: Some(Long { rate_per_s: 20_000, seconds: 30, kept, is_valid: true }),
        }
    }

    #[test]
    fn ratios_are_of_the_same_turn_and_say_whether_it_was_kept() {
        let text = tables(&results(5.0, 0.001));
        assert!(
            text.contains("| wrk | 5.00 (5.00..5.00) | 100000 (100000..100000) | 0.90 (0.80..1.00) |"),
            "{text}"
        );
        assert!(
            text.contains("no more than wrk: 0.90, kept") && text.contains("ab, a failed turn: broke"),
            "{text}"
        );
        assert!(text.contains("| weir | 2.00 | read 1.00, write 1.00 |"), "{text}");
        assert!(is_kept(&results(5.0, 0.001)));
        assert!(!is_kept(&results(4.0, 0.001)) && !is_kept(&results(5.0, 0.02)));
    }

    #[test]
    fn a_requirement_that_was_never_measured_is_missed() {
        let mut results = results(5.0, 0.001);
        results.parts[0].samples.retain(|sample| sample.tool != Tool::Wrk);
        assert!(!is_kept(&results));
        let text = tables(&results);
        assert!(text.contains("no more than wrk: no turn of both, **missed**"), "{text}");
    }

    #[test]
    fn what_is_late_or_not_sent_at_a_rate_is_missed() {
        for (sent, late, is_all_kept) in [(1.0, 0.001, true), (1.0, 0.02, false), (0.98, 0.001, false)] {
            let mut results = results(5.0, 0.001);
            results.parts[0].no_more_than = None;
            results.parts[0].failures.clear();
            for sample in &mut results.parts[0].samples {
                sample.kept = Some(Kept { sent, late, late_max_ms: 2.0 });
            }
            assert_eq!(is_kept(&results), is_all_kept, "{sent} {late}");
            assert_eq!(
                tables(&results).contains("median turn: at least 99% sent, at most 1% late: kept"),
                is_all_kept
            );
        }
    }
}
