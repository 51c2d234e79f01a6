//! Replays the corpus of every fuzz target and runs mutated inputs, in an ordinary test program.
//!
//! This search is short and does not measure coverage; `make fuzz` is the long search with coverage.
//! `WEIR_FUZZ_SECONDS` (5) is the search time of each target, 0 = replay only. `WEIR_FUZZ_SEED` (1) chooses the inputs: the same seed,
//! iteration and corpus give the same input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A helper that fails is a test that fails.

mod artifacts;
mod completeness;
mod corpus;
mod fuzz_target;
mod mutator;
mod search;
