//! A pool of servers for the tests, and short forms of common calls.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use weir_balance::{Candidate, Key, Pick, PickInput, Picker, Portion, Roster, Scheduling, ServerLoad};
use weir_model::{ServerAddress, Weight};

/// Servers that a test can change; each keeps its load.
pub(crate) struct Pool {
    pub(crate) scheduling: Scheduling,
    pub(crate) candidates: Vec<Candidate>,
}

impl Pool {
    /// Creates eligible servers of these weights in slots 0, 1, ...
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

/// Returns the address of the server in a slot.
fn address(slot: usize) -> ServerAddress {
    ServerAddress::Inet(SocketAddr::from((Ipv4Addr::from_bits(0x0a00_0001 + slot as u32), 8080)))
}

/// Returns the pick of a new picker for a key.
pub(crate) fn of_key(roster: &Roster, key: Key, exclude: &[usize]) -> Pick {
    Picker::new(0).pick(roster, &PickInput { key: Some(key), exclude, ..PickInput::default() })
}

/// Returns the pick of this picker with a random number.
pub(crate) fn pick(picker: &mut Picker, roster: &Roster, random: u64) -> Pick {
    picker.pick(roster, &PickInput { random, ..PickInput::default() })
}

/// Returns the slots of `count` picks in a row, without beginning requests. Picks that find no server are
/// left out.
pub(crate) fn slots(picker: &mut Picker, roster: &Roster, count: usize) -> Vec<usize> {
    let slot = |index: usize| match pick(picker, roster, index as u64) {
        Pick::Server(slot) => Some(slot),
        Pick::Busy | Pick::Nobody => None,
    };
    (0..count).filter_map(slot).collect()
}

/// Counts the occurrences of each of `servers` slots.
pub(crate) fn counts(slots: &[usize], servers: usize) -> Vec<usize> {
    let mut counts = vec![0; servers];
    for slot in slots {
        counts[*slot] += 1;
    }
    counts
}
