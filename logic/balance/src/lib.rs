//! Scheduling algorithms: pick the server for the next request, and keep the load figures that they compare.
//!
//! This crate is pure: the caller supplies randomness and time. It knows nothing about connections, nor about
//! the reason for which a server is ineligible.
//!
//! The main types, and how many of each exist:
//! - [`ServerLoad`]: one per server, shared by all workers. Counts the work that the server has right now.
//! - [`Roster`]: one per pool. Immutable except for the keys in it; replaced when a server is added, removed
//!   or changed.
//! - [`Watch`]: one per request. Measures the request if the algorithm uses measurements.
//! - [`Picker`]: one per worker and pool. Holds the worker's own position in round robin.
//! - [`Concurrency`]: one per server whose request limit is adaptive. Follows the server's latency.
//! - [`Queue`]: one per pool. Orders the requests that wait because no server has room; touched only while
//!   requests wait.
//! - [`ServiceTimes`], [`weigh`]: measurements of a server with an automatic weight, and the weight computed
//!   from them.
//! - [`StickyTable`], [`StickyToken`], [`Standing`]: the server that a client is bound to, and whether the
//!   client may still use it.
//!
//! To pick a server, call the picker with the roster and then, without delay, [`Roster::begin`]. When the
//! request ends, call [`Roster::end`] on the roster that is current at that moment.

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
