//! Active health checks: one task per server.

mod connect;
mod duty;
mod http;
mod probe;
mod task;

#[cfg(test)]
mod tests;

pub(super) use duty::find;
pub(super) use probe::Probe;
pub(super) use task::{Target, keep_checking};
