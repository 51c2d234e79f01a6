//! Scaling decisions: the number of servers that a fleet needs, and the actions to reach it.
//!
//! A [`Scaler`] receives measurements ([`Scaler::observe`] with a [`Sample`]) and the state of the fleet
//! ([`Scaler::decide`] with a list of [`Server`]s). It returns a [`Decision`]: the wanted number of servers,
//! the reason, and the [`Action`]s in the order of execution. Time is an argument ([`Now`]). This crate
//! starts no server, reads no counter and never waits.
//!
//! - `sample`, `signals`: turn counters and gauges into demand, in servers. A missing, stale or absurd value
//!   does not mean a demand of 0: the decision then is to hold.
//! - `plausible`: rejects single absurd values and stopped counters until the new level lasts.
//! - `policy`: turns demand into a number of servers. One small file each: [`policy::Reactive`],
//!   [`policy::Target`], [`policy::Predictive`], [`policy::Schedule`]. Of several proposals, the highest
//!   counts.
//! - `forecast`: forecasts demand for [`policy::Predictive`]. [`Scaler::refit`] does the costly part between
//!   decisions.
//! - `scaler`: applies bounds and cool-downs to the proposals.
//! - `plan`: turns the number into actions: recall, wake, create, drain, stop, delete, replace.
//! - `capacity`: holds the capacity of one server, given or learned from latencies.
//! - `demand_log`: logs past demand compactly, for the forecasts of the next leader.
//! - `history`: formats the row of the history file for each round. `plot`: draws rows as a picture.

mod capacity;
mod choice;
mod counter;
mod date;
mod decision;
mod demand_log;
pub mod forecast;
pub mod history;
mod plan;
mod plausible;
pub mod plot;
pub mod policy;
mod rules;
mod sample;
mod scaler;
mod server;
mod signals;
mod time;
mod view;
mod window;

pub use capacity::{Capacity, CapacityRule, Learner, Observation};
pub use choice::Leaver;
pub use counter::{Counter, Increase};
pub use decision::{Action, Alarm, Decision, Fleet, Part, StartFailure, Successor};
pub use demand_log::DemandLog;
pub use policy::Policy;
pub use rules::{Bounds, Combination, CoolDown, Rules, SignalKind, SignalRule, Standby};
pub use sample::{P95, Sample};
pub use scaler::Scaler;
pub use server::{Server, ServerState};
pub use signals::Unusable;
pub use time::Now;
pub use window::{Statistic, Window};
