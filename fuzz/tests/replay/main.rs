//! Replays the corpus of every fuzz target and runs mutated inputs, in an ordinary test program.
//!
//! This search is short and does not measure coverage; `make fuzz` is the long search with coverage.
//! `WEIR_FUZZ_SECONDS` (default 5) is the search time of each target; 0 only replays. `WEIR_FUZZ_SEED`
//! (default 1) chooses the inputs: the same seed, iteration and corpus give the same input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A helper may panic, because that fails its test.

mod artifacts;
mod completeness;
mod corpus;
mod fuzz_target;
mod mutator;
mod search;
