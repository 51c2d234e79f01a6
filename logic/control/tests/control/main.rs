//! Tests of commands, snapshots and runtime changes, through the crate's public interface.
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

mod runtime_state;
mod snapshot;
mod wire;
