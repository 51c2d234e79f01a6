//! A fleet in virtual time: what it is told, and what holds for every demand.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod decisions;
mod laws;
mod support;
