//! Comparison of runs: the unit is the run, never the request.
//!
//! [`Estimate`] says where a median lies, [`compare_paired`] how two that took turns differ, [`mann_whitney`] and
//! [`sign_flip`] how likely chance alone makes such a difference, and [`holm`] what is left of that when many were asked.
//! Randomness comes from a seed: the same values and seed give the same answer.

mod bootstrap;
mod holm;
mod paired;
mod ranks;
mod rng;
mod signs;
#[cfg(test)]
mod tests;

pub use bootstrap::{Estimate, median};
pub use holm::holm;
pub use paired::{Difference, compare_paired};
pub use ranks::mann_whitney;
pub use signs::sign_flip;

/// A difference that chance makes less often than this counts as one.
pub const SIGNIFICANT: f64 = 0.05;
