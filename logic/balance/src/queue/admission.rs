/// What decides whether one may take a place in a queue. The queues of a pool and of its servers may be several: what counts
/// together, the caller adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// How many wait.
    pub length: usize,
    /// More may not.
    pub length_max: u32,
    /// How long this one would wait, in microseconds ([`Departures::wait_us`](super::Departures::wait_us)); `None` = not known.
    pub wait_us: Option<u64>,
    /// How long it is going to wait at most, in microseconds.
    pub patience_us: u64,
}

/// Why one may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCause {
    /// As many wait as may.
    Full,
    /// Its time would be over before its turn came.
    Hopeless,
}

impl Admission {
    /// Whether it may wait.
    ///
    /// # Errors
    /// Why it may not.
    pub fn decide(&self) -> Result<(), RefusalCause> {
        // Nobody can tell more than that many apart; as many connections there cannot be.
        if u32::try_from(self.length).unwrap_or(u32::MAX) >= self.length_max {
            return Err(RefusalCause::Full);
        }
        // Where nobody waits, what was measured is old, and to wait is to find out.
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
