//! The Plan: a config that has been proved valid. Every reference resolves, every number is in its range, every default
//! is filled in. Nothing here is an `Option` for want of a value: `None` always means "the operator wants none".

use std::collections::BTreeMap;

use serde::Serialize;

pub use crate::common::secret::SecretPlace;
pub use crate::fleet::lease::plan::{LeasePlan, LeaseStoreKind, LeaseStorePlan};
pub use crate::fleet::plan::{
    FleetBalancer, FleetCloud, FleetPlan, FleetPods, FleetProcesses, FleetProgram, FleetProvider,
    FleetRestart, FleetWorkload, HaproxyBackend, HaproxyTemplate, HistoryForm, HistoryPlan,
};
pub use crate::listener::plan::{
    ClientTimeouts, HttpPlan, ListenerPlan, Mode, Priority, ProxyProtocolIn, RoutePlan, SniRoute, TcpPlan,
};
pub use crate::pool::balance::plan::{HashPlan, KeyPlan};
pub use crate::pool::offload::plan::{LocationFiles, LocationPlan, OffloadPlan};
pub use crate::pool::plan::{
    AgentPlan, AutoWeightPlan, CheckKind, CheckPlan, ConnectionReuse, Fairness, HedgePlan, HttpCheck,
    NobodyLeft, PoolPlan, ProxyProtocolOut, QueuePlan, RetryPlan, ServerPlan, ServerTimeouts,
};
pub use crate::pool::redirect::plan::RedirectPlan;
pub use crate::pool::sticky::plan::{
    CookieMode, CookieValue, LearnFrom, StickyBy, StickyCookie, StickyLearn, StickyPlan, StickySource,
    StickyTablePlan, WhenBusy, WhenGone,
};
pub use crate::process::plan::{
    AccessLogFormat, AccessLogPlan, AdminPlan, ErrorPage, IdRange, LogTarget, MemoryLimit, ProcessPlan,
    ResolverPlan, SyslogFacility,
};
pub use crate::storage::plan::{
    AccelRedirectPlan, ActAsPlan, AreaPlan, Durability, KeySetSource, OwnAlgorithm, Symlinks,
    TokenEndpointPlan, TokenIssuerPlan,
};
pub use crate::storage::third_party::plan::ThirdPartyCopyPlan;
pub use crate::tls::plan::{Certificate, ClientAuth, TlsIn, TlsOut, TlsVersion};

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
