//! Tests of the scaler with a fleet in virtual time.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod decisions;
mod laws;
mod support;
