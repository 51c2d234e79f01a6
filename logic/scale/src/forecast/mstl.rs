//! Forecasts by MSTL: a decomposition into trend, season and remainder by local regression (Cleveland and
//! others, 1990; Bandara, Hyndman, Bergmeir, 2021), with the library `augurs`. It is deterministic.

use std::fmt;

use augurs_core::{Fit, Forecast, Predict};
use augurs_mstl::MSTLModel;

use super::trend::DampedTrend;

/// Forecast of the next season.
#[derive(Debug, Clone, PartialEq)]
pub struct Seasonal {
    bands: Vec<Band>,
}

/// Forecast of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Most likely value.
    pub likely: f64,
    /// Value that is not exceeded with the required confidence.
    pub at_most: f64,
}

/// Reason why no forecast exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// There are fewer than two whole seasons, or a season has fewer than two values.
    Short,
    /// A value or a forecast is impossible.
    Absurd,
    /// The library returned an error.
    Refused(String),
}

impl Seasonal {
    /// Maximum plausible demand, in any unit.
    pub const VALUE_MAX: f64 = 1e9;
    /// Maximum forecast, as a factor of the highest past value.
    pub const GROWTH_MAX: f64 = 2.0;

    /// Forecasts from values at equal intervals, oldest first, with `season` values in each season.
    /// `confidence`, 0.5 to below 1, applies to [`Band::at_most`].
    ///
    /// A fit takes about a millisecond for 2,000 values, so it is too costly for each decision.
    ///
    /// # Errors
    /// If there are too few values, or if a value or the forecast is impossible.
    pub fn new(values: &[f64], season: usize, confidence: f64) -> Result<Self, Unfit> {
        if season < 2 || values.len() / 2 < season {
            return Err(Unfit::Short);
        }
        if !values.iter().all(|value| (0.0..=Self::VALUE_MAX).contains(value)) {
            return Err(Unfit::Absurd);
        }
        let trend = DampedTrend { seasons: values.len() as f64 / season as f64 };
        // Half of the values outside of the band are above it.
        let level = (2.0 * confidence - 1.0).clamp(0.0, 1.0);
        let forecast = MSTLModel::new(vec![season], trend)
            .fit(values)
            .and_then(|fitted| fitted.predict(season, level))
            .map_err(|cause| Unfit::Refused(cause.to_string()))?;
        let most = values.iter().copied().fold(0.0, f64::max) * Self::GROWTH_MAX;
        let bands = bands(&forecast, most).filter(|bands| bands.len() == season);
        Ok(Self { bands: bands.ok_or(Unfit::Absurd)? })
    }

    /// Forecasts the `step`-th value after the input, from 0; `None` = more than a season ahead.
    pub fn ahead(&self, step: usize) -> Option<Band> {
        self.bands.get(step).copied()
    }
}

/// Limits the bands to the range from 0 to `most`; `None` if a value is not finite.
fn bands(forecast: &Forecast, most: f64) -> Option<Vec<Band>> {
    let upper = &forecast.intervals.as_ref()?.upper;
    let band = |(point, upper): (&f64, &f64)| {
        (point.is_finite() && upper.is_finite()).then(|| {
            let likely = point.clamp(0.0, most);
            Band { likely, at_most: upper.clamp(likely, most) }
        })
    };
    forecast.point.iter().zip(upper).map(band).collect()
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("two whole seasons were not seen yet"),
            Self::Absurd => f.write_str("what was seen makes no sense"),
            Self::Refused(cause) => f.write_str(cause),
        }
    }
}

impl std::error::Error for Unfit {}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: usize = 48;

    fn usual(at: usize) -> f64 {
        50.0 + 30.0 * (std::f64::consts::TAU * (at % DAY) as f64 / DAY as f64).sin()
    }

    /// Returns nearly normal noise with a deviation of 1.
    fn noise(state: &mut u64) -> f64 {
        let uniform = |_| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(uniform).sum::<f64>() - 6.0
    }

    #[test]
    fn a_season_comes_again() {
        let values: Vec<f64> = (0..3 * DAY + 7).map(usual).collect();
        let forecast = Seasonal::new(&values, DAY, 0.9).unwrap();
        for step in 0..DAY {
            let band = forecast.ahead(step).unwrap();
            assert!((band.likely - usual(3 * DAY + 7 + step)).abs() < 1.0, "{step}: {band:?}");
            assert!(band.at_most >= band.likely);
        }
        assert_eq!(forecast.ahead(DAY), None);
    }

    #[test]
    fn a_day_that_begins_at_once_is_known_to() {
        let sharp = |at: usize| if (16..36).contains(&(at % DAY)) { 10.0 } else { 2.0 };
        let values: Vec<f64> = (0..5 * DAY).map(sharp).collect();
        let forecast = Seasonal::new(&values, DAY, 0.9).unwrap();
        for step in 0..DAY {
            let likely = forecast.ahead(step).unwrap().likely;
            assert!((likely - sharp(step)).abs() < 0.5, "{step}: {likely}");
        }
    }

    #[test]
    fn the_band_covers_what_it_says() {
        let mut state = 1;
        let values: Vec<f64> = (0..60 * DAY).map(|at| usual(at) + 3.0 * noise(&mut state)).collect();
        let (mut above, mut judged) = (0, 0);
        for begins in (0..50 * DAY).step_by(DAY / 2) {
            let forecast = Seasonal::new(&values[begins..begins + 7 * DAY], DAY, 0.9).unwrap();
            for step in 0..DAY / 2 {
                judged += 1;
                above += u32::from(values[begins + 7 * DAY + step] > forecast.ahead(step).unwrap().at_most);
            }
        }
        let share = f64::from(above) / f64::from(judged);
        assert!((0.03..0.2).contains(&share), "{share}");
    }

    #[test]
    fn the_same_past_has_the_same_future() {
        let mut state = 5;
        let values: Vec<f64> = (0..4 * DAY).map(|at| usual(at) + noise(&mut state)).collect();
        let made = || Seasonal::new(&values, DAY, 0.75).unwrap();
        assert_eq!(made(), made());
    }

    #[test]
    fn what_is_too_short_or_cannot_be_is_refused() {
        let values: Vec<f64> = (0..2 * DAY).map(usual).collect();
        assert!(Seasonal::new(&values, DAY, 0.9).is_ok());
        assert_eq!(Seasonal::new(&values[1..], DAY, 0.9), Err(Unfit::Short));
        assert_eq!(Seasonal::new(&values, 1, 0.9), Err(Unfit::Short));
        assert_eq!(Seasonal::new(&[], 0, 0.9), Err(Unfit::Short));
        for wrong in [f64::NAN, f64::INFINITY, -1.0, 1e30] {
            let mut values = values.clone();
            values[9] = wrong;
            assert_eq!(Seasonal::new(&values, DAY, 0.9), Err(Unfit::Absurd));
        }
    }
}
