//! Comparison of the default scaling policy with the published reactive rule. Both get the same demand, from
//! seeds that were not used to choose the policy's settings.

use std::fmt::Write as _;
use std::process::Command;

use serde::Deserialize;

use crate::error::{Context, Error, Result};
use crate::options::Fleet;
use crate::rivals::Contestant;

/// Demand patterns with their number of seeds: a day takes longer than a minute.
const PATTERNS: [(&str, u64); 6] =
    [("published", 100), ("varied", 100), ("steps", 20), ("daily", 20), ("flash", 50), ("bursts", 50)];
/// Patterns for which less of both is required; for the others, no more of either.
const BETTER: [&str; 2] = ["published", "varied"];
/// The settings were chosen with seeds up to 1000; these are others.
const FIRST_SEED: u64 = 1_000_001;
/// Demand of a week whose days differ only by chance, for the policy that forecasts.
const DAYS: (&str, u64) = ("days", 5);
/// Limit of the forecast's cost there, as a ratio of server-minutes to the published rule. The forecast pays
/// for its certainty.
const FORECAST_COST_MAX: f64 = 1.25;

/// Runs `fleet`. Returns whether all requirements were met.
pub(crate) fn run(options: &Fleet) -> Result<bool> {
    let contestant = Contestant::weir()?;
    let mut kept = true;
    let mut table = String::from(
        "\n## The default scaling policy beside the published rule\n\nSeeds that its settings were not chosen by; means of a seed, \
         published rule / default policy, and the ratio. \"No more\" is: not more by more than noise, the 95% interval of the difference \
         seed by seed.\n\n\
         | demand | seeds | server-minutes | overloaded seconds | changes | required | |\n|---|---|---|---|---|---|---|\n",
    );
    let first_seed = options.first_seed.unwrap_or(FIRST_SEED);
    for (pattern, seeds) in PATTERNS {
        let report = play(&contestant, &["published", "target"], pattern, seeds, first_seed)?;
        let [reactive, default] = report.policies.as_slice() else {
            return Err(Error::new("weir fleet backtest compares other policies than it was told to"));
        };
        let ratio = |of: fn(&Policy) -> f64| of(default) / of(reactive);
        let (servers, overloaded) = (ratio(|it| it.server_minutes.mean), ratio(|it| it.overloaded_s.mean));
        let is_better = BETTER.contains(&pattern);
        let is_worse = [|it: &Outcome| it.server_s, |it: &Outcome| it.overloaded_s]
            .into_iter()
            .any(|of| is_more(&reactive.outcomes, &default.outcomes, of));
        let is_kept = if is_better { servers < 1.0 && overloaded < 1.0 } else { !is_worse };
        kept &= is_kept;
        let cell =
            |of: fn(&Policy) -> f64| format!("{:.1} / {:.1} ({:.3})", of(reactive), of(default), ratio(of));
        let _ = writeln!(
            table,
            "| {pattern} | {seeds} | {} | {} | {:.1} / {:.1} | {} | {} |",
            cell(|it| it.server_minutes.mean),
            cell(|it| it.overloaded_s.mean),
            reactive.changes.mean,
            default.changes.mean,
            if is_better { "less of both" } else { "no more of either" },
            if is_kept { "kept" } else { "NOT KEPT" },
        );
    }
    println!("{table}");
    let (text, is_kept) = forecasts(&contestant, first_seed)?;
    println!("{text}");
    Ok(kept && is_kept)
}

/// Compares the forecasting policy with both others. It must have fewer overloaded seconds at a limited cost.
/// Returns a table and the verdict.
fn forecasts(contestant: &Contestant, first_seed: u64) -> Result<(String, bool)> {
    let (pattern, seeds) = DAYS;
    let report = play(contestant, &["published", "target", "predictive"], pattern, seeds, first_seed)?;
    let [published, default, predictive] = report.policies.as_slice() else {
        return Err(Error::new("weir fleet backtest compares other policies than it was told to"));
    };
    let least = published.overloaded_s.mean.min(default.overloaded_s.mean);
    let cost = predictive.server_minutes.mean / published.server_minutes.mean;
    let is_kept = predictive.overloaded_s.mean < least && cost < FORECAST_COST_MAX;
    let mut table = format!(
        "## Forecasts\n\nDemand \"{pattern}\", means of {seeds} seeds. Required: fewer overloaded seconds than either of the others, and less than \
         {FORECAST_COST_MAX} times the server-minutes of the published rule: {}.\n\n\
         | policy | server-minutes | beside the published rule | overloaded seconds | changes |\n|---|---|---|---|---|\n",
        if is_kept { "kept" } else { "NOT KEPT" },
    );
    for (name, policy) in [("published", published), ("target", default), ("predictive", predictive)] {
        let _ = writeln!(
            table,
            "| {name} | {:.1} | {:.3} | {:.1} | {:.1} |",
            policy.server_minutes.mean,
            policy.server_minutes.mean / published.server_minutes.mean,
            policy.overloaded_s.mean,
            policy.changes.mean,
        );
    }
    Ok((table, is_kept))
}

fn play(
    contestant: &Contestant,
    policies: &[&str],
    pattern: &str,
    seeds: u64,
    first_seed: u64,
) -> Result<Report> {
    let output = Command::new(&contestant.program)
        .args(["fleet", "backtest", "--json", "--pattern", pattern])
        .args(policies.iter().flat_map(|policy| ["--policy", *policy]))
        .args(["--seeds", &seeds.to_string(), "--seed", &first_seed.to_string()])
        .output()
        .context("weir fleet backtest")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("weir fleet backtest: {}", said.trim())));
    }
    serde_json::from_slice(&output.stdout).context("weir fleet backtest --json")
}

/// Returns whether the second value is larger by more than noise: the 95% interval of the mean difference by
/// seed lies above 0.
fn is_more(first: &[Outcome], second: &[Outcome], of: fn(&Outcome) -> f64) -> bool {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| of(b) - of(a)).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance =
        differences.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    // Close to the normal quantile; Student's t for 20 seeds is 2.09.
    mean > 2.1 * (variance / count).sqrt()
}

/// Part of the output of `weir fleet backtest --json`.
#[derive(Debug, Deserialize)]
struct Report {
    policies: Vec<Policy>,
}

#[derive(Debug, Deserialize)]
struct Policy {
    server_minutes: Figure,
    overloaded_s: Figure,
    changes: Figure,
    outcomes: Vec<Outcome>,
}

/// Result of one seed.
#[derive(Debug, Deserialize)]
struct Outcome {
    server_s: f64,
    overloaded_s: f64,
}

#[derive(Debug, Deserialize)]
struct Figure {
    mean: f64,
}
