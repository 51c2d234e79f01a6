//! "Which algorithm, on my traffic?" A discrete-event simulator around the very code that chooses servers in the proxy:
//! `weir_balance`'s rosters and pickers, in virtual time.
//!
//! Reads no files and knows no clock: the caller brings the scenario, the lines of a log, and somebody to tell of progress.
//! The same scenario gives the same result, to the last bit, on the same machine.
//!
//! - [`run`] plays one scenario with one algorithm and one seed and returns a [`Run`]. Its memory does not grow with the
//!   number of requests: they are drawn or read as they come, and their latencies go into a histogram.
//! - [`Report`] puts the runs of all algorithms and seeds together: means with confidence intervals, a ranking, and what to
//!   make of it in plain words. It becomes JSON by `serde`, and a page by [`html`].
//! - [`backtest`] and [`FleetReport`] do the like for the policies of `weir_scale`: how many servers, on this demand?
//!
//! What is simulated: arrivals, work, clients, URIs, servers with slots, queues, speeds and caches, deaths, slow-downs, drains and additions, the
//! balancer's workers, its retries and the time until it knows that a server is dead. Who is bound to which server, who waits and in what
//! order, who is turned away, how weights rise, and how weights and limits are found is decided by `weir_balance`, too. Of a pool's config: tiers, zone,
//! subset, and the options of its algorithm. Who is ejected for refused requests, and when a breaker
//! opens, is decided by `weir_health`; how many second tries there may be by `weir_http`, and
//! what an agent's words mean by `weir_wire`. What is not: connections,
//! bandwidth between balancer and servers, and the balancer's own work.

mod arrivals;
mod bonds;
mod crowd;
mod engine;
mod fleet;
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
