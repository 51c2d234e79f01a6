//! Tests of simulations in one program. `memory` is a separate one, because it counts the memory of all
//! threads.
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

mod behaviour;
mod found_weights;
mod hedges;
mod operations;
mod pool;
mod priorities;
mod retries;
mod theory;
