//! Conversion of instants to ticks.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Number of the tick in which an instant lies, for ticks of a few milliseconds.
///
/// A worker needs this several times for each request, mostly within the same tick. Then two comparisons
/// suffice. Otherwise the difference of two instants is a call, and its milliseconds are a division.
#[derive(Debug)]
pub struct Ticks {
    start: Instant,
    tick_ms: u64,
    last: Cell<Tick>,
}

/// One tick; its end is excluded.
#[derive(Debug, Clone, Copy)]
struct Tick {
    number: u64,
    begins: Instant,
    ends: Instant,
}

impl Ticks {
    /// Creates ticks of `tick_ms` milliseconds, at least 1, from `start` on.
    pub fn new(start: Instant, tick_ms: u64) -> Self {
        let tick_ms = tick_ms.max(1);
        Self { start, tick_ms, last: Cell::new(Tick { number: 0, begins: start, ends: start }) }
    }

    /// Returns the start of the first tick.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Returns the tick of `instant`; 0 for instants before the start.
    #[inline]
    pub fn of(&self, instant: Instant) -> u64 {
        let last = self.last.get();
        if last.begins <= instant && instant < last.ends { last.number } else { self.find(instant) }
    }

    #[cold]
    fn find(&self, instant: Instant) -> u64 {
        let number = instant.saturating_duration_since(self.start).as_millis() as u64 / self.tick_ms;
        let begins = self.start + Duration::from_millis(number * self.tick_ms);
        self.last.set(Tick { number, begins, ends: begins + Duration::from_millis(self.tick_ms) });
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instants_tick_does_not_depend_on_what_was_asked_before() {
        let start = Instant::now() + Duration::from_secs(1);
        for tick_ms in [1, 16] {
            let ticks = Ticks::new(start, tick_ms);
            let mut state = 42_u64;
            for step in 0..10_000_u64 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Goes back and forth, within ticks and across their borders.
                let micros = step * 7 + (state >> 33) % 40_000;
                let instant = start + Duration::from_micros(micros);
                assert_eq!(ticks.of(instant), micros / 1_000 / tick_ms, "{micros} us, {tick_ms} ms");
            }
        }
    }

    #[test]
    fn the_last_nanosecond_of_a_tick_is_in_it_and_the_next_one_is_not() {
        let start = Instant::now();
        let ticks = Ticks::new(start, 16);
        let at = |nanos| start + Duration::from_nanos(nanos);
        assert_eq!(ticks.of(at(16_000_000)), 1);
        assert_eq!(
            [at(31_999_999), at(32_000_000), at(15_999_999)].map(|instant| ticks.of(instant)),
            [1, 2, 0]
        );
    }

    #[test]
    fn before_the_start_is_the_first_tick() {
        let now = Instant::now();
        let ticks = Ticks::new(now + Duration::from_secs(60), 1);
        assert_eq!([now, now + Duration::from_secs(61), now].map(|instant| ticks.of(instant)), [0, 1_000, 0]);
    }
}
