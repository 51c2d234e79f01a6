//! A pool to choose from, and shorthands.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use weir_balance::{Candidate, Key, Pick, PickInput, Picker, Portion, Roster, Scheduling, ServerLoad};
use weir_model::{ServerAddress, Weight};

/// Servers that a test changes at will; each keeps its load.
pub(crate) struct Pool {
    pub(crate) scheduling: Scheduling,
    pub(crate) candidates: Vec<Candidate>,
}

impl Pool {
    /// Eligible servers of these weights in slots 0, 1, ...
    pub(crate) fn new(scheduling: impl Into<Scheduling>, weights: &[u32]) -> Self {
        let candidates = weights.iter().enumerate().map(|(slot, weight)| Candidate {
            slot,
            rank: slot as u32,
            address: address(slot),
            weight: Weight::new(*weight).unwrap_or_default(),
            name_key: slot as u32,
            portion: Portion::WHOLE,
            priority: 0,
            backup: false,
            is_local: true,
            eligible: true,
            half_open: false,
            keeps_clients: true,
            connections_max: None,
            load: Arc::new(ServerLoad::default()),
        });
        Self { scheduling: scheduling.into(), candidates: candidates.collect() }
    }

    pub(crate) fn roster(&self) -> Roster {
        Roster::new(self.scheduling, self.candidates.clone(), None)
    }

    pub(crate) fn roster_after(&self, previous: &Roster) -> Roster {
        Roster::new(self.scheduling, self.candidates.clone(), Some(previous))
    }
}

/// Where the server of this slot listens.
fn address(slot: usize) -> ServerAddress {
    ServerAddress::Inet(SocketAddr::from((Ipv4Addr::from_bits(0x0a00_0001 + slot as u32), 8080)))
}

/// The pick for a key, of a picker that has not picked before.
pub(crate) fn of_key(roster: &Roster, key: Key, exclude: &[usize]) -> Pick {
    Picker::new(0).pick(roster, &PickInput { key: Some(key), exclude, ..PickInput::default() })
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
