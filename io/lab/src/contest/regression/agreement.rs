//! Compares the verdicts of two plays of a scenario.

use super::super::analysis::{Analysis, Pair, Standing};

/// Verdicts of both files over all cases.
///
/// Two verdicts are the same if both name the same rival, both show no difference that matters, or both are
/// undecided. A verdict is weaker if only one file shows it, because the other does not contradict it.
/// Verdicts are contradictory if both files show a result, and the results differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdicts {
    /// Number of equal verdicts.
    pub same: usize,
    /// Verdicts that only one file shows, one sentence each.
    pub weaker: Vec<String>,
    /// Verdicts that the other file contradicts, one sentence each.
    pub contradictory: Vec<String>,
}

impl Verdicts {
    /// Compares every pair of the first file. Skips pairs that are undecided there and absent in the second
    /// file.
    pub(super) fn of(before: &Analysis, after: &Analysis) -> Self {
        let mut verdicts = Self::default();
        for old in before.pairs.iter().filter(|pair| pair.case.is_none()) {
            let is_its = |new: &&Pair| {
                new.case.is_none()
                    && (new.measure, &new.one, &new.other) == (old.measure, &old.one, &old.other)
            };
            let new = after.pairs.iter().find(is_its).map(Pair::standing);
            let standing = old.standing();
            if new == Some(standing) {
                verdicts.same += 1;
                continue;
            }
            // Neither file shows a result.
            if standing == Standing::Open && new.is_none() {
                continue;
            }
            let sentence = format!(
                "{} / {}, {}: {} in the first file, {} in the second",
                old.one,
                old.other,
                old.measure.name(),
                said(old, Some(standing)),
                said(old, new)
            );
            if standing == Standing::Open || matches!(new, None | Some(Standing::Open)) {
                verdicts.weaker.push(sentence);
            } else {
                verdicts.contradictory.push(sentence);
            }
        }
        verdicts
    }

    /// Returns the number of verdicts.
    pub fn count(&self) -> usize {
        self.same + self.weaker.len() + self.contradictory.len()
    }
}

fn said(pair: &Pair, standing: Option<Standing>) -> String {
    match standing {
        Some(Standing::Better) => format!("{} is better", pair.one),
        Some(Standing::Worse) => format!("{} is better", pair.other),
        Some(Standing::Same) => "there is no difference that matters".to_owned(),
        Some(Standing::Open) => "it is undecided".to_owned(),
        None => "it is not compared".to_owned(),
    }
}
