//! Tests of the properties of all algorithms, through the crate's public interface.

#![allow(clippy::unwrap_used, clippy::panic)]

mod auto_weight;
mod by_key;
mod choices;
mod concurrency;
mod everyone;
mod golden;
mod hashes;
mod ipvs;
mod ipvs_golden;
mod ipvs_twos;
mod least_connections;
mod least_request;
mod measured;
mod membership;
mod pool;
mod portions;
mod queue;
mod random;
mod round_robin;
mod sequences;
mod source;
mod sticky;
mod stress;
