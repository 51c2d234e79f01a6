//! Shared state and counters of a server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::service_time::{Gate, ServiceTime};

/// State that all threads of a server share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) counters: Counters,
    pub(crate) gate: Option<Gate>,
    healthy: AtomicBool,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) accepted: Counter,
    pub(crate) closed: Counter,
    pub(crate) requests: Counter,
    pub(crate) answered: Counter,
    pub(crate) checks: Counter,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl State {
    pub(crate) fn new(name: String, service: Option<ServiceTime>) -> Self {
        let gate = service.map(|service| Gate::new(service, hash(name.as_bytes())));
        Self { name, counters: Counters::default(), gate, healthy: AtomicBool::new(true) }
    }

    pub(crate) fn healthy(&self) -> bool {
        self.healthy.load(Ordering::SeqCst)
    }

    pub(crate) fn set_healthy(&self, healthy: bool) {
        self.healthy.store(healthy, Ordering::SeqCst);
    }

    /// Returns a colour for the server's name, so that a person sees in the browser which server responded.
    pub(crate) fn hue_degrees(&self) -> u64 {
        hash(self.name.as_bytes()) % 360
    }
}

impl Counter {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Computes FNV-1a, 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
