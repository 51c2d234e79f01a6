//! The bytes that a server moved in the last seconds.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes moved in the last 14 seconds, including the current one: NetScaler's span for least bandwidth.
///
/// There is one entry for each second: its number (24 bits, wraps after half a year) and its bytes (40 bits,
/// up to a terabyte).
#[derive(Debug, Default)]
pub(crate) struct TrafficWindow([AtomicU64; SECONDS as usize]);

const SECONDS: u64 = 14;
const BYTES_BITS: u32 = 40;
const BYTES_MAX: u64 = (1 << BYTES_BITS) - 1;
const SECOND_MASK: u64 = u64::MAX >> BYTES_BITS;

impl TrafficWindow {
    pub(crate) fn add(&self, bytes: u64, now_ms: u64) {
        let second = now_ms / 1_000;
        let stamp = second & SECOND_MASK;
        let entry = &self.0[(second % SECONDS) as usize];
        let _ = entry.fetch_update(Relaxed, Relaxed, |entry| {
            let before = if entry >> BYTES_BITS == stamp { entry & BYTES_MAX } else { 0 };
            Some(stamp << BYTES_BITS | before.saturating_add(bytes).min(BYTES_MAX))
        });
    }

    pub(crate) fn bytes(&self, now_ms: u64) -> u64 {
        let stamp = (now_ms / 1_000) & SECOND_MASK;
        let entries = self.0.iter().map(|entry| entry.load(Relaxed));
        let recent = entries.filter(|entry| stamp.wrapping_sub(entry >> BYTES_BITS) & SECOND_MASK < SECONDS);
        recent.map(|entry| entry & BYTES_MAX).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_last_fourteen_seconds() {
        let window = TrafficWindow::default();
        let mut all = Vec::new();
        let mut state = 7_u64;
        for step in 0..400 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (now_ms, bytes) = (step * 731 + (state >> 60) * 900, state >> 50);
            let now_ms = all.last().map_or(now_ms, |(last, _): &(u64, u64)| now_ms.max(*last));
            window.add(bytes, now_ms);
            all.push((now_ms, bytes));
            let recent = all.iter().filter(|(at, _)| now_ms / 1_000 - at / 1_000 < 14);
            assert_eq!(window.bytes(now_ms), recent.map(|(_, bytes)| bytes).sum::<u64>());
        }
        let end = all.last().map_or(0, |(at, _)| *at);
        assert_eq!(window.bytes(end + 14_000), 0);
    }

    #[test]
    fn more_than_can_be_counted_stays_at_the_most() {
        let window = TrafficWindow::default();
        window.add(u64::MAX, 0);
        window.add(u64::MAX, 0);
        assert_eq!(window.bytes(0), BYTES_MAX);
        window.add(1, u64::MAX);
        assert_eq!(window.bytes(u64::MAX), 1);
    }
}
