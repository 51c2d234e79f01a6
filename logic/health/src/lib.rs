//! Check and traffic outcomes decide whether a server is up, down or ejected.
//!
//! Pure: the caller runs the checks, counts the traffic and brings the time.
//!
//! Two judges that do not know of each other: [`CheckState`] hears what active checks find and says up or down;
//! [`EjectionState`] looks at what became of real requests and takes a server out for a while. A server gets requests
//! if neither objects.
//!
//! A third one judges the pool as a whole: [`Breaker`] keeps requests away from it while too many of them fail.

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
