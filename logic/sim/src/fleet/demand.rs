//! Demand over time: synthetic patterns and recordings.

use std::fmt;
use std::io::BufRead;

use weir_config::simulation::Replay;

use super::history;
use super::pattern::Pattern;
use crate::replay::{LogError, Replayed};
use crate::rng::{Rng, Stream};

/// Requests per second over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Name in reports.
    pub name: String,
    /// Mean rate of each second.
    pub rates_per_s: Vec<f64>,
    /// True if the rates are counted requests; then no randomness is added.
    pub is_counted: bool,
}

/// Reason for which a recording is not a demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemandError {
    /// Line number, from 1; 0 = no particular line.
    pub line: u64,
    /// Description of the error.
    pub cause: String,
}

/// Number of seconds around a moment that determine its level.
const LEVEL_SECONDS: usize = 10;

impl Demand {
    /// Longest demand in seconds; longer ones are refused.
    pub const SECONDS_MAX: usize = 92 * 86_400;
    /// Highest rate per second.
    pub const RATE_MAX: f64 = 1e9;

    /// Creates the demand of a pattern; most patterns depend on the seed. `scale` multiplies all rates.
    pub fn synthetic(pattern: Pattern, seed: u64, scale: f64) -> Self {
        let mut rates = pattern.rates(&mut Rng::new(seed, Stream::Demand));
        rates.iter_mut().for_each(|rate| *rate *= scale);
        Self { name: pattern.name().to_owned(), rates_per_s: rates, is_counted: false }
    }

    /// Reads a recording: a history file (CSV with a time and a rate), or an access log in any format that
    /// the simulator replays.
    ///
    /// # Errors
    /// If a line cannot be read, if the times of a history go back, or if the recording is empty or too long.
    pub fn recorded(name: &str, replay: &Replay, text: &mut dyn BufRead) -> Result<Self, DemandError> {
        let head =
            text.fill_buf().map_err(|cause| DemandError::general(format!("cannot be read: {cause}")))?;
        let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let (rates_per_s, is_counted) = match history::is_heading(first) {
            true => (history::rates(text)?, false),
            false => (counts(replay, text)?, true),
        };
        if rates_per_s.is_empty() {
            return Err(DemandError::general("there is nothing in it"));
        }
        Ok(Self { name: name.to_owned(), rates_per_s, is_counted })
    }

    /// Returns the rate of a second when the demand starts `delay` seconds later. Until then it is the first
    /// rate. So rounds do not start together with the demand.
    pub(crate) fn rate_at(&self, second: usize, delay: usize) -> f64 {
        let at = second.saturating_sub(delay).min(self.rates_per_s.len().saturating_sub(1));
        self.rates_per_s.get(at).copied().unwrap_or(0.0)
    }

    /// Returns the level of demand around a second. For counted requests it is the mean of ten seconds,
    /// because random variation is not demand.
    pub(crate) fn level_at(&self, second: usize, delay: usize) -> f64 {
        if !self.is_counted {
            return self.rate_at(second, delay);
        }
        (0..LEVEL_SECONDS)
            .map(|at| self.rate_at((second + at).saturating_sub(LEVEL_SECONDS / 2), delay))
            .sum::<f64>()
            / LEVEL_SECONDS as f64
    }

    /// Returns the highest rate.
    pub fn peak_per_s(&self) -> f64 {
        self.rates_per_s.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the mean rate.
    pub fn mean_per_s(&self) -> f64 {
        self.rates_per_s.iter().sum::<f64>() / self.rates_per_s.len().max(1) as f64
    }
}

fn counts(replay: &Replay, text: &mut dyn BufRead) -> Result<Vec<f64>, DemandError> {
    // Requests with times in whole seconds stay in their second, which is what this counts.
    let mut requests = Replayed::new(replay, &[], text, Rng::new(0, Stream::Arrivals));
    let mut counts = Vec::new();
    while let Some((at_ns, _)) = requests.next()? {
        let second = usize::try_from(at_ns / 1_000_000_000).unwrap_or(usize::MAX);
        if second >= Demand::SECONDS_MAX {
            return Err(DemandError::too_long());
        }
        if counts.len() <= second {
            counts.resize(second + 1, 0.0);
        }
        counts[second] += 1.0;
    }
    Ok(counts)
}

impl DemandError {
    pub(super) fn general(cause: impl Into<String>) -> Self {
        Self { line: 0, cause: cause.into() }
    }

    pub(super) fn too_long() -> Self {
        Self::general(format!("goes on for more than {} days", Demand::SECONDS_MAX / 86_400))
    }
}

impl From<LogError> for DemandError {
    fn from(LogError { line, cause }: LogError) -> Self {
        Self { line, cause }
    }
}

impl fmt::Display for DemandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.cause),
            line => write!(f, "line {line}: {}", self.cause),
        }
    }
}

impl std::error::Error for DemandError {}
