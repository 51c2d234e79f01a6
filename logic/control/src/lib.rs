//! The commands that change a running Weir, their replies and rights, the runtime changes of an operator, and
//! the snapshot that every user interface shows.
//!
//! This crate is pure: io/admin transports commands, and bin/weir executes them. A config reload uses the
//! same commands, so there is only one way to change a plan. Nothing here depends on sockets or pages.

mod address_server;
mod command;
mod found;
pub mod human;
mod name_filter;
mod reply;
mod right;
mod runtime;
mod snapshot;

pub use address_server::AddressOf;
pub use command::{AdminState, Command, ServerSpec, What};
pub use name_filter::NameFilter;
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

/// Returns true if `flag` is false, to leave the default out of the serialized form.
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Returns true if `number` is 0, to leave the default out of the serialized form.
fn is_zero(number: &u16) -> bool {
    *number == 0
}
