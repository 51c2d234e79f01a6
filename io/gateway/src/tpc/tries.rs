//! Retries with growing pauses.

use std::time::Duration;

use tokio::time::sleep;

use crate::client::Fault;
use crate::transfers::{Live, Stage};

/// Remaining attempts of an operation.
#[derive(Debug)]
pub(super) struct Tries {
    retries: u32,
    left: u32,
    pause: Duration,
    /// Progress in bytes when the attempts were last restored.
    counted_bytes: u64,
}

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Minimum progress in bytes that restores all attempts. A source that sends less before each break could
/// occupy a transfer forever.
const PROGRESS_BYTES: u64 = 1024 * 1024;

impl Tries {
    /// Allows up to `retries` attempts after the first.
    pub(super) fn new(retries: u32) -> Self {
        Self { retries, left: retries, pause: FIRST_PAUSE, counted_bytes: 0 }
    }

    /// Records the progress of the last attempt. Progress restores all attempts, because a long transfer may
    /// break off often and still finish. Bytes count only once, even if an attempt starts from the beginning,
    /// so the total is bounded.
    pub(super) fn reached(&mut self, bytes: u64) {
        if bytes >= self.counted_bytes.saturating_add(PROGRESS_BYTES) {
            *self = Self { counted_bytes: bytes, ..Self::new(self.retries) };
        }
    }

    /// Waits for the next attempt.
    ///
    /// # Errors
    /// If no attempts are left, or another would not help.
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
