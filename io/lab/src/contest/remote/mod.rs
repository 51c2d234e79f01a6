//! Other machines of a scenario, reached over SSH.
//!
//! One `ssh` per machine carries all data. First it transfers the program of Weir, which the remote shell
//! stores in a temporary directory and starts ([`agent`]). Then it carries requests and responses, one line
//! of JSON each ([`words`]). When the connection ends for any reason, the agent ends what it has started and
//! removes its files, and the shell removes the program. [`Host`] is this side, and [`link`] is the
//! connection. A machine that is silent for too long is disconnected and named.

mod agent;
mod host;
mod link;
mod words;

pub use agent::serve;
pub(crate) use host::{Host, Hosts};
pub(crate) use words::Start;
