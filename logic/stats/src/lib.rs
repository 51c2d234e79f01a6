//! Histograms and quantiles of durations in fixed memory, confidence intervals of means, and statistical
//! comparison of two sets of runs ([`compare`]).
//!
//! Times are whole microseconds. [`Histogram`] is for one thread; [`SharedHistogram`] is for one writer and
//! any number of readers; [`HistogramPair`] consists of two shared histograms. All of them use the same
//! buckets. [`NanosHistogram`] counts nanoseconds, for measurements. The crate reads no clock and writes no
//! metrics format.

mod buckets;
pub mod compare;
mod histogram;
mod interval;
mod nanos;
mod pair;
mod recent;
mod shared;

pub use buckets::{MICROS_MAX, Resolution};
pub use histogram::Histogram;
pub use interval::{Interval, mean, student_t_975};
pub use nanos::NanosHistogram;
pub use pair::{HistogramPair, Side};
pub use recent::RecentPercentile;
pub use shared::SharedHistogram;
