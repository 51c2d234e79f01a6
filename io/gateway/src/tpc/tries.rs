use std::time::Duration;

use tokio::time::sleep;

use super::live::{Live, Stage};
use crate::client::Fault;

/// How often something is tried again.
#[derive(Debug)]
pub(super) struct Tries {
    left: u32,
    pause: Duration,
}

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

impl Tries {
    /// Up to `retries` more after the first.
    pub(super) fn new(retries: u32) -> Self {
        Self { left: retries, pause: FIRST_PAUSE }
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
