//! Forecast of the deseasonalised demand by a level and a damped trend: ETS(A,Ad,N) in the notation of
//! Hyndman and others. A small table holds the candidate parameters; the ones with the smallest past errors
//! are used.

use std::borrow::Cow;
use std::error::Error;

use augurs_core::{Forecast as Outcome, ForecastIntervals};
use augurs_mstl::{FittedTrendModel, TrendModel};

use super::{Forecast, HoltWinters, Smoothing, normal_quantile};

/// Error type of the library.
type Failure = Box<dyn Error + Send + Sync>;

/// The model before the fit.
#[derive(Debug)]
pub(super) struct DampedTrend {
    /// Seasons in the input, at least 2.
    pub(super) seasons: f64,
}

/// The fitted model, with the parameters of the smallest errors.
#[derive(Debug)]
struct Nearest {
    state: HoltWinters,
    /// Forecast of each value, one step ahead.
    expected: Vec<f64>,
}

/// Candidate smoothing factors of level and trend.
const LEVELS: [f64; 6] = [0.05, 0.1, 0.2, 0.35, 0.5, 0.8];
const TRENDS: [f64; 3] = [0.0, 0.05, 0.2];
/// Quantile of the absolute errors that determines their size, and its value in standard deviations of normal
/// errors. A quantile prevents a single burst from widening the band for days.
const ERRORS_SHARE: f64 = 0.9;
const ERRORS_DEVIATIONS: f64 = 1.645;

impl TrendModel for DampedTrend {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("ETS(A,Ad,N)")
    }

    fn fit(&self, values: &[f64]) -> Result<Box<dyn FittedTrendModel + Sync + Send>, Failure> {
        let mut nearest: Option<(f64, Smoothing)> = None;
        for (level, trend) in LEVELS.into_iter().flat_map(|level| TRENDS.map(|trend| (level, trend))) {
            let smoothing = Smoothing { level, trend, season: 0.0, ..Smoothing::default() };
            let squares = errors(smoothing, values).map(|error| error * error).sum::<f64>();
            if nearest.is_none_or(|(least, _)| squares < least) {
                nearest = Some((squares, smoothing));
            }
        }
        let Some((_, smoothing)) = nearest.filter(|_| !values.is_empty()) else {
            return Err("there are no values".into());
        };
        let mut state = HoltWinters::new(smoothing, 1, 0);
        let expected = values.iter().map(|value| step(&mut state, *value)).collect();
        let deviation = deviation(errors(smoothing, values).map(f64::abs).collect());
        // The shape of the season was fitted to the same values, so the errors are too small. The factor
        // corrects them as for a mean of as many seasons.
        let seasons = self.seasons.max(2.0);
        state.variance = deviation * deviation * (seasons + 1.0) / (seasons - 1.0);
        Ok(Box::new(Nearest { state, expected }))
    }
}

impl FittedTrendModel for Nearest {
    fn predict_inplace(
        &self,
        horizon: usize,
        level: Option<f64>,
        forecast: &mut Outcome,
    ) -> Result<(), Failure> {
        let ahead: Vec<Forecast> = (1..=horizon).map(|step| self.state.expected(step)).collect();
        fill(forecast, &ahead, level);
        Ok(())
    }

    fn predict_in_sample_inplace(&self, level: Option<f64>, forecast: &mut Outcome) -> Result<(), Failure> {
        let deviation = self.state.variance.sqrt();
        let past: Vec<Forecast> =
            self.expected.iter().map(|mean| Forecast { mean: *mean, deviation }).collect();
        fill(forecast, &past, level);
        Ok(())
    }

    fn training_data_size(&self) -> Option<usize> {
        Some(self.expected.len())
    }
}

/// Adds a value and returns its forecast; the first value is its own forecast.
fn step(state: &mut HoltWinters, value: f64) -> f64 {
    let expected = if state.is_ready() { state.expected(1).mean } else { value };
    state.push(value);
    expected
}

/// Returns the error of each forecast one step ahead.
fn errors(smoothing: Smoothing, values: &[f64]) -> impl Iterator<Item = f64> {
    let mut state = HoltWinters::new(smoothing, 1, 0);
    values.iter().map(move |value| value - step(&mut state, *value))
}

/// Estimates the standard deviation from absolute errors.
fn deviation(mut errors: Vec<f64>) -> f64 {
    if errors.is_empty() {
        return 0.0;
    }
    let at = ((errors.len() as f64 * ERRORS_SHARE) as usize).min(errors.len() - 1);
    *errors.select_nth_unstable_by(at, f64::total_cmp).1 / ERRORS_DEVIATIONS
}

/// Fills in the library's result: points, and a band that contains the share `level` (0 to 1) of the future
/// values.
fn fill(forecast: &mut Outcome, values: &[Forecast], level: Option<f64>) {
    forecast.point = values.iter().map(|value| value.mean).collect();
    forecast.intervals = level.map(|level| {
        let wide = normal_quantile(0.5 + level / 2.0);
        let bound = |deviations: f64| -> Vec<f64> {
            values.iter().map(|value| value.mean + deviations * value.deviation).collect()
        };
        ForecastIntervals { level, lower: bound(-wide), upper: bound(wide) }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(values: &[f64]) -> Box<dyn FittedTrendModel + Sync + Send> {
        DampedTrend { seasons: 4.0 }.fit(values).unwrap()
    }

    #[test]
    fn a_level_that_rises_goes_on_to_rise_for_a_while() {
        let values: Vec<f64> = (0..200).map(|at| 10.0 + f64::from(at)).collect();
        let forecast = fitted(&values).predict(20, Some(0.8)).unwrap();
        assert!(forecast.point[0] > 209.0 && forecast.point[19] > forecast.point[0], "{:?}", forecast.point);
        let band = forecast.intervals.unwrap();
        assert!(band.upper.iter().zip(&forecast.point).all(|(upper, point)| upper >= point));
        assert!(band.lower.iter().zip(&forecast.point).all(|(lower, point)| lower <= point));
    }

    #[test]
    fn one_crowd_does_not_widen_the_band() {
        let calm: Vec<f64> = (0..1_000).map(|at| 10.0 + f64::from(at % 3)).collect();
        let mut crowded = calm.clone();
        crowded[20] = 500.0;
        let width = |values: &[f64]| {
            let forecast = fitted(values).predict(1, Some(0.8)).unwrap();
            forecast.intervals.unwrap().upper[0] - forecast.point[0]
        };
        assert!(width(&crowded) < 4.0 * width(&calm) + 1.0, "{} {}", width(&crowded), width(&calm));
    }

    #[test]
    fn nothing_makes_no_model() {
        assert!(DampedTrend { seasons: 2.0 }.fit(&[]).is_err());
        assert_eq!(fitted(&[3.0]).training_data_size(), Some(1));
    }
}
