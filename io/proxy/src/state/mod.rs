//! State that all workers share: the plan in force, the servers and their states, and the counters.
//!
//! Workers only read this state, except for atomics and their own shards of the counters. The control plane
//! is the only other writer.

mod breaker;
mod client_connections;
mod counter;
mod descriptors;
mod expression_failures;
mod listener;
mod live;
mod memory;
mod pool;
mod queue;
mod reserved;
mod retrying;
mod room;
mod room_requests;
mod server;
mod shards;

pub use breaker::PoolBreaker;
pub use client_connections::ClientConnections;
pub(crate) use client_connections::CountedClient;
pub use counter::{Counter, RefusalCounts, StatusClasses};
pub use descriptors::Descriptors;
pub use expression_failures::ExpressionFailures;
pub(crate) use listener::TooMany;
pub use listener::{CompileError, HttpListener, ListenerState, ModeState, OpenConnections, Route};
pub use live::{Live, Shared};
pub use memory::MemoryState;
pub use pool::{PoolState, PoolView};
pub use queue::RequestQueue;
pub(crate) use queue::{Grant, QueueAhead, Refusal, Spot, Terms};
pub(crate) use reserved::{Held, ReservedPlace};
pub use retrying::Retries;
pub(crate) use retrying::Retrying;
pub use room::PoolRoom;
pub(crate) use room_requests::{Full, RoomRequest, RoomRequests};
pub use server::{Endpoint, ServerState, Whereabouts};
pub use shards::{LazyHistogram, ListenerCounters, Padded, PoolCounters, ServerCounters, Shards};
