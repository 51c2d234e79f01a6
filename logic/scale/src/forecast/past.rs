//! Input of the decomposition: the last seasons in a limited number of points.

use std::collections::VecDeque;

/// Recent seasons of steps, combined into points. A point is the mean of successive steps; long seasons have
/// several steps in a point.
#[derive(Debug, Clone)]
pub(super) struct Past {
    /// Steps in a season.
    steps: usize,
    points: VecDeque<f64>,
    /// Number of the incomplete point, counted since 1970.
    at: i64,
    sum: f64,
    count: u32,
}

/// Maximum number of points in a season and in total, which limit the cost of a fit. Two whole seasons are
/// always kept.
const SEASON_MAX: usize = 288;
const POINTS_MAX: usize = 2_016;
/// Maximum number of seasons; older ones add no information.
const SEASONS_MAX: usize = 12;

impl Past {
    /// Creates a past with `steps` steps in a season, at least 1.
    pub(super) fn new(steps: usize) -> Self {
        Self { steps: steps.max(1), points: VecDeque::new(), at: 0, sum: 0.0, count: 0 }
    }

    /// Returns the number of points in a season.
    pub(super) fn season(&self) -> usize {
        self.steps.min(SEASON_MAX)
    }

    /// Returns the point of a step; both are counted since 1970.
    pub(super) fn point_of(&self, step: i64) -> i64 {
        let (steps, season) = (self.steps as i64, self.season() as i64);
        step.div_euclid(steps) * season + step.rem_euclid(steps) * season / steps
    }

    /// Adds the next step. Returns true if it completed a point.
    pub(super) fn push(&mut self, step: i64, value: f64) -> bool {
        let point = self.point_of(step);
        let is_next = self.count > 0 && point != self.at;
        if is_next {
            self.points.push_back(self.sum / f64::from(self.count));
            let most = (POINTS_MAX / self.season()).clamp(2, SEASONS_MAX) * self.season();
            while self.points.len() > most {
                self.points.pop_front();
            }
            (self.sum, self.count) = (0.0, 0);
        }
        self.at = point;
        self.sum += value;
        self.count = self.count.saturating_add(1);
        is_next
    }

    /// Returns the complete points, oldest first.
    pub(super) fn points(&self) -> Vec<f64> {
        self.points.iter().copied().collect()
    }

    /// Returns true if there are two whole seasons.
    pub(super) fn is_enough(&self) -> bool {
        self.points.len() / 2 >= self.season()
    }

    /// Returns the number of the point after the complete ones.
    pub(super) const fn next(&self) -> i64 {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_a_season_belongs_to_one_point_and_none_is_empty() {
        for steps in [2_usize, 7, 288, 289, 1_000, 10_080] {
            let past = Past::new(steps);
            let season = past.season() as i64;
            let mut last = past.point_of(-(steps as i64)) - 1;
            for step in -(steps as i64)..2 * steps as i64 {
                let point = past.point_of(step);
                assert!(point == last || point == last + 1, "{steps}: {step}");
                last = point;
            }
            assert_eq!(last, 2 * season - 1);
        }
    }

    #[test]
    fn points_are_means_and_their_number_is_bounded() {
        let mut past = Past::new(10_080);
        let mut completed = 0;
        for step in 0..20 * 10_080 {
            completed += usize::from(past.push(step, (step % 35) as f64));
        }
        assert_eq!(completed, 20 * SEASON_MAX - 1);
        let points = past.points();
        assert_eq!(points.len(), POINTS_MAX);
        assert!(points.iter().all(|point| (point - 17.0).abs() < 1e-9));
        assert_eq!(past.next(), 20 * SEASON_MAX as i64 - 1);
    }

    #[test]
    fn two_whole_seasons_are_enough() {
        let mut past = Past::new(4);
        let enough = (0..9).map(|step| {
            past.push(step, 1.0);
            past.is_enough()
        });
        assert_eq!(enough.collect::<Vec<_>>().iter().position(|is_enough| *is_enough), Some(8));
    }
}
