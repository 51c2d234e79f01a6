//! Histograms and quantiles: what took how long, in a fixed amount of memory; how sure a mean of several runs is; and whether
//! two sets of runs differ ([`compare`]).
//!
//! Times are whole microseconds. [`Histogram`] is for one thread, [`SharedHistogram`] for one writer and any readers;
//! [`HistogramPair`] is two of those; all sort values into the same buckets. [`NanosHistogram`] counts nanoseconds, for measurements. Knows no clock and no metrics format.

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
