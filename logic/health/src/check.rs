use std::fmt;
use std::time::Duration;

use crate::{CheckTiming, InitialState};

/// What active checks make of one server (HAProxy's rise and fall).
///
/// One counter, as in HAProxy: from 0 up to `rise` outcomes short of up, and above that the outcomes short of down. A
/// success leads one step up, or all the way if the server is up; a failure likewise down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckState {
    timing: CheckTiming,
    health: u32,
}

/// A change that an outcome has brought about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// The server is up now.
    Up,
    /// The server is down now.
    Down,
}

impl CheckState {
    /// Before the first outcome: up or down as `timing.initial` says, one outcome short of the opposite.
    pub fn new(timing: &CheckTiming) -> Self {
        let mut state = Self { timing: timing.clone(), health: 0 };
        state.health = match timing.initial {
            InitialState::Up => state.rise(),
            InitialState::Down => state.rise() - 1,
        };
        state
    }

    /// Takes in what a check found. Returns what that changed, if anything.
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

    /// Whether the server counts as up.
    pub fn is_up(&self) -> bool {
        self.health >= self.rise()
    }

    /// Whether the last outcome spoke against the present state, or none has come yet.
    pub fn is_changing(&self) -> bool {
        self.health > 0 && self.health < self.best()
    }

    /// How far the server is, as HAProxy shows it behind `UP` or `DOWN`: of an up server, how many failures in a row it
    /// still has, of how many; of one that is down, how many successes it has had, of how many.
    pub fn progress(&self) -> (u32, u32) {
        if self.is_up() { (self.health - self.rise() + 1, self.fall()) } else { (self.health, self.rise()) }
    }

    /// How long to wait from the end of one check to the start of the next, varied by `random` (all 64 bits even).
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

    /// How long to wait before the first check: any part of the shorter interval, so that the checks of many servers
    /// start spread out.
    pub fn first_wait(&self, random: u64) -> Duration {
        let shorter = self.timing.interval.min(self.timing.fast_interval);
        shorter.duration().mul_f64(share(random))
    }

    /// Goes by other rules from now on; the server stays up or down, and as far from changing as that allows.
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

/// `UP`, `DOWN`, or with the progress of a change: `UP 2/3`, `DOWN 1/2`.
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

/// An even number from 0 up to 1.
fn share(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
