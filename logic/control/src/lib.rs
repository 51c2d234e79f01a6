//! The command set that changes a running plan, its replies and rights, what an operator changed at runtime, and the
//! snapshot that every face shows.
//!
//! Pure: commands are carried by io/admin and obeyed by bin/weir. A config reload is expressed in the same commands, so
//! there is one way in. Nothing here knows how a socket or a page works.

mod address_server;
mod command;
mod found;
pub mod human;
mod reply;
mod right;
mod runtime;
mod snapshot;

pub use address_server::AddressOf;
pub use command::{AdminState, Command, ServerSpec, What};
pub use reply::{Answer, Code, Refusal, Reply};
pub use right::Right;
pub use runtime::{AddedServer, BadRuntimeState, EffectiveServer, Origin, Override, RuntimeState};
pub use snapshot::{
    AgentSnapshot, BreakerSnapshot, BreakerStatus, CheckCode, CheckSnapshot, ExpressionFailures, FleetDone,
    FleetEvent, FleetPolicySnapshot, FleetServerSnapshot, FleetSnapshot, Health, Latency, Level,
    ListenerSnapshot, ListenerStatus, LockSnapshot, MethodsSnapshot, PerSecond, PoolSnapshot, PoolStatus,
    ProcessSnapshot, Protocol, RefusalCount, Responses, ServerSnapshot, ServerState, Snapshot,
    StickySnapshot, StickyTableSnapshot, StorageSnapshot, TlsCounts, Tone, Traffic, TransferSnapshot,
    TransferTotals, TransfersSnapshot,
};

/// What is false unless stated is left out where it is.
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// What is 0 unless stated is left out where it is 0.
fn is_zero(number: &u16) -> bool {
    *number == 0
}
