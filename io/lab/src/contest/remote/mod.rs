//! Other machines of a scenario, reached over SSH.
//!
//! One `ssh` for each machine carries everything: first the program of Weir itself, which is put into a directory of its own there and
//! started ([`agent`]), then questions and answers, a line of JSON each ([`words`]). When that connection ends, however it ends, the
//! agent ends what it has started and takes its files away; the shell around it takes the program away. [`Host`] is this side of it,
//! [`link`] the way there. A machine that says nothing for too long is left, and named.

mod agent;
mod host;
mod link;
mod words;

pub use agent::serve;
pub(crate) use host::{Host, Hosts};
pub(crate) use words::Start;
