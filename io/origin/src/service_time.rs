//! Model of a slow server: a limited number of requests at a time, each of which takes a certain time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

/// Speed of a server with `concurrency` places and a mean time of `mean`. At most, it handles
/// `concurrency / mean` requests a second. Further requests wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceTime {
    /// Requests that are handled at the same time; at least 1.
    pub concurrency: usize,
    /// Mean time of a request.
    pub mean: Duration,
    /// Distribution of the times.
    pub spread: Spread,
}

/// Distribution of service times around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// Every request takes the mean time.
    #[default]
    Fixed,
    /// Exponential distribution, as in an M/M/c queue. The sequence is the same for the same server name.
    Exponential,
}

/// Delays requests as a [`ServiceTime`] specifies.
#[derive(Debug)]
pub(crate) struct Gate {
    places: Semaphore,
    service: ServiceTime,
    draws: AtomicU64,
}

impl Gate {
    pub(crate) fn new(service: ServiceTime, seed: u64) -> Self {
        Self { places: Semaphore::new(service.concurrency.max(1)), service, draws: AtomicU64::new(seed) }
    }

    /// Waits for a free place and then for the service time.
    pub(crate) async fn pass(&self) {
        let place = self.places.acquire().await;
        tokio::time::sleep(self.next_time()).await;
        drop(place);
    }

    fn next_time(&self) -> Duration {
        match self.service.spread {
            Spread::Fixed => self.service.mean,
            Spread::Exponential => {
                let draw = split_mix(self.draws.fetch_add(1, Ordering::Relaxed));
                // Inverts the distribution function. 53 bits fill the mantissa, and 1 - u is never 0.
                let u = (draw >> 11) as f64 / (1u64 << 53) as f64;
                self.service.mean.mul_f64(-(1.0 - u).ln())
            }
        }
    }
}

/// Computes SplitMix64's output function (Steele, Lea, Flood 2014), which is good enough to spread a counter.
fn split_mix(state: u64) -> u64 {
    let z = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_times_have_the_mean_that_was_asked_for() {
        let mean = Duration::from_millis(10);
        let gate = Gate::new(ServiceTime { concurrency: 1, mean, spread: Spread::Exponential }, 7);
        let total: Duration = (0..20_000).map(|_| gate.next_time()).sum();
        let got = total / 20_000;
        assert!(got > mean.mul_f64(0.97) && got < mean.mul_f64(1.03), "mean {got:?}");
    }

    #[test]
    fn fixed_times_do_not_vary() {
        let mean = Duration::from_millis(3);
        let gate = Gate::new(ServiceTime { concurrency: 1, mean, spread: Spread::Fixed }, 7);
        assert!((0..100).all(|_| gate.next_time() == mean));
    }
}
