//! The recommendation of a report.

use serde::Serialize;
use weir_balance::Algorithm;
use weir_config::simulation::{Measure, Scenario, SimTime};
use weir_stats::Interval;

use super::AlgorithmReport;

/// The winning algorithm, the distances of the others, and whether these exceed noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// Best algorithm in the ranking.
    pub winner: Algorithm,
    /// Latency that determines the ranking.
    pub measure: Measure,
    /// Latency of the winner, in seconds.
    pub winner_s: f64,
    /// Algorithms that cannot be distinguished from the winner.
    pub ties: Vec<Algorithm>,
    /// Distance of each other algorithm, in the order of the ranking.
    pub behind: Vec<Tie>,
    /// Recommendation in plain words, one sentence for each item.
    pub text: Vec<String>,
}

/// Comparison of an algorithm with the winner. Differences are computed seed by seed, which removes effects
/// common to all algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tie {
    /// Algorithm compared with the winner.
    pub algorithm: Algorithm,
    /// Excess of its latency, as a share of the winner's.
    pub more_share: f64,
    /// Lower end of the 95 percent confidence interval of the excess; `None` with a single seed.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// True if it is worse beyond noise: by latency, or because more requests fail. `None` with a single
    /// seed.
    pub is_beyond_noise: Option<bool>,
    /// True if it is behind because requests fail.
    pub fails: bool,
}

/// Relative difference below which latencies count as equal. Quantiles are accurate to 0.4 percent.
const EQUAL_SHARE: f64 = 0.005;

impl Recommendation {
    /// Creates the recommendation. `ranked` has at least one element.
    pub(super) fn new(scenario: &Scenario, ranked: &[AlgorithmReport]) -> Self {
        let measure = scenario.rank_by;
        let winner = &ranked[0];
        let others: Vec<Tie> = ranked[1..].iter().map(|other| Tie::new(winner, other)).collect();
        let is_tie = |tie: &&Tie| tie.is_beyond_noise == Some(false);
        let ties: Vec<Algorithm> = others.iter().filter(is_tie).map(|tie| tie.algorithm).collect();
        let behind: Vec<Tie> = others.iter().filter(|tie| !is_tie(tie)).copied().collect();
        let mut recommendation = Self {
            winner: winner.algorithm,
            measure,
            winner_s: winner.ranked_s(),
            ties,
            behind,
            text: Vec::new(),
        };
        recommendation.text = recommendation.sentences(ranked, scenario.in_use);
        recommendation
    }

    fn sentences(&self, ranked: &[AlgorithmReport], in_use: Option<Algorithm>) -> Vec<String> {
        let Self { winner, measure, ties, behind, .. } = self;
        let time = SimTime::from_seconds(self.winner_s);
        let mut text = Vec::new();
        if ranked.len() == 1 {
            text.push(format!("{winner}: {} {time}. There was nothing to compare it with.", measure.name()));
            return text;
        }
        let has_seeds = ranked[0].ranked.len() > 1;
        if ties.is_empty() {
            text.push(format!("{winner} wins: {} {time}.", measure.name()));
        } else {
            let verb = if ties.len() == 1 { "is" } else { "are" };
            text.push(format!(
                "{winner} has the lowest {} ({time}), but {} {verb} as good: the difference is within noise.",
                measure.name(),
                list(ties)
            ));
        }
        if let Some(next) = behind.first() {
            text.push(
                next.sentence(
                    if ties.is_empty() { "The next" } else { "The first that is worse" },
                    has_seeds,
                ),
            );
        }
        if let Some(last) = behind.get(1..).and_then(<[Tie]>::last) {
            text.push(last.sentence("The last", has_seeds));
        }
        text.push(self.advice(has_seeds, in_use));
        text
    }

    fn advice(&self, has_seeds: bool, in_use: Option<Algorithm>) -> String {
        let known = in_use.unwrap_or_default();
        let why = if in_use.is_some() { "in use today" } else { "the default" };
        if !has_seeds {
            return "One seed cannot tell a difference from noise: use more (--seeds).".to_owned();
        }
        if self.winner == known || self.ties.contains(&known) {
            return format!("{known}, {why}, is a good choice here.");
        }
        match self.behind.iter().find(|tie| tie.algorithm == known) {
            Some(tie) if tie.fails => format!("Choose {} rather than {known}, {why}.", self.winner),
            Some(tie) => format!(
                "Choose {} rather than {known}, {why}, which has {} more.",
                self.winner,
                percent(tie.more_share)
            ),
            None => format!("Choose {}.", self.winner),
        }
    }
}

impl Tie {
    fn new(winner: &AlgorithmReport, other: &AlgorithmReport) -> Self {
        let base = winner.ranked_s();
        let share = |seconds: f64| if base > 0.0 { seconds / base } else { 0.0 };
        let interval = Interval::of_differences(&other.ranked, &winner.ranked);
        let more_share = share(other.ranked_s() - base);
        let fails = other.error_share.mean > winner.error_share.mean + super::ERROR_SHARE_TOLERATED;
        let is_slower = |interval: Interval| interval.excludes_zero() && more_share.abs() >= EQUAL_SHARE;
        Self {
            algorithm: other.algorithm,
            more_share,
            low: interval.map(|interval| share(interval.low)),
            high: interval.map(|interval| share(interval.high)),
            is_beyond_noise: interval.map(|interval| fails || is_slower(interval)),
            fails,
        }
    }

    fn sentence(&self, which: &str, has_seeds: bool) -> String {
        let name = self.algorithm;
        if self.fails {
            return format!("{which}, {name}, leaves more requests without an answer.");
        }
        // The factor says more than a percentage of four digits.
        if self.more_share >= 9.0 {
            let noise = if has_seeds { "; that is beyond noise" } else { "" };
            return format!("{which}, {name}, has {:.0} times as much{noise}.", 1.0 + self.more_share);
        }
        let more = percent(self.more_share);
        match (self.low, self.high) {
            (Some(low), Some(high)) if has_seeds => format!(
                "{which}, {name}, has {more} more (95% sure: {} to {} more); that is beyond noise.",
                percent(low),
                percent(high)
            ),
            _ => format!("{which}, {name}, has {more} more."),
        }
    }
}

/// Formats a share as `12%`. Large shares stay percentages, because a multiple would be misread.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 10.0 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

fn list(names: &[Algorithm]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(|name| name.name()).collect();
            format!("{} and {last}", first.join(", "))
        }
    }
}
