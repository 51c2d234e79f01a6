//! Commands, snapshots and what is kept of them, through the crate's public face.
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

mod runtime_state;
mod snapshot;
mod wire;
