//! The state of a server by its active health checks.

use std::fmt;
use std::time::Duration;

use crate::{CheckTiming, InitialState};

/// The state of one server by its active health checks (HAProxy's rise and fall).
///
/// As in HAProxy, one counter from 0 to `rise + fall - 1` holds the state:
///
/// - Below `rise`, the server is down. A success adds one; a failure sets the counter to 0. When a success
///   reaches `rise`, the counter jumps to its maximum.
/// - From `rise` on, the server is up. A failure subtracts one, and at `rise` sets the counter to 0; a
///   success sets it to its maximum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckState {
    timing: CheckTiming,
    health: u32,
}

/// A change of state that a check result causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// The server is now up.
    Up,
    /// The server is now down.
    Down,
}

impl CheckState {
    /// Creates the state before the first check. The server is up or down according to `timing.initial`, and
    /// the first opposite result changes that.
    pub fn new(timing: &CheckTiming) -> Self {
        let mut state = Self { timing: timing.clone(), health: 0 };
        state.health = match timing.initial {
            InitialState::Up => state.rise(),
            InitialState::Down => state.rise() - 1,
        };
        state
    }

    /// Applies the result of a check. Returns the transition that it causes, if any.
    pub fn on_outcome(&mut self, success: bool) -> Option<Transition> {
        let was_up = self.is_up();
        self.health = match (was_up, success) {
            (true, true) => self.best(),
            (true, false) if self.health > self.rise() => self.health - 1,
            (false, true) if self.health + 1 < self.rise() => self.health + 1,
            (false, true) => self.best(),
            (_, false) => 0,
        };
        match (was_up, self.is_up()) {
            (false, true) => Some(Transition::Up),
            (true, false) => Some(Transition::Down),
            _ => None,
        }
    }

    /// Returns true if the server is up.
    pub fn is_up(&self) -> bool {
        self.health >= self.rise()
    }

    /// Returns true if the last result contradicts the present state, or if there is no result yet.
    pub fn is_changing(&self) -> bool {
        self.health > 0 && self.health < self.best()
    }

    /// Returns the progress towards a change, as HAProxy shows it after `UP` or `DOWN`. For an up server, it
    /// is the number of further consecutive failures that take it down, and `fall`. For a down server, it is
    /// the number of successes so far, and `rise`.
    pub fn progress(&self) -> (u32, u32) {
        if self.is_up() { (self.health - self.rise() + 1, self.fall()) } else { (self.health, self.rise()) }
    }

    /// Returns the time from the end of one check to the start of the next, with a jitter from `random` (64
    /// uniform bits).
    pub fn next_wait(&self, random: u64) -> Duration {
        const JITTER_PERCENT_MAX: u8 = 50;
        const WAIT_MIN: Duration = Duration::from_millis(1);
        let interval = if self.is_changing() { self.timing.fast_interval } else { self.timing.interval };
        let jitter = f64::from(self.timing.jitter_percent.min(JITTER_PERCENT_MAX)) / 100.0;
        let factor = 1.0 + jitter * (2.0 * share(random) - 1.0);
        Duration::try_from_secs_f64(interval.duration().as_secs_f64() * factor)
            .unwrap_or(Duration::MAX)
            .max(WAIT_MIN)
    }

    /// Returns the time before the first check: a random part of the shorter interval, so that the checks of
    /// many servers are spread out.
    pub fn first_wait(&self, random: u64) -> Duration {
        let shorter = self.timing.interval.min(self.timing.fast_interval);
        shorter.duration().mul_f64(share(random))
    }

    /// Replaces the timing. The server stays up or down and keeps its progress as far as the new limits
    /// permit.
    pub fn set_timing(&mut self, timing: &CheckTiming) {
        let (was_up, was_best, (steps, _)) = (self.is_up(), self.health == self.best(), self.progress());
        self.timing = timing.clone();
        self.health = match was_up {
            true if was_best => self.best(),
            true => (self.rise() + steps - 1).min(self.best()),
            false => steps.min(self.rise() - 1),
        };
    }

    fn rise(&self) -> u32 {
        u32::from(self.timing.rise.max(1))
    }

    fn fall(&self) -> u32 {
        u32::from(self.timing.fall.max(1))
    }

    fn best(&self) -> u32 {
        self.rise() + self.fall() - 1
    }
}

/// Shows `UP` or `DOWN`, or the progress of a change: `UP 2/3`, `DOWN 1/2`.
impl fmt::Display for CheckState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_up() { "UP" } else { "DOWN" })?;
        if self.is_changing() {
            let (steps, of) = self.progress();
            write!(f, " {steps}/{of}")?;
        }
        Ok(())
    }
}

/// Converts random bits to a uniform number from 0 up to, but not including, 1.
fn share(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
