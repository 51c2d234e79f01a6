//! Comparison of runs: the unit is the run, never the request.
//!
//! [`Estimate`] says where a median lies, [`compare_paired`] how two that took turns differ, [`mann_whitney`] and
//! [`sign_flip`] how likely chance alone makes such a difference and in which direction it goes, [`holm`] what is left of that
//! when many were asked, [`Difference::outcome`] what all of this comes to where small differences do not matter, and [`least_ranked`]
//! and [`least_paired`] whether so few runs can show anything at all.
//! Randomness comes from a seed: the same values and seed give the same answer.

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

/// A difference that chance makes less often than this counts as one.
pub const SIGNIFICANT: f64 = 0.05;
