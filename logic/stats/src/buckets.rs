//! The bucket layout that all histograms in microseconds share.

use std::ops::RangeInclusive;

/// Longest time that histograms distinguish, about 71 minutes; longer times count as this.
pub const MICROS_MAX: u64 = u32::MAX as u64;

/// The resolution of a histogram: the number of equal buckets for each power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Resolution {
    /// 4 buckets for each power of two, 124 in total (1 KiB). The relative error is at most 12.5 percent.
    Coarse,
    /// 8 buckets for each power of two, 240 in total (2 KiB). The relative error is at most 6.25 percent.
    #[default]
    Fine,
    /// 128 buckets for each power of two, 3328 in total (26 KiB). The relative error is at most 0.4 percent.
    /// It suits simulations.
    Precise,
}

impl Resolution {
    /// Returns the total number of buckets.
    pub(crate) const fn buckets(self) -> usize {
        self.bucket_of(MICROS_MAX) + 1
    }

    /// Returns the bucket of a value. The layout is log-linear: each of the smallest values has a bucket of
    /// its own, and each further power of two has the same number of buckets.
    pub(crate) const fn bucket_of(self, micros: u64) -> usize {
        let bits = self.bits();
        let value = if micros > MICROS_MAX { MICROS_MAX } else { micros };
        if value < 1 << bits {
            return value as usize;
        }
        let exponent = value.ilog2();
        let position = (value >> (exponent - bits)) & ((1 << bits) - 1);
        (((exponent - bits + 1) as usize) << bits) + position as usize
    }

    /// Returns the values that a bucket counts.
    pub(crate) const fn values_of(self, bucket: usize) -> RangeInclusive<u64> {
        let bits = self.bits();
        let position = bucket as u64 & ((1 << bits) - 1);
        match (bucket >> bits) as u32 {
            0 => position..=position,
            group => {
                let shift = group - 1;
                let first = ((1 << bits) + position) << shift;
                first..=first + (1 << shift) - 1
            }
        }
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Coarse => 2,
            Self::Fine => 3,
            Self::Precise => 7,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for resolution in [Resolution::Coarse, Resolution::Fine, Resolution::Precise] {
            let mut next = 0;
            for bucket in 0..resolution.buckets() {
                let values = resolution.values_of(bucket);
                assert_eq!(*values.start(), next, "{resolution:?} bucket {bucket}");
                for value in [*values.start(), *values.end()] {
                    assert_eq!(resolution.bucket_of(value), bucket, "{resolution:?} value {value}");
                }
                next = values.end() + 1;
            }
            assert_eq!(next, MICROS_MAX + 1);
        }
    }

    #[test]
    fn the_documented_sizes_are_true() {
        assert_eq!(Resolution::Fine.buckets(), 240);
        assert_eq!(Resolution::Coarse.buckets(), 124);
        assert_eq!(Resolution::Precise.buckets(), 3328);
    }

    #[test]
    fn what_is_longer_than_the_longest_counts_as_the_longest() {
        assert_eq!(Resolution::Fine.bucket_of(u64::MAX), Resolution::Fine.buckets() - 1);
    }
}
