//! A list of servers in which each has as many places as it weighs, in one row.

/// Slots and where their places end.
#[derive(Debug)]
pub(crate) struct ByWeight {
    slots: Box<[usize]>,
    /// For each, the sum of the weights up to and with its own.
    ends: Box<[u64]>,
}

impl ByWeight {
    /// From slots and weights above 0, in the pool's order.
    pub(crate) fn new(servers: &[(usize, u32)]) -> Self {
        let ends = servers.iter().scan(0, |end, (_, weight)| {
            *end += u64::from(*weight);
            Some(*end)
        });
        Self { ends: ends.collect(), slots: servers.iter().map(|(slot, _)| *slot).collect() }
    }

    /// The server that `hash`, modulo all places, falls to. O(log n).
    pub(crate) fn at(&self, hash: u64) -> Option<usize> {
        let place = hash.checked_rem(*self.ends.last()?)?;
        self.slots.get(self.ends.partition_point(|end| *end <= place)).copied()
    }
}
