//! "Which policy, on this demand?" A fleet in virtual time around the very code that decides in a running Weir: `weir_scale`'s
//! [`Scaler`](weir_scale::Scaler), once a second.
//!
//! - [`Demand`]: requests per second over time: the published pattern, variations of it, other patterns by seed, a history file, an
//!   access log.
//! - [`World`]: how long servers take to start and to drain, what they cost.
//! - [`backtest`] plays one set of rules against one demand and one seed and returns an [`Outcome`].
//! - [`FleetReport`] puts all of them together, as JSON by `serde` and as a page by [`fleet_html`].
//!
//! What is simulated: single requests as counts of each second (Poisson), a common queue in front of the servers, refusal beyond
//! its limit, starts of varying length, drains. What is not: latencies below a second, servers that fail.

mod demand;
mod history;
mod html;
mod pattern;
mod provider;
mod report;
mod run;
#[cfg(test)]
mod tests;

pub use demand::{Demand, DemandError};
pub use html::fleet_html;
pub use pattern::Pattern;
pub use provider::World;
pub use report::{FleetReport, PolicyReport, Versus};
pub use run::{Counts, Outcome, Point, backtest};
