//! What simulations find. One program; `memory` is another one, because it counts what every thread asks for.
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

mod behaviour;
mod found_weights;
mod hedges;
mod operations;
mod pool;
mod priorities;
mod retries;
mod theory;
