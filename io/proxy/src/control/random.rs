//! Random numbers that are not for secrets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Random numbers to spread events in time, never for secrets: SplitMix64 (Steele, Lea, Flood: "Fast
/// splittable pseudorandom number generators", 2014), seeded by clock and process id.
#[derive(Debug)]
pub(super) struct Random(AtomicU64);

impl Random {
    pub(super) fn seeded() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(AtomicU64::new(since.as_nanos() as u64 ^ (u64::from(std::process::id()) << 32)))
    }

    /// Returns 64 uniformly distributed bits.
    pub(super) fn next(&self) -> u64 {
        const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(GOLDEN_GAMMA, Ordering::Relaxed).wrapping_add(GOLDEN_GAMMA);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
