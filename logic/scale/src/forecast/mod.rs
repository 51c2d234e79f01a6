//! Forecasts of demand, with their uncertainty.
//!
//! - [`Seasonal`]: a decomposition by season (MSTL) by a library, fitted again from time to time.
//! - [`HoltWinters`]: exponential smoothing with a damped trend and a season (Holt, 1957; Winters, 1960;
//!   Gardner and McKenzie, 1985), with one step in constant time. Its band follows Hyndman, Koehler, Ord and
//!   Snyder, "Forecasting with exponential smoothing", 2008, for the class with additive errors.
//! - `outlook`: selects one of the two methods. `past`: holds the input of the decomposition. `trend`:
//!   forecasts the part without season.

mod mstl;
mod outlook;
mod past;
mod trend;

pub use mstl::{Band, Seasonal, Unfit};
pub use outlook::Method;
pub(crate) use outlook::Outlook;

/// Smoothing factors of a forecast; higher factors follow new values faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothing {
    /// Factor of the level, 0 to 1.
    pub level: f64,
    /// Factor of the trend, 0 to 1.
    pub trend: f64,
    /// Factor of the season, 0 to 1.
    pub season: f64,
    /// Share of the trend that remains from one step to the next, 0 to 1.
    pub damping: f64,
}

/// Forecasts a series of values at equal intervals.
#[derive(Debug, Clone)]
pub struct HoltWinters {
    smoothing: Smoothing,
    level: f64,
    trend: f64,
    /// Difference from the level in each step of the season.
    seasons: Vec<f64>,
    /// Position of the next value in the season.
    at: usize,
    /// Values of the first season; the initial level is their mean.
    first: Vec<f64>,
    /// Moving mean of the squared errors one step ahead.
    variance: f64,
    steps: u64,
}

/// Forecast of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Most likely value.
    pub mean: f64,
    /// Standard deviation of the error.
    pub deviation: f64,
}

impl Default for Smoothing {
    fn default() -> Self {
        Self { level: 0.3, trend: 0.05, season: 0.3, damping: 0.9 }
    }
}

/// Weight of the newest error in the variance.
const ERROR_SHARE: f64 = 0.05;

impl HoltWinters {
    /// Creates a forecast with a season of `season` steps, at least 1. `phase` is the position of the first
    /// value in the season.
    pub fn new(smoothing: Smoothing, season: usize, phase: usize) -> Self {
        let season = season.max(1);
        Self {
            smoothing,
            level: 0.0,
            trend: 0.0,
            seasons: vec![0.0; season],
            at: phase % season,
            first: Vec::new(),
            variance: 0.0,
            steps: 0,
        }
    }

    /// Returns true after a whole season; forecasts are useful from then on.
    pub fn is_ready(&self) -> bool {
        self.steps >= self.seasons.len() as u64
    }

    /// Adds the next value. Replaces a value that is not finite by the expected one.
    pub fn push(&mut self, value: f64) {
        let value = if value.is_finite() { value } else { self.ahead(1).mean };
        self.steps += 1;
        let season = self.seasons.len();
        if self.first.len() < season {
            self.seasons[self.at] = value;
            self.first.push(value);
            if self.first.len() == season {
                self.level = self.first.iter().sum::<f64>() / season as f64;
                self.seasons.iter_mut().for_each(|value| *value -= self.level);
                self.variance = variance(&self.first) / 4.0;
            }
        } else {
            self.smooth(value);
        }
        self.at = (self.at + 1) % season;
    }

    fn smooth(&mut self, value: f64) {
        let Smoothing { level, trend, season, damping } = self.smoothing;
        let before = self.level + damping * self.trend;
        let error = value - before - self.seasons[self.at];
        self.variance += (error * error - self.variance) * ERROR_SHARE;
        // Error-correction form: each component takes its share of the error.
        self.trend = damping * self.trend + level * trend * error;
        self.level = before + level * error;
        self.seasons[self.at] += season * (1.0 - level) * error;
    }

    /// Forecasts the `step`-th next value, from 1; demand is never below 0.
    pub fn ahead(&self, step: usize) -> Forecast {
        let Forecast { mean, deviation } = self.expected(step);
        Forecast { mean: mean.max(0.0), deviation }
    }

