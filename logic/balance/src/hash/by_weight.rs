//! A list of servers in which each server has as many consecutive entries as its weight says.

/// Slots, and the end of each one's range of entries.
#[derive(Debug)]
pub(crate) struct ByWeight {
    slots: Box<[usize]>,
    /// For each server, the sum of the weights up to and including its own.
    ends: Box<[u64]>,
}

impl ByWeight {
    /// Creates the list from slots and weights above 0, in the pool's order.
    pub(crate) fn new(servers: &[(usize, u32)]) -> Self {
        let ends = servers.iter().scan(0, |end, (_, weight)| {
            *end += u64::from(*weight);
            Some(*end)
        });
        Self { ends: ends.collect(), slots: servers.iter().map(|(slot, _)| *slot).collect() }
    }

    /// Returns the server whose range contains `hash` modulo the number of entries. O(log n).
    pub(crate) fn at(&self, hash: u64) -> Option<usize> {
        let place = hash.checked_rem(*self.ends.last()?)?;
        self.slots.get(self.ends.partition_point(|end| *end <= place)).copied()
    }
}
