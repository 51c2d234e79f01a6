//! Synthetic patterns of demand.

use std::f64::consts::TAU;

use crate::rng::Rng;

/// Synthetic demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// The load of the published experiment: from 1/s in steps to 131/s and back within 20 minutes. The same
    /// for each seed.
    Published,
    /// Like the published load, with other rates, durations and distances for each seed.
    Varied,
    /// Random rates that hold for 2 to 50 minutes each, for four hours.
    Steps,
    /// Two days with a busy noon and a quiet night, plus slow random variation.
    Daily,
    /// A week of such days, which differ only by random variation. For forecasts, which need several days.
    Days,
    /// An hour with one sudden crowd that leaves slowly.
    Flash,
    /// Bursts that end before a server has started, for an hour.
    Bursts,
}

/// A rate that is added to others for a while, in requests per second.
struct Layer {
    from_s: f64,
    lasts_s: f64,
    rate: f64,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Self; 7] =
        [Self::Published, Self::Varied, Self::Steps, Self::Daily, Self::Days, Self::Flash, Self::Bursts];

    /// Returns the name in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Varied => "varied",
            Self::Steps => "steps",
            Self::Daily => "daily",
            Self::Days => "days",
            Self::Flash => "flash",
            Self::Bursts => "bursts",
        }
    }

    pub(super) fn rates(self, rng: &mut Rng) -> Vec<f64> {
        match self {
            Self::Published => layered(1_200, &published()),
            Self::Varied => varied(rng),
            Self::Steps => steps(rng),
            Self::Daily => daily(rng, 2),
            Self::Days => daily(rng, 7),
            Self::Flash => flash(rng),
            Self::Bursts => bursts(rng),
        }
    }
}

/// Returns the layers as published. The recorded peak of 131/s fits two of the last three.
fn published() -> Vec<Layer> {
    let minutes = |from_s: f64, minutes: f64, rate: f64| Layer { from_s, lasts_s: minutes * 60.0, rate };
    vec![
        minutes(0.0, 20.0, 1.0),
        minutes(120.0, 8.0, 10.0),
        minutes(180.0, 6.0, 10.0),
        minutes(240.0, 5.0, 10.0),
        minutes(300.0, 4.0, 40.0),
        minutes(420.0, 8.0, 10.0),
        minutes(420.0, 8.0, 10.0),
        minutes(420.0, 4.0, 40.0),
    ]
}

fn layered(seconds: usize, layers: &[Layer]) -> Vec<f64> {
    let rate = |second: usize| {
        let at = second as f64;
        let holds = |layer: &&Layer| (layer.from_s..layer.from_s + layer.lasts_s).contains(&at);
        layers.iter().filter(holds).map(|layer| layer.rate).sum()
    };
    (0..seconds).map(rate).collect()
}

fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least + (most - least) * rng.unit()
}

fn varied(rng: &mut Rng) -> Vec<f64> {
    let mut layers = published();
    for layer in layers.iter_mut().skip(1) {
        layer.rate *= between(rng, 0.5, 1.5);
        layer.lasts_s *= between(rng, 0.7, 1.5);
        layer.from_s += between(rng, -50.0, 70.0);
    }
    layers[0].rate = between(rng, 1.0, 15.0);
    layers[0].lasts_s = f64::INFINITY;
    layered(1_500, &layers)
}

fn steps(rng: &mut Rng) -> Vec<f64> {
    let mut rates = Vec::new();
    while rates.len() < 4 * 3_600 {
        let lasts = between(rng, 120.0, 3_000.0) as usize;
        let rate = between(rng, 1.0, 125.0);
        rates.extend(std::iter::repeat_n(rate, lasts));
    }
    rates.truncate(4 * 3_600);
    rates
}

fn daily(rng: &mut Rng, days: usize) -> Vec<f64> {
    let (low, high) = (between(rng, 5.0, 15.0), between(rng, 80.0, 120.0));
    let mut drift = 0.0;
    let rate = |second: usize| {
        // Random variation that comes and goes within about twenty minutes.
        drift += -drift / 1_200.0 + rng.normal() * 0.05 * (2.0_f64 / 1_200.0).sqrt();
        let day = (1.0 - (TAU * second as f64 / 86_400.0).cos()) / 2.0;
        ((low + (high - low) * day.powf(1.3)) * (1.0 + drift)).max(0.0)
    };
    (0..days * 86_400).map(rate).collect()
}

fn flash(rng: &mut Rng) -> Vec<f64> {
    let (base, peak) = (between(rng, 5.0, 20.0), between(rng, 80.0, 125.0));
    let (begins, rises, stays, falls) = (
        between(rng, 400.0, 900.0),
        between(rng, 5.0, 90.0),
        between(rng, 120.0, 600.0),
        between(rng, 200.0, 600.0),
    );
    let rate = |second: usize| {
        let at = second as f64 - begins;
        let share = if at < 0.0 {
            0.0
        } else if at < rises {
            at / rises
        } else if at < rises + stays {
            1.0
        } else {
            (-(at - rises - stays) / falls).exp()
        };
        base + (peak - base) * share
    };
    (0..3_600).map(rate).collect()
}

fn bursts(rng: &mut Rng) -> Vec<f64> {
    let base = between(rng, 5.0, 40.0);
    let mut rates = Vec::new();
    while rates.len() < 3_600 {
        let (quiet, busy) = (between(rng, 10.0, 60.0) as usize, between(rng, 5.0, 40.0) as usize);
        let height = base + between(rng, 10.0, 60.0);
        rates.extend(std::iter::repeat_n(base, quiet));
        rates.extend(std::iter::repeat_n(height, busy));
    }
    rates.truncate(3_600);
    rates
}
