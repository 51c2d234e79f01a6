//! Whether one file of results is worse than another: a gate for changes.

use weir_config::lab::Measure;
use weir_stats::compare::{Estimate, SIGNIFICANT, holm, mann_whitney};

use super::analysis::Analysis;

/// One case of one rival, in both files.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// Which case.
    pub case: String,
    /// Who.
    pub rival: String,
    /// By which figure.
    pub measure: Measure,
    /// In the first file.
    pub before: Estimate,
    /// In the second.
    pub after: Estimate,
    /// How likely chance alone makes such a difference, as one of many.
    pub adjusted: f64,
}

impl Regression {
    /// The second file's median / the first's.
    pub fn ratio(&self) -> f64 {
        self.after.median / self.before.median
    }

    /// The two differ beyond chance, and by more than `tolerance` (0.02 = 2 percent).
    pub fn differs(&self, tolerance: f64) -> bool {
        self.adjusted < SIGNIFICANT && (self.ratio() - 1.0).abs() > tolerance
    }

    /// The second file is worse, beyond chance and by more than `tolerance`.
    pub fn is_worse(&self, tolerance: f64) -> bool {
        self.differs(tolerance) && (self.ratio() > 1.0) != self.measure.is_more_better()
    }
}

/// Everything that both have, by what the second file's scenario judges by. They were made at different times, so that nothing
/// is paired (Mann and Whitney), and all of it is one family (Holm).
pub fn compare(before: &Analysis, after: &Analysis) -> Vec<Regression> {
    let mut compared = Vec::new();
    for case in &after.scenario.cases {
        for rival in &after.scenario.rivals {
            for measure in &after.scenario.judge {
                let values = |analysis: &Analysis| -> Vec<f64> {
                    let runs = analysis.results.runs.iter();
                    let own = runs.filter(|run| {
                        run.case == case.name && run.rival == rival.name && run.flaws.is_empty()
                    });
                    own.flat_map(|run| &run.figures)
                        .filter(|(it, _)| it == measure)
                        .map(|(_, value)| *value)
                        .collect()
                };
                let (old, new) = (values(before), values(after));
                let estimates = (Estimate::of(&old, 1), Estimate::of(&new, 1));
                if let (Some(before), Some(after)) = estimates {
                    compared.push(Regression {
                        case: case.name.clone(),
                        rival: rival.name.clone(),
                        measure: *measure,
                        before,
                        after,
                        adjusted: mann_whitney(&old, &new),
                    });
                }
            }
        }
    }
    let own: Vec<f64> = compared.iter().map(|it| it.adjusted).collect();
    for (one, adjusted) in compared.iter_mut().zip(holm(&own)) {
        one.adjusted = adjusted;
    }
    compared
}
