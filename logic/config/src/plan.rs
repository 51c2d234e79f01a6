//! The Plan: a config that has been proved valid. All references resolve, all numbers are in range and all
//! defaults are filled in. A `None` never means that a value is missing, only that the operator wants none.

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
    /// Settings of the whole process.
    pub process: ProcessPlan,
    /// Admin interface: status page, metrics and JSON over HTTP.
    pub admin: Option<AdminPlan>,
    /// Access log.
    pub access_log: Option<AccessLogPlan>,
    /// Resolver of server names.
    pub resolver: ResolverPlan,
    /// Listeners in file order, with unique names.
    pub listeners: Vec<ListenerPlan>,
    /// Pools in file order, with unique names; routes refer to them by index.
    pub pools: Vec<PoolPlan>,
    /// Fleets in file order, with unique names; each has its own pool.
    pub fleets: Vec<FleetPlan>,
    /// Storage areas in file order, with unique names; routes refer to them by name.
    pub storage_areas: Vec<AreaPlan>,
    /// Token issuers in file order, with unique names and issuers.
    pub token_issuers: Vec<TokenIssuerPlan>,
    /// Token endpoints in file order, with unique names and issuers; areas refer to them by name.
    pub token_endpoints: Vec<TokenEndpointPlan>,
    /// Copies between storage areas and other servers.
    pub third_party_copy: ThirdPartyCopyPlan,
    /// Bodies of Weir's own responses, by status.
    pub error_pages: BTreeMap<u16, ErrorPage>,
}
