//! The report of a comparison of fleet policies.

use serde::Serialize;

use super::demand::Demand;
use super::provider::World;
use super::run::{Outcome, Point};
use crate::report::Figure;

/// Result of a comparison of policies.
#[derive(Debug, Clone, Serialize)]
pub struct FleetReport {
    /// Name of the demand.
    pub demand: String,
    /// Duration of the demand in seconds; if seeds differ, that of the first.
    pub seconds: usize,
    /// Highest rate; if seeds differ, that of the first.
    pub peak_per_s: f64,
    /// Mean rate; if seeds differ, that of the first.
    pub mean_per_s: f64,
    /// First seed.
    pub seed: u64,
    /// Number of seeds.
    pub seeds: u64,
    /// Properties of the simulated servers.
    pub world: World,
    /// Result of each set of rules, in the order in which they were named. The others are compared with the
    /// first.
    pub policies: Vec<PolicyReport>,
    /// Conclusions in words.
    pub verdict: Vec<String>,
}

/// Result of one set of rules: means over seeds, with their confidence intervals.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyReport {
    /// Name of the set of rules.
    pub name: String,
    /// Time for which servers ran, in minutes.
    pub server_minutes: Figure,
    /// Seconds in which the demand exceeded the capacity of the servers that took requests.
    pub overloaded_s: Figure,
    /// Seconds at whose end requests had waited too long or were refused.
    pub waited_s: Figure,
    /// Share of refused requests.
    pub refused_share: Figure,
    /// Number of times a server was recalled, woken, created or drained.
    pub changes: Figure,
    /// Most servers running at the same time.
    pub servers_max: u32,
    /// Cost of the servers.
    pub cost: Figure,
    /// Energy used by the servers, in kilowatt-hours.
    pub energy_kwh: Figure,
    /// Comparison with the first set of rules; `None` for the first.
    pub versus: Option<Versus>,
    /// Outcome of each seed.
    pub outcomes: Vec<Outcome>,
}

/// Comparison of one set of rules with the first.
#[derive(Debug, Clone, Serialize)]
pub struct Versus {
    /// Server-minutes as a share of the first's, over all seeds.
    pub server_minutes: f64,
    /// Overloaded seconds as a share of the first's; `None` = the first had none.
    pub overloaded_s: Option<f64>,
    /// Number of seeds with more server-minutes than the first set of rules.
    pub seeds_with_more_server_minutes: usize,
    /// Number of seeds with more overloaded seconds than the first set of rules.
    pub seeds_with_more_overload: usize,
}

impl FleetReport {
    /// Creates the report from the outcomes of each set of rules, in the order of the seeds.
    pub fn new(demand: &Demand, world: &World, seed: u64, results: Vec<(String, Vec<Outcome>)>) -> Self {
        let seeds = results.first().map_or(0, |(_, outcomes)| outcomes.len());
        let mut policies: Vec<PolicyReport> =
            results.into_iter().map(|(name, outcomes)| PolicyReport::new(name, world, outcomes)).collect();
        if let [first, others @ ..] = policies.as_mut_slice() {
            others.iter_mut().for_each(|other| other.versus = Some(Versus::of(other, first)));
        }
        let verdict = verdict(&policies);
        Self {
            demand: demand.name.clone(),
            seconds: demand.rates_per_s.len(),
            peak_per_s: demand.peak_per_s(),
            mean_per_s: demand.mean_per_s(),
            seed,
            seeds: seeds as u64,
            world: *world,
            policies,
            verdict,
        }
    }
}

impl PolicyReport {
    fn new(name: String, world: &World, outcomes: Vec<Outcome>) -> Self {
        let figure =
            |value: &dyn Fn(&Outcome) -> f64| Figure::of(&outcomes.iter().map(value).collect::<Vec<_>>());
        Self {
            name,
            server_minutes: figure(&Outcome::server_minutes),
            overloaded_s: figure(&|outcome| outcome.overloaded_s as f64),
            waited_s: figure(&|outcome| outcome.waited_s as f64),
            refused_share: figure(&|outcome| outcome.refused as f64 / outcome.requests.max(1) as f64),
            changes: figure(&|outcome| f64::from(outcome.counts.total())),
            servers_max: outcomes.iter().map(|outcome| outcome.servers_max).max().unwrap_or(0),
            cost: figure(&|outcome| outcome.server_s / 3_600.0 * world.price_per_hour),
            energy_kwh: figure(&|outcome| outcome.energy_wh / 1_000.0),
            versus: None,
            outcomes,
        }
    }

    /// Returns the course of the first seed.
    pub fn points(&self) -> &[Point] {
        self.outcomes.first().map_or(&[], |outcome| &outcome.points)
    }
}

impl Versus {
    fn of(policy: &PolicyReport, first: &PolicyReport) -> Self {
        let pairs = || policy.outcomes.iter().zip(&first.outcomes);
        let overloaded = first.overloaded_s.mean;
        Self {
            server_minutes: policy.server_minutes.mean / first.server_minutes.mean,
            overloaded_s: (overloaded > 0.0).then(|| policy.overloaded_s.mean / overloaded),
            seeds_with_more_server_minutes: pairs().filter(|(a, b)| a.server_s > b.server_s).count(),
            seeds_with_more_overload: pairs().filter(|(a, b)| a.overloaded_s > b.overloaded_s).count(),
        }
    }

    /// Returns true if it is no worse than the first in server-minutes and in overloaded seconds, over all
    /// seeds.
    pub fn is_no_worse(&self) -> bool {
        self.server_minutes <= 1.0 && self.overloaded_s.is_none_or(|share| share <= 1.0)
    }
}

fn verdict(policies: &[PolicyReport]) -> Vec<String> {
    let Some((first, others)) = policies.split_first() else { return Vec::new() };
    let line = |other: &PolicyReport| {
        let versus = other.versus.as_ref()?;
        let more = |ratio: f64, what: &str| match (ratio - 1.0) * 100.0 {
            percent if percent > 0.0 => format!("{percent:.1}% more {what}"),
            percent => format!("{:.1}% fewer {what}", -percent),
        };
        let overload = match versus.overloaded_s {
            Some(ratio) => more(ratio, "overloaded seconds"),
            None if other.overloaded_s.mean > 0.0 => {
                format!("{:.1} overloaded seconds where that has none", other.overloaded_s.mean)
            }
            None => "no overloaded second, as that".to_owned(),
        };
        let words = match (
            versus.server_minutes <= 1.0,
            versus.overloaded_s.is_none_or(|ratio| ratio <= 1.0)
                && (versus.overloaded_s.is_some() || other.overloaded_s.mean == 0.0),
        ) {
            (true, true) => "better",
            (false, false) => "worse",
            (true, false) => "cheaper and slower",
            (false, true) => "dearer and faster",
        };
        Some(format!(
            "{} is {words} than {}: {}, {overload}.",
            other.name,
            first.name,
            more(versus.server_minutes, "server-minutes")
        ))
    };
    others.iter().filter_map(line).collect()
}
