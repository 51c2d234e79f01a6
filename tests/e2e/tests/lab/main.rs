//! Tests of `weir lab`. No other test program runs at the same time, because labs measure and have time
//! limits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fleet;
mod programs;
mod run;
mod sabotage;
mod ways;

// Tests with their own machines and networks, or with every rival: they take minutes.
#[cfg(feature = "long")]
mod failover;
#[cfg(feature = "long")]
mod hosts;
#[cfg(feature = "long")]
mod networks;
#[cfg(feature = "long")]
mod rivals;
