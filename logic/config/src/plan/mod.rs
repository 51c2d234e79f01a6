//! The Plan: a config that has been proved valid. Every reference resolves, every number is in its range, every default
//! is filled in. Nothing here is an `Option` for want of a value: `None` always means "the operator wants none".

mod balance;
mod fleet;
mod lease;
mod listener;
mod offload;
mod pool;
mod process;
mod redirect;
mod sticky;
mod storage;
mod third_party;
mod tls;

use std::collections::BTreeMap;

use serde::Serialize;

pub use balance::{HashPlan, KeyPlan};
pub use fleet::{
    FleetBalancer, FleetCloud, FleetPlan, FleetPods, FleetProcesses, FleetProgram, FleetProvider,
    FleetRestart, FleetWorkload, HaproxyBackend, HaproxyTemplate, HistoryForm, HistoryPlan,
};
pub use lease::{LeasePlan, LeaseStoreKind, LeaseStorePlan};
pub use listener::{
    ClientTimeouts, HttpPlan, ListenerPlan, Mode, Priority, ProxyProtocolIn, RoutePlan, SniRoute, TcpPlan,
};
pub use offload::{LocationFiles, LocationPlan, OffloadPlan};
pub use pool::{
    AgentPlan, AutoWeightPlan, CheckKind, CheckPlan, ConnectionReuse, Fairness, HedgePlan, HttpCheck,
    NobodyLeft, PoolPlan, ProxyProtocolOut, QueuePlan, RetryPlan, ServerPlan, ServerTimeouts,
};
pub use process::{
    AccessLogFormat, AccessLogPlan, AdminPlan, IdRange, LogTarget, MemoryLimit, ProcessPlan, ResolverPlan,
    SyslogFacility,
};
pub use redirect::{RedirectPlan, SecretPlace};
pub use sticky::{
    CookieMode, CookieValue, LearnFrom, StickyBy, StickyCookie, StickyLearn, StickyPlan, StickySource,
    StickyTablePlan, WhenBusy, WhenGone,
};
pub use storage::{
    AccelRedirectPlan, ActAsPlan, AreaPlan, Durability, KeySetSource, OwnAlgorithm, Symlinks,
    TokenEndpointPlan, TokenIssuerPlan,
};
pub use third_party::ThirdPartyCopyPlan;
pub use tls::{Certificate, ClientAuth, TlsIn, TlsOut, TlsVersion};

/// A whole valid config.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// What concerns the process as a whole.
    pub process: ProcessPlan,
    /// Status page, metrics and JSON over HTTP.
    pub admin: Option<AdminPlan>,
    /// Where a line for each request goes.
    pub access_log: Option<AccessLogPlan>,
    /// How server names are resolved.
    pub resolver: ResolverPlan,
    /// In file order, names unique.
    pub listeners: Vec<ListenerPlan>,
    /// In file order, names unique; routes refer to them by index.
    pub pools: Vec<PoolPlan>,
    /// In file order, names unique, each with a pool of its own.
    pub fleets: Vec<FleetPlan>,
    /// In file order, names unique; routes refer to them by name.
    pub storage_areas: Vec<AreaPlan>,
    /// In file order, names and issuers unique.
    pub token_issuers: Vec<TokenIssuerPlan>,
    /// In file order, names and issuers unique; areas refer to them by name.
    pub token_endpoints: Vec<TokenEndpointPlan>,
    /// Copies between storage areas and other servers.
    pub third_party_copy: ThirdPartyCopyPlan,
    /// Bodies for the statuses that Weir answers with itself.
    pub error_pages: BTreeMap<u16, ErrorPage>,
}

/// The body of an error that Weir answers with itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorPage {
    /// Its Content-Type.
    pub content_type: String,
    /// The body.
    pub body: String,
}
