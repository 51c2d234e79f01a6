//! What every algorithm promises, from the outside.

mod by_key;
mod everyone;
mod least_connections;
mod pool;
mod random;
mod round_robin;
mod source;
mod stress;
