//! Which server gets the next request: every scheduling algorithm, and the load they decide on.
//!
//! Pure: the caller brings randomness and time. Does not know what a connection is, nor why a server is ineligible.
//!
//! The parts, and who holds them:
//! - [`ServerLoad`]: one per server, shared by all workers: what it has to do right now.
//! - [`Roster`]: one per pool, immutable but for the keys in it; made anew when a server comes, goes or changes.
//! - [`Watch`]: one per request: measures it, where the algorithm goes by measurements.
//! - [`Picker`]: one per worker and pool: the worker's own place in round robin.
//! - [`Concurrency`]: one per server where the limit of its requests is to be found: follows its latency.
//! - [`Queue`]: one per pool: the order of those who wait because nobody has room. Only touched while somebody waits.
//! - [`ServiceTimes`], [`weigh`]: where a server's weight is to be found, what was measured, and what comes of it.
//! - [`StickyTable`], [`StickyToken`], [`Standing`]: which server a client is bound to, and whether it may have it.
//!
//! To pick is to ask the picker with the roster, then at once [`Roster::begin`]; when the request is over,
//! [`Roster::end`] on the roster of that moment.

mod algorithm;
mod auto_weight;
mod bounded_load;
mod candidate;
mod catalogue;
mod concurrency;
mod cost;
mod counterparts;
mod draw;
mod edf;
mod gcd;
mod hash;
mod hub;
mod ipvs_twos;
mod ipvs_wrr;
mod key;
mod key_rule;
mod load;
mod locality;
mod measure;
mod membership;
mod mix;
mod open_weights;
mod options;
mod picker;
mod portion;
mod queue;
mod reference;
mod roster;
mod round_robin;
mod schedule;
mod scheduling;
mod slot_set;
mod slow_start;
mod static_rr;
mod sticky;
mod subset;
mod tournament;
mod tree;
mod weighted_map;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use auto_weight::{
    AVERAGE_WEIGHT, AutoWeight, AutoWeightRule, ClassWindow, Judged, KnownSpeeds, RequestClass, RequestMix,
    ServiceTimes, SpeedEstimate, WeightUse, weigh,
};
pub use candidate::Candidate;
pub use catalogue::{ALGORITHMS, AlgorithmEntry};
pub use concurrency::{Concurrency, ConcurrencyAlgorithm, ConcurrencyRule};
pub use hash::{Digest, HashFunction};
pub use key::Key;
pub use load::ServerLoad;
pub use measure::Watch;
pub use membership::{Membership, ZoneRule};
pub use options::{Hundredths, MeasureOptions, ResponseEnd};
pub use picker::{Pick, PickInput, Picker};
pub use portion::Portion;
pub use queue::{Admission, Departures, Next, Queue, Rank, RefusalCause, Ticket};
pub use reference::reference;
pub use roster::Roster;
pub use scheduling::{HashOptions, RingPoints, Scheduling};
pub use slow_start::SlowStart;
pub use sticky::{
    Standing, StickyKey, StickyKeys, StickyTable, StickyTableCounts, StickyTableRule, StickyToken, TokenAge,
    TokenLife, masked_source,
};
pub use subset::Subset;
