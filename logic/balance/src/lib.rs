//! Which server gets the next request: every scheduling algorithm, and the load they decide on.
//!
//! Pure: the caller brings randomness and time. Does not know what a connection is, nor why a server is ineligible.
//!
//! The parts, and who holds them:
//! - [`ServerLoad`]: one per server, shared by all workers: what it has to do right now.
//! - [`Roster`]: one per pool, immutable but for the keys in it; made anew when a server comes, goes or changes.
//! - [`Picker`]: one per worker and pool: the worker's own place in round robin.
//! - [`Concurrency`]: one per server where the limit of its requests is to be found: follows its latency.
//! - [`Queue`]: one per pool: the order of those who wait because nobody has room. Only touched while somebody waits.
//!
//! To pick is to ask the picker with the roster, then at once [`Roster::begin`]; when the request is over,
//! [`Roster::end`] on the roster of that moment.

mod algorithm;
mod candidate;
mod catalogue;
mod concurrency;
mod gcd;
mod hash;
mod hub;
mod ipvs_wrr;
mod key_rule;
mod load;
mod mix;
mod picker;
mod queue;
mod random;
mod reference;
mod roster;
mod round_robin;
mod source;
mod static_rr;
mod tournament;
mod weighted_map;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use candidate::Candidate;
pub use catalogue::{ALGORITHMS, AlgorithmEntry};
pub use concurrency::{Concurrency, ConcurrencyAlgorithm, ConcurrencyRule};
pub use load::ServerLoad;
pub use picker::{Pick, PickInput, Picker};
pub use queue::{Departures, Next, Queue, Rank, Ticket};
pub use reference::reference;
pub use roster::Roster;
