//! Random numbers: streams that are reproducible for a seed.

/// A stream of random numbers: xoshiro256++ (Blackman, Vigna: "Scrambled linear pseudorandom number
/// generators", 2021). SplitMix64 fills its state, as the authors advise.
#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: [u64; 4],
}

/// Purpose of a stream. Each purpose has its own stream. So two algorithms get the same arrivals, clients and
/// work, however many numbers their picks use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    Arrivals = 1,
    Work = 2,
    Clients = 3,
    Uris = 4,
    Picks = 5,
    Workers = 6,
    Demand = 7,
    Priorities = 8,
    Classes = 9,
    Values = 10,
}

impl Rng {
    /// Creates the stream for one purpose in the run of one seed.
    pub(crate) fn new(seed: u64, stream: Stream) -> Self {
        let mut fill = mix(seed ^ mix(stream as u64));
        let state = std::array::from_fn(|_| {
            fill = fill.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(fill)
        });
        Self { state }
    }

    /// Returns a number evenly distributed over all 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let mut next = [a, b, c ^ a, d ^ b];
        next[1] ^= next[2];
        next[0] ^= next[3];
        next[2] ^= b << 17;
        next[3] = next[3].rotate_left(45);
        self.state = next;
        result
    }

    /// Returns a number evenly distributed over (0, 1], so that its logarithm is finite.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number evenly distributed below `limit`; 0 if `limit` is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns an exponentially distributed number with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// Returns a normally distributed number with mean 0 and deviation 1 (Box and Muller, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Spreads a number over all 64 bits: SplitMix64's output function (Steele, Lea, Flood, 2014).
pub(crate) fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a hash of bytes that is the same on every machine (FNV-1a, mixed).
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        const COUNT: usize = 200_000;
        let values: Vec<f64> = (0..COUNT).map(|_| draw()).collect();
        let mean = values.iter().sum::<f64>() / COUNT as f64;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / COUNT as f64)
    }

    #[test]
    fn the_sequence_is_that_of_its_authors() {
        // Expected values: the reference implementation's first numbers from the state 1, 2, 3, 4.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| rng.next()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn distributions_have_their_moments() {
        let mut rng = Rng::new(1, Stream::Work);
        let near = |(mean, variance): (f64, f64), m: f64, v: f64| {
            (mean - m).abs() < 0.02 && (variance - v).abs() < 0.03
        };
        assert!(near(moments(|| rng.exponential()), 1.0, 1.0));
        assert!(near(moments(|| rng.normal()), 0.0, 1.0));
        assert!(near(moments(|| rng.unit()), 0.5, 1.0 / 12.0));
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = |stream| Rng::new(7, stream).next();
        assert_ne!(first(Stream::Work), first(Stream::Arrivals));
        assert_eq!(first(Stream::Work), first(Stream::Work));
    }
}
