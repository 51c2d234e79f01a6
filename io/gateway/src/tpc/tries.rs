use std::time::Duration;

use tokio::time::sleep;

use crate::client::Fault;
use crate::transfers::{Live, Stage};

/// How often something is tried again.
#[derive(Debug)]
pub(super) struct Tries {
    retries: u32,
    left: u32,
    pause: Duration,
    /// Bytes that a try had when all tries were given last.
    counted_bytes: u64,
}

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// So much more is progress. Whoever sends less before each break would hold a transfer for as long as they like.
const PROGRESS_BYTES: u64 = 1024 * 1024;

impl Tries {
    /// Up to `retries` more after the first.
    pub(super) fn new(retries: u32) -> Self {
        Self { retries, left: retries, pause: FIRST_PAUSE, counted_bytes: 0 }
    }

    /// The last try has come so far. With progress all tries are there again: how often a long transfer breaks off says nothing of
    /// whether it will ever be whole. Bytes count once, also if a try begins anew, so that there is an end to it.
    pub(super) fn reached(&mut self, bytes: u64) {
        if bytes >= self.counted_bytes.saturating_add(PROGRESS_BYTES) {
            *self = Self { counted_bytes: bytes, ..Self::new(self.retries) };
        }
    }

    /// Waits for the next try.
    ///
    /// # Errors
    /// That was the last one, or another would not help.
    pub(super) async fn again(&mut self, fault: Fault, live: &Live) -> Result<(), Fault> {
        if !fault.is_passing() || self.left == 0 {
            return Err(fault);
        }
        self.left -= 1;
        live.set_stage(Stage::Waiting);
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }
}
