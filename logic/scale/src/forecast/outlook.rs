//! Outlook of a fleet: a forecast by decomposition, and by exponential smoothing until one exists.

use super::past::Past;
use super::{Band, HoltWinters, Seasonal, Smoothing, Unfit};

/// Forecast method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// MSTL after two whole seasons; Holt-Winters before, or if MSTL fails.
    #[default]
    Auto,
    /// Only MSTL; no forecast if it fails.
    Mstl,
    /// Only Holt-Winters.
    HoltWinters,
}

/// Past demand of a fleet and the forecasts from it.
#[derive(Debug, Clone)]
pub(crate) struct Outlook {
    method: Method,
    /// Required probability that demand stays below the forecast; 0.5 to below 1.
    confidence: f64,
    /// Steps in a season.
    steps: usize,
    smoothed: Option<HoltWinters>,
    past: Past,
    decomposed: Result<Decomposed, Unfit>,
    /// Points since the last fit.
    fresh: usize,
    /// Highest value so far.
    greatest: f64,
    /// Value of the last step.
    last: f64,
}

#[derive(Debug, Clone)]
struct Decomposed {
    season: Seasonal,
    /// First point that the forecast covers.
    first: i64,
}

/// Forecast with the name of its method.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    pub(crate) band: Band,
    pub(crate) by: String,
}

/// Maximum number of fits in a season, for any number of points.
const FITS_MAX: usize = 96;
/// Maximum value.
const VALUE_MAX: f64 = Seasonal::VALUE_MAX;

