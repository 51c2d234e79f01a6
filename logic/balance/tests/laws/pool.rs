//! A pool to choose from, and shorthands.

use std::sync::Arc;

use weir_balance::{Algorithm, Candidate, Pick, PickInput, Picker, Roster, ServerLoad};
use weir_model::Weight;

/// Servers that a test changes at will; each keeps its load.
pub(crate) struct Pool {
    pub(crate) algorithm: Algorithm,
    pub(crate) candidates: Vec<Candidate>,
}

impl Pool {
    /// Eligible servers of these weights in slots 0, 1, ...
    pub(crate) fn new(algorithm: Algorithm, weights: &[u32]) -> Self {
        let candidates = weights.iter().enumerate().map(|(slot, weight)| Candidate {
            slot,
            rank: slot as u32,
            weight: Weight::new(*weight).unwrap_or_default(),
            backup: false,
            eligible: true,
            connections_max: None,
            load: Arc::new(ServerLoad::default()),
        });
        Self { algorithm, candidates: candidates.collect() }
    }

    pub(crate) fn roster(&self) -> Roster {
        Roster::new(self.algorithm, self.candidates.clone(), None)
    }

    pub(crate) fn roster_after(&self, previous: &Roster) -> Roster {
        Roster::new(self.algorithm, self.candidates.clone(), Some(previous))
    }
}

/// Picks as the first worker with this random number.
pub(crate) fn pick(picker: &mut Picker, roster: &Roster, random: u64) -> Pick {
    picker.pick(roster, &PickInput { random, ..PickInput::default() })
}

/// The slots of so many picks in a row, none of which is begun. Nobody = none.
pub(crate) fn slots(picker: &mut Picker, roster: &Roster, count: usize) -> Vec<usize> {
    let slot = |index: usize| match pick(picker, roster, index as u64) {
        Pick::Server(slot) => Some(slot),
        Pick::Busy | Pick::Nobody => None,
    };
    (0..count).filter_map(slot).collect()
}

/// How often each of `servers` slots occurs.
pub(crate) fn counts(slots: &[usize], servers: usize) -> Vec<usize> {
    let mut counts = vec![0; servers];
    for slot in slots {
        counts[*slot] += 1;
    }
    counts
}
