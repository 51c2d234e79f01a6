//! Comparison of runs. The unit of the statistics is the run, never the request.
//!
//! - [`Estimate`] is a median with its interval.
//! - [`compare_paired`] compares two subjects that were measured in turns.
//! - [`mann_whitney`] and [`sign_flip`] compute the p-value and the direction of a difference.
//! - [`holm`] corrects p-values for multiple comparisons.
//! - [`Difference::outcome`] combines these results if small differences are irrelevant.
//! - [`least_ranked`] and [`least_paired`] return the smallest p-value that a number of runs can reach.
//!
//! Randomness comes from a seed: the same values and seed give the same result.

mod averages;
mod bootstrap;
mod evidence;
mod holm;
mod interval;
mod margin;
mod paired;
mod ranks;
mod rng;
mod signs;
#[cfg(test)]
mod tests;

pub use bootstrap::{Estimate, median};
pub use evidence::Evidence;
pub use holm::holm;
pub use margin::Outcome;
pub use paired::{Difference, compare_paired};
pub use ranks::{least_ranked, mann_whitney};
pub use signs::{least_paired, sign_flip};

/// Significance level: a smaller p-value counts as a difference.
pub const SIGNIFICANT: f64 = 0.05;
