//! Seeded random numbers, sizes and bodies.

/// SplitMix64 random generator: small, and the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// Returns true with probability 1/`times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns a size near one of the limits at which the handling changes, or any size.
    pub(crate) fn size(&mut self) -> usize {
        const LIMITS: [u64; 8] = [0, 1, 100, 4_096, 8_192, 16_384, 65_536, 200_000];
        let limit = LIMITS[self.below(LIMITS.len() as u64) as usize];
        match self.below(3) {
            0 => limit as usize,
            1 => (limit + self.below(10)).saturating_sub(5) as usize,
            _ => self.below(limit.max(10)) as usize,
        }
    }

    /// Returns bytes that are unique to this ID.
    pub(crate) fn bytes(id: u64, count: usize) -> Vec<u8> {
        let mut random = Self::new(id);
        let mut bytes = Vec::with_capacity(count + 8);
        while bytes.len() < count {
            bytes.extend_from_slice(&random.next().to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
