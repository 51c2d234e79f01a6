//! "Which policy, on this demand?" Simulates a fleet in virtual time with the code that decides in a running
//! Weir: it calls `weir_scale`'s [`Scaler`](weir_scale::Scaler) once a second.
//!
//! - [`Demand`]: requests per second over time: the published pattern, variations of it, other patterns by
//!   seed, a history file, or an access log.
//! - [`World`]: the times that servers take to start and to drain, and their costs.
//! - [`backtest`] plays one set of rules against one demand and one seed and returns an [`Outcome`].
//! - [`FleetReport`] combines all outcomes, as JSON by `serde` and as a page by [`fleet_html`].
//!
//! Simulated are: the number of requests in each second (Poisson), a common queue in front of the servers,
//! refusals beyond its limit, starts of varying duration, and drains. Not simulated are latencies below a
//! second and failures of servers.

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
