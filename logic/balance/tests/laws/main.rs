//! What every algorithm promises, from the outside.

mod by_key;
mod concurrency;
mod everyone;
mod least_connections;
mod pool;
mod queue;
mod random;
mod round_robin;
mod source;
mod stress;
