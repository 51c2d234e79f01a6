//! Whether two plays of a scenario come to the same verdicts.

use super::super::analysis::{Analysis, Pair, Standing};

/// What both files say of who is better, over all cases.
///
/// The same is: both name the same one, or both show that there is no difference that matters, or both are undecided. Weaker is
/// what only one of them could show: the other does not deny it. Contradictory are two who are both sure, and of something else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdicts {
    /// So many are the same.
    pub same: usize,
    /// Those that one file shows and the other does not, a sentence each.
    pub weaker: Vec<String>,
    /// Those that one file shows and the other denies, a sentence each.
    pub contradictory: Vec<String>,
}

impl Verdicts {
    /// Of every two that the first file compares; not of those of whom it shows nothing and the second has nothing.
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
            // Nothing is shown by either.
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

    /// How many there are.
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
