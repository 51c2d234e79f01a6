//! How many servers a fleet needs, and what is to be done about it.
//!
//! A [`Scaler`] is told what was measured ([`Scaler::observe`] with a [`Sample`]) and how the fleet stands
//! ([`Scaler::decide`] with a list of [`Server`]s), and answers with a [`Decision`]: how many servers are wanted, why, and the
//! [`Action`]s that lead there, in the order in which they should be carried out. Time is an argument ([`Now`]); nothing here
//! starts a server, reads a counter or waits.
//!
//! - `sample`, `signals`: counters and gauges become demand, in servers. What is missing, stale or absurd is no demand of 0: the
//!   decision is to hold.
//! - `plausible`: rejects single absurd values and stopped counters until the new level lasts.
//! - `policy`: demand becomes a number of servers. One small file each: [`policy::Reactive`], [`policy::Target`],
//!   [`policy::Predictive`], [`policy::Schedule`]; several of them become the most that any wants.
//! - `forecast`: what demand will be, for [`policy::Predictive`]; the costly part of it is done by [`Scaler::refit`], between decisions.
//! - `scaler`: bounds, cool-downs, and what the parts said.
//! - `plan`: the number becomes actions: who is called back, woken, created, drained, stopped, deleted, replaced.
//! - `capacity`: what one server can do, given or learned from latencies.
//! - `demand_log`: demand of the past in few numbers, for forecasts of whoever leads next.
//! - `history`: the row of the history file that a round leaves behind. `plot`: rows as a picture.

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
