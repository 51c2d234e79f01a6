//! What all workers share: the plan in force, servers and their states, counters.
//!
//! Workers only read here, but for atomics and their own shard of the counters. The control plane is the one writer.

mod counter;
mod listener;
mod live;
mod pool;
mod server;
mod shards;

pub use counter::{Counter, StatusClasses};
pub use listener::{CompileError, HttpListener, ListenerState, ModeState, OpenConnections, Route};
pub use live::{Live, Shared};
pub use pool::{PoolState, PoolView, Queue, QueuePlace};
pub use server::{Endpoint, ServerState};
pub use shards::{LazyHistogram, ListenerCounters, PoolCounters, ServerCounters, Shards};
