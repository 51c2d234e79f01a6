//! The work of simulated requests.

use weir_config::simulation::{Service, ServiceLaw};

use crate::rng::Rng;

/// Distribution of the work of requests, in nanoseconds at a server of speed 1.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Fixed(f64),
    Exponential { mean_ns: f64 },
    Lognormal { mean_ns: f64, sigma: f64 },
    Pareto(BoundedPareto),
    BySize { base_ns: f64, ns_per_byte: f64, mean_bytes: f64, sigma: f64 },
}

/// A Pareto distribution bounded at both ends.
#[derive(Debug, Clone)]
pub(crate) struct BoundedPareto {
    shape: f64,
    min: f64,
    max: f64,
}

impl Work {
    pub(crate) fn new(service: &Service) -> Self {
        let mean_ns = service.mean.0 as f64;
        match service.law {
            ServiceLaw::Deterministic => Self::Fixed(mean_ns),
            ServiceLaw::Exponential => Self::Exponential { mean_ns },
            ServiceLaw::Lognormal { deviation } => Self::Lognormal { mean_ns, sigma: sigma(deviation) },
            ServiceLaw::Pareto { shape, max } => {
                Self::Pareto(BoundedPareto::with_mean(mean_ns, shape, max.0 as f64))
            }
            ServiceLaw::BySize { base, bandwidth, size, deviation } => Self::BySize {
                base_ns: base.0 as f64,
                ns_per_byte: 1e9 / bandwidth.max(1) as f64,
                mean_bytes: size as f64,
                sigma: sigma(deviation),
            },
        }
    }

    /// Draws the work of one request, and its size if the work depends on it. `bytes` is the size, if known.
    pub(crate) fn draw(&self, rng: &mut Rng, bytes: Option<u64>) -> (f64, Option<u64>) {
        let ns = match self {
            Self::Fixed(ns) => *ns,
            Self::Exponential { mean_ns } => mean_ns * rng.exponential(),
            Self::Lognormal { mean_ns, sigma } => lognormal(rng, *mean_ns, *sigma),
            Self::Pareto(pareto) => pareto.draw(rng),
            Self::BySize { base_ns, ns_per_byte, mean_bytes, sigma } => {
                let bytes = bytes.map_or_else(|| lognormal(rng, *mean_bytes, *sigma), |bytes| bytes as f64);
                return (base_ns + ns_per_byte * bytes, Some(bytes.round() as u64));
            }
        };
        (ns, None)
    }
}

/// Returns the deviation of the normal distribution under a log-normal one with this coefficient of
/// variation.
fn sigma(variation: f64) -> f64 {
    (1.0 + variation * variation).ln().sqrt()
}

fn lognormal(rng: &mut Rng, mean: f64, sigma: f64) -> f64 {
    mean * (sigma * rng.normal() - sigma * sigma / 2.0).exp()
}

impl BoundedPareto {
    /// Creates the distribution with this mean, tail and greatest value. Bisection finds the least value,
    /// because the mean grows with it.
    fn with_mean(mean: f64, shape: f64, max: f64) -> Self {
        let (mut low, mut high) = (mean.ln() - 60.0, mean.ln());
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            let tried = Self { shape, min: middle.exp(), max };
            if tried.mean() < mean { low = middle } else { high = middle }
        }
        Self { shape, min: high.exp(), max }
    }

    fn mean(&self) -> f64 {
        let Self { shape, min, max } = self;
        if (shape - 1.0).abs() < 1e-9 {
            return min * max / (max - min) * (max / min).ln();
        }
        let cut = 1.0 - (min / max).powf(*shape);
        min.powf(*shape) / cut * shape / (shape - 1.0) * (min.powf(1.0 - shape) - max.powf(1.0 - shape))
    }

    /// Draws by inversion of the distribution function.
    fn draw(&self, rng: &mut Rng) -> f64 {
        let cut = 1.0 - (self.min / self.max).powf(self.shape);
        let rest: f64 = 1.0 - (1.0 - rng.unit()) * cut;
        self.min / rest.powf(1.0 / self.shape)
    }
}

#[cfg(test)]
mod tests {
    use weir_config::simulation::SimTime;

    use super::*;
    use crate::rng::Stream;

    fn mean_of(law: ServiceLaw, draws: usize) -> f64 {
        let work = Work::new(&Service { law, mean: SimTime(1_000_000) });
        let mut rng = Rng::new(5, Stream::Work);
        (0..draws).map(|_| work.draw(&mut rng, None).0).sum::<f64>() / draws as f64
    }

    #[test]
    fn every_law_has_the_mean_that_was_asked_for() {
        let laws = [
            ServiceLaw::Deterministic,
            ServiceLaw::Exponential,
            ServiceLaw::Lognormal { deviation: 1.5 },
            ServiceLaw::Pareto { shape: 2.2, max: SimTime(1_000_000_000) },
            ServiceLaw::Pareto { shape: 1.0, max: SimTime(20_000_000) },
            ServiceLaw::BySize {
                base: SimTime(400_000),
                bandwidth: 1_000_000_000,
                size: 600_000,
                deviation: 1.0,
            },
        ];
        for law in laws {
            let mean = mean_of(law.clone(), 400_000);
            assert!((mean / 1e6 - 1.0).abs() < 0.02, "{law:?}: {mean}");
        }
    }

    #[test]
    fn a_heavy_tail_ends_where_it_is_cut() {
        let law = ServiceLaw::Pareto { shape: 0.9, max: SimTime(50_000_000) };
        let work = Work::new(&Service { law, mean: SimTime(1_000_000) });
        let mut rng = Rng::new(5, Stream::Work);
        let longest = (0..200_000).map(|_| work.draw(&mut rng, None).0).fold(0.0, f64::max);
        assert!(longest > 40e6 && longest <= 50e6 * 1.000_001, "{longest}");
    }

    #[test]
    fn a_known_size_says_how_long_it_takes() {
        let law = ServiceLaw::BySize { base: SimTime(1_000), bandwidth: 1_000_000, size: 1, deviation: 0.0 };
        let work = Work::new(&Service { law, mean: SimTime(2_000) });
        let (ns, bytes) = work.draw(&mut Rng::new(1, Stream::Work), Some(500));
        assert!((ns - 501_000.0).abs() < 1e-3, "{ns}");
        assert_eq!(bytes, Some(500));
    }
}
