//! `weir lab`. No other test program runs beside this one: labs measure, and time what they start.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fleet;
mod programs;
mod run;
mod sabotage;
mod ways;

// With machines and networks of their own, or with every rival: these take minutes.
#[cfg(feature = "long")]
mod failover;
#[cfg(feature = "long")]
mod hosts;
#[cfg(feature = "long")]
mod networks;
#[cfg(feature = "long")]
mod rivals;
