//! Health of servers: results of checks and of real traffic decide whether a server is up, down or ejected.
//!
//! The crate is pure. The caller runs the checks, counts the traffic and provides the time.
//!
//! Two independent states decide about a server:
//!
//! - [`CheckState`] is up or down by the results of active checks.
//! - [`EjectionState`] excludes a server for some time by the results of real requests.
//!
//! A server gets requests if it is up and not ejected. [`Breaker`] decides about the pool as a whole: it
//! rejects requests while too many of them fail.

mod breaker;
mod check;
mod ejection;
mod rules;
mod traffic;
mod window;

pub use breaker::{Admission, Breaker, BreakerRule, BreakerState, Probe};
pub use check::{CheckState, Transition};
pub use ejection::{EjectionState, PoolEjections, Verdict};
pub use rules::{CheckTiming, EjectionRule, InitialState};
pub use traffic::{TrafficOutcome, TrafficSample};
