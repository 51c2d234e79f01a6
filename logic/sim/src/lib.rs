//! "Which algorithm, on my traffic?" A discrete-event simulator that runs the proxy's own code for choosing
//! servers, `weir_balance`'s rosters and pickers, in virtual time.
//!
//! It reads no files and no clock: the caller supplies the scenario, the lines of a log, and a callback for
//! progress. The same scenario gives the same result, to the last bit, on the same machine.
//!
//! - [`run`] plays one scenario with one algorithm and one seed and returns a [`Run`]. Its memory does not
//!   grow with the number of requests: they are drawn or read when they arrive, and their latencies go into a
//!   histogram.
//! - [`Report`] combines the runs of all algorithms and seeds: means with confidence intervals, a ranking,
//!   and conclusions in plain words. It becomes JSON by `serde`, and a page by [`html`].
//! - [`backtest`] and [`FleetReport`] do the same for the policies of `weir_scale`: how many servers, on this
//!   demand?
//!
//! Simulated are:
//! - arrivals, work, clients and URIs;
//! - servers with slots, queues, speeds and caches; their deaths, slow-downs, drains and additions;
//! - the balancer's workers, its retries, and the time until it notices that a server is dead.
//!
//! The proxy's own crates make these decisions:
//! - `weir_balance`: bindings of clients, order and rejection of waiting requests, slow start, automatic
//!   weights and limits; also tiers, zone, subset and the algorithm's options from a pool's config.
//! - `weir_health`: ejections for failed requests, and the circuit breaker.
//! - `weir_http`: the number of permitted second tries.
//! - `weir_wire`: the meaning of an agent's words.
//!
//! Not simulated are connections, bandwidth between balancer and servers, and the balancer's own work.

mod arrivals;
mod bonds;
mod client;
mod crowd;
mod engine;
mod fleet;
mod flight_id;
mod in_flight;
mod lru;
mod pool;
mod replay;
mod report;
mod rng;
mod run;
mod series;
mod server;
mod service;
mod sticky;
mod waiting;
mod weights;
mod workload;
mod zipf;

pub use engine::run;
pub use fleet::{
    Counts, Demand, DemandError, FleetReport, Outcome, Pattern, Point, PolicyReport, Versus, World, backtest,
    fleet_html,
};
pub use replay::{LogError, date};
pub use report::{
    AlgorithmReport, Figure, Latency, PriorityReport, Recommendation, Report, Tie, Utilisation, chart, html,
};
pub use run::{Errors, PriorityRun, Run};
pub use series::Series;