    /// Does the same for values that may be below 0.
    fn expected(&self, step: usize) -> Forecast {
        let step = step.max(1);
        let Smoothing { level, trend, season, damping } = self.smoothing;
        let seasons = self.seasons.len();
        let phase = (self.at + (step - 1) % seasons) % seasons;
        let (mut grown, mut factor, mut spread) = (0.0, damping, 1.0);
        // A damped trend ends after some hundred steps.
        for ahead in 1..=step.min(1_000) {
            if ahead > 1 {
                let by_season = if (ahead - 1) % seasons == 0 { season * (1.0 - level) } else { 0.0 };
                let error = level * (1.0 + trend * grown) + by_season;
                spread += error * error;
            }
            grown += factor;
            factor *= damping;
        }
        let is_begun = self.first.len() == seasons;
        let mean = if is_begun {
            self.level + self.trend * grown + self.seasons[phase]
        } else {
            self.seasons[phase]
        };
        Forecast { mean, deviation: (self.variance * spread).sqrt() }
    }
}

impl Forecast {
    /// Returns the value that is not exceeded with this probability, if errors are normal.
    pub fn quantile(&self, probability: f64) -> f64 {
        (self.mean + normal_quantile(probability) * self.deviation).max(0.0)
    }
}

fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().max(1) as f64
}

/// Returns the quantile of the normal distribution to three digits (Abramowitz and Stegun, 26.2.23).
fn normal_quantile(probability: f64) -> f64 {
    let probability = probability.clamp(1e-6, 1.0 - 1e-6);
    let tail = probability.min(1.0 - probability);
    let t = (-2.0 * tail.ln()).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let quantile = t - numerator / denominator;
    if probability < 0.5 { -quantile } else { quantile }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: usize = 24;

    fn of_hour(hour: usize) -> f64 {
        50.0 + 40.0 * (std::f64::consts::TAU * (hour % DAY) as f64 / DAY as f64).sin()
    }

    #[test]
    fn a_season_comes_again() {
        let mut forecast = HoltWinters::new(Smoothing::default(), DAY, 0);
        (0..5 * DAY).for_each(|hour| forecast.push(of_hour(hour)));
        for step in 1..=DAY {
            let expected = of_hour(5 * DAY + step - 1);
            assert!((forecast.ahead(step).mean - expected).abs() < 1.0, "{step}: {:?}", forecast.ahead(step));
        }
    }

    #[test]
    fn it_does_not_matter_where_in_the_season_it_begins() {
        let mut forecast = HoltWinters::new(Smoothing::default(), DAY, 7);
        (7..4 * DAY).for_each(|hour| forecast.push(of_hour(hour)));
        assert!((forecast.ahead(3).mean - of_hour(2)).abs() < 2.0);
    }

    #[test]
    fn the_band_covers_what_it_says() {
        let mut forecast = HoltWinters::new(Smoothing::default(), DAY, 0);
        let mut state = 1_u64;
        let mut noise = || {
            // The sum of twelve uniform numbers is nearly normal.
            let sum: f64 = (0..12)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 11) as f64 / (1_u64 << 53) as f64
                })
                .sum();
            3.0 * (sum - 6.0)
        };
        let (mut above, mut judged) = (0, 0);
        for hour in 0..200 * DAY {
            let value = of_hour(hour) + noise();
            if hour > 20 * DAY {
                judged += 1;
                above += u32::from(value > forecast.ahead(1).quantile(0.9));
            }
            forecast.push(value);
        }
        let share = f64::from(above) / f64::from(judged);
        assert!((0.06..0.16).contains(&share), "{share}");
        assert!(forecast.ahead(30).deviation > forecast.ahead(1).deviation);
    }

    #[test]
    fn what_is_no_number_does_no_harm() {
        let mut forecast = HoltWinters::new(Smoothing::default(), 4, 0);
        for value in [1.0, f64::NAN, 3.0, 4.0, f64::INFINITY, 2.0, 3.0, 4.0] {
            forecast.push(value);
        }
        assert!((1..20).all(|step| forecast.ahead(step).mean.is_finite()));
    }

    #[test]
    fn quantiles_of_the_normal_distribution() {
        for (probability, quantile) in
            [(0.5, 0.0), (0.9, 1.2816), (0.975, 1.96), (0.1, -1.2816), (0.999, 3.0902)]
        {
            assert!((normal_quantile(probability) - quantile).abs() < 1e-3, "{probability}");
        }
    }
}