impl Method {
    /// All methods with their config names.
    pub const ALL: [(&'static str, Self); 3] =
        [("auto", Self::Auto), ("mstl", Self::Mstl), ("holt-winters", Self::HoltWinters)];

    /// The names of all methods.
    pub const NAMES: [&'static str; 3] = [Self::ALL[0].0, Self::ALL[1].0, Self::ALL[2].0];
}

impl Outlook {
    pub(crate) fn new(method: Method, steps: usize, confidence: f64) -> Self {
        let steps = steps.max(1);
        Self {
            method,
            confidence,
            steps,
            smoothed: None,
            past: Past::new(steps),
            decomposed: Err(Unfit::Short),
            fresh: 0,
            greatest: 0.0,
            last: 0.0,
        }
    }

    /// Adds the mean of the next step; steps are counted since 1970. Replaces a value that is not finite by
    /// the expected one, or by the previous one before the first forecast.
    pub(crate) fn push(&mut self, step: i64, value: f64) {
        let steps = self.steps;
        let phase = step.rem_euclid(steps as i64) as usize;
        let smoothed =
            self.smoothed.get_or_insert_with(|| HoltWinters::new(Smoothing::default(), steps, phase));
        let value = if value.is_finite() {
            value
        } else if smoothed.is_ready() {
            smoothed.ahead(1).mean
        } else {
            self.last
        };
        let value = value.clamp(0.0, VALUE_MAX);
        self.last = value;
        self.greatest = self.greatest.max(value);
        smoothed.push(value);
        self.fresh += usize::from(self.past.push(step, value));
    }

    /// Fits the decomposition again, if enough new points exist; returns true if it did. A fit takes about a
    /// millisecond.
    pub(crate) fn refit(&mut self) -> bool {
        let season = self.past.season();
        let is_due = self.method != Method::HoltWinters
            && self.past.is_enough()
            && self.fresh >= season.div_ceil(FITS_MAX).max(1);
        if is_due {
            self.fresh = 0;
            self.decomposed = Seasonal::new(&self.past.points(), season, self.confidence)
                .map(|season| Decomposed { season, first: self.past.next() });
        }
        is_due
    }

    /// Forecasts the demand of a step; `next` is the step to be added next.
    ///
    /// # Errors
    /// If no forecast exists; the text gives the reason.
    pub(crate) fn at(&self, step: i64, next: i64) -> Result<Expected, String> {
        let decomposed = if self.method == Method::HoltWinters { None } else { self.decomposed(step) };
        match (decomposed, self.method) {
            (Some(band), _) => Ok(Expected { band, by: "MSTL".to_owned() }),
            (None, Method::Mstl) => Err(self.why_not()),
            (None, method) => {
                let ahead = usize::try_from(step.saturating_sub(next).saturating_add(1)).unwrap_or(1);
                let band = self.smoothed(ahead).ok_or("no whole season was seen yet")?;
                let by = match method {
                    Method::Auto => format!("Holt-Winters: {}", self.why_not()),
                    _ => "Holt-Winters".to_owned(),
                };
                Ok(Expected { band, by })
            }
        }
    }

    fn decomposed(&self, step: i64) -> Option<Band> {
        let Decomposed { season, first } = self.decomposed.as_ref().ok()?;
        let ahead = self.past.point_of(step).saturating_sub(*first);
        // A fit does not cover points before its first one.
        season.ahead(usize::try_from(ahead).ok()?)
    }

    fn smoothed(&self, ahead: usize) -> Option<Band> {
        let smoothed = self.smoothed.as_ref().filter(|smoothed| smoothed.is_ready())?;
        let forecast = smoothed.ahead(ahead);
        let (likely, at_most) = (forecast.mean, forecast.quantile(self.confidence));
        let most = self.greatest * Seasonal::GROWTH_MAX;
        let is_sane = likely.is_finite() && at_most.is_finite();
        is_sane.then(|| {
            let likely = likely.clamp(0.0, most);
            Band { likely, at_most: at_most.clamp(likely, most) }
        })
    }

    /// Returns the reason why there is no forecast by MSTL.
    fn why_not(&self) -> String {
        match &self.decomposed {
            Err(why) => why.to_string(),
            Ok(_) => "MSTL does not reach so far".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24;

    fn usual(step: i64) -> f64 {
        if (8..18).contains(&step.rem_euclid(DAY)) { 10.0 } else { 2.0 }
    }

    fn after(method: Method, steps: i64) -> Outlook {
        let mut outlook = Outlook::new(method, DAY as usize, 0.9);
        for step in 0..steps {
            outlook.push(step, usual(step));
            outlook.refit();
        }
        outlook
    }

    #[test]
    fn it_is_told_by_holt_winters_until_two_seasons_were_seen_and_then_by_mstl() {
        assert_eq!(
            after(Method::Auto, DAY - 1).at(DAY, DAY - 1),
            Err("no whole season was seen yet".to_owned())
        );
        let one = after(Method::Auto, 2 * DAY).at(2 * DAY, 2 * DAY).unwrap();
        assert_eq!(one.by, "Holt-Winters: two whole seasons were not seen yet");
        let two = after(Method::Auto, 3 * DAY).at(3 * DAY, 3 * DAY).unwrap();
        assert_eq!(two.by, "MSTL");
    }

    #[test]
    fn a_method_that_is_asked_for_is_the_only_one() {
        let waits = after(Method::Mstl, 2 * DAY);
        assert_eq!(waits.at(2 * DAY, 2 * DAY), Err("two whole seasons were not seen yet".to_owned()));
        assert_eq!(after(Method::Mstl, 3 * DAY).at(3 * DAY, 3 * DAY).unwrap().by, "MSTL");
        let mut smoothed = after(Method::HoltWinters, 3 * DAY);
        assert!(!smoothed.refit());
        assert_eq!(smoothed.at(3 * DAY, 3 * DAY).unwrap().by, "Holt-Winters");
    }

    #[test]
    fn both_know_when_the_day_begins() {
        for method in [Method::Mstl, Method::HoltWinters] {
            let outlook = after(method, 6 * DAY + 6);
            for step in 6 * DAY + 6..7 * DAY {
                let band = outlook.at(step, 6 * DAY + 6).unwrap().band;
                assert!((band.likely - usual(step)).abs() < 1.0, "{method:?} {step}: {band:?}");
            }
        }
    }

    #[test]
    fn no_method_expects_more_than_twice_what_was_seen() {
        for method in [Method::Mstl, Method::HoltWinters] {
            let mut outlook = Outlook::new(method, 4, 0.99);
            for step in 0..20 {
                outlook.push(step, f64::from(1_u32 << step));
                outlook.refit();
            }
            let seen = f64::from(1_u32 << 19);
            // Forecasts from the next step to the limit of the method.
            let expected = (20..60).filter_map(|step| outlook.at(step, 20).ok());
            let most = expected.map(|expected| expected.band.at_most).fold(0.0, f64::max);
            assert!(most > 0.0 && most <= 2.0 * seen, "{method:?}: {most} of {seen}");
        }
    }

    #[test]
    fn a_gap_before_anything_is_expected_is_no_quiet_time() {
        let mut outlook = Outlook::new(Method::Mstl, DAY as usize, 0.9);
        for step in 0..6 * DAY + 6 {
            outlook.push(step, if (10..14).contains(&step) { f64::NAN } else { usual(step) });
            outlook.refit();
        }
        let least = outlook.past.points().into_iter().fold(f64::INFINITY, f64::min);
        assert_eq!(least, 2.0);
        let band = outlook.at(6 * DAY + 11, 6 * DAY + 6).unwrap().band;
        assert!((band.likely - 10.0).abs() < 1.0, "{band:?}");
    }

    #[test]
    fn fits_are_few() {
        let mut outlook = Outlook::new(Method::Auto, 10_080, 0.9);
        let mut fits = 0;
        for step in 0..3 * 10_080 {
            outlook.push(step, 3.0);
            fits += usize::from(outlook.refit());
        }
        assert!((FITS_MAX / 2..=FITS_MAX + 1).contains(&fits), "{fits}");
    }

    #[test]
    fn a_fit_that_is_too_old_gives_way_to_holt_winters() {
        let mut outlook = after(Method::Auto, 4 * DAY);
        // No fit was made for more than a season.
        (4 * DAY..5 * DAY + 2).for_each(|step| outlook.push(step, usual(step)));
        let told = outlook.at(5 * DAY + 2, 5 * DAY + 2).unwrap();
        assert_eq!(told.by, "Holt-Winters: MSTL does not reach so far");
        assert!(outlook.refit());
        assert_eq!(outlook.at(5 * DAY + 2, 5 * DAY + 2).unwrap().by, "MSTL");
    }
}
