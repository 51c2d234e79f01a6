//! The decision whether a request may wait in a queue.

/// Figures that decide whether a request may enter a queue.
///
/// A pool and its servers may have several queues. The caller adds up those that count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Number of waiting requests.
    pub length: usize,
    /// Most requests that may wait.
    pub length_max: u32,
    /// Time for which this request would wait, in microseconds
    /// ([`Departures::wait_us`](super::Departures::wait_us)); `None` = unknown.
    pub wait_us: Option<u64>,
    /// Longest time for which this request may wait, in microseconds.
    pub patience_us: u64,
}

/// Reason for which a request may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCause {
    /// The queue is full.
    Full,
    /// The request's time would be over before its turn.
    Hopeless,
}

impl Admission {
    /// Returns `Ok` if the request may wait.
    ///
    /// # Errors
    /// If the request may not wait; the error is the reason.
    pub fn decide(&self) -> Result<(), RefusalCause> {
        // A length beyond `u32` counts as `u32::MAX`; there cannot be as many connections.
        if u32::try_from(self.length).unwrap_or(u32::MAX) >= self.length_max {
            return Err(RefusalCause::Full);
        }
        // In an empty queue the measured time is old; this request's wait provides a new measurement.
        if self.length > 0 && self.wait_us.is_some_and(|wait_us| wait_us > self.patience_us) {
            return Err(RefusalCause::Hopeless);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_would_wait_in_vain_or_finds_too_many_may_not_wait() {
        let admission = Admission { length: 3, length_max: 4, wait_us: Some(1_000), patience_us: 1_000 };
        assert_eq!(admission.decide(), Ok(()));
        assert_eq!(Admission { length_max: 3, ..admission }.decide(), Err(RefusalCause::Full));
        assert_eq!(Admission { patience_us: 999, ..admission }.decide(), Err(RefusalCause::Hopeless));
        assert_eq!(Admission { wait_us: None, patience_us: 0, ..admission }.decide(), Ok(()));
    }

    #[test]
    fn the_first_to_wait_finds_out_how_long_it_takes() {
        let first = Admission { length: 0, length_max: 1, wait_us: Some(u64::MAX), patience_us: 1 };
        assert_eq!(first.decide(), Ok(()));
        assert_eq!(Admission { length_max: 0, ..first }.decide(), Err(RefusalCause::Full));
    }
}
