//! The Spec: what the file says, value by value, each valid in itself. Whether the parts fit together (does this pool
//! exist, is this route ever reached) is decided when the [`crate::Plan`] is made of it.

mod auto_weight;
pub(crate) mod balance;
mod check;
mod error_page;
mod fleet;
mod fleet_haproxy;
mod fleet_kubernetes;
mod fleet_lease;
mod header;
mod limits;
mod listener;
mod matching;
mod offload;
mod parts;
mod paths;
mod pool;
mod process;
mod redirect;
mod route;
mod spread;
mod sticky;
mod storage;
mod third_party;
mod tls;
mod token_endpoint;

use std::collections::BTreeMap;

use crate::context::Context;
use crate::diagnostic::Problem;
use crate::keys;
use crate::plan::{AccessLogPlan, AdminPlan, ErrorPage, ProcessPlan, ResolverPlan, ThirdPartyCopyPlan};
use crate::source::Located;
use crate::subject::Subject;
use crate::table::Table;
use crate::tree::Node;

pub(crate) use auto_weight::{rule as auto_weight_rule, weight as server_weight};
pub(crate) use balance::{default_key, needs_key};
pub(crate) use fleet::FleetSpec;
pub(crate) use limits::{LIMIT_HELP, breaker, concurrency, hedge};
pub(crate) use listener::{ListenerSpec, ModeSpec, SniSpec};
pub(crate) use pool::{PoolSpec, ejection};
pub(crate) use route::{ActionSpec, RouteSpec};
pub(crate) use spread::slow_start;
pub(crate) use storage::{AreaSpecs, IssuerSpec};
pub(crate) use token_endpoint::EndpointSpec;

/// A whole file, or directory of files.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) process: ProcessPlan,
    pub(crate) admin: Option<Located<AdminPlan>>,
    pub(crate) access_log: Option<AccessLogPlan>,
    pub(crate) resolver: ResolverPlan,
    pub(crate) error_pages: BTreeMap<u16, ErrorPage>,
    pub(crate) listeners: Vec<ListenerSpec>,
    pub(crate) routes: Vec<RouteSpec>,
    pub(crate) pools: Vec<PoolSpec>,
    pub(crate) fleets: Vec<FleetSpec>,
    pub(crate) storage_areas: Vec<AreaSpecs>,
    pub(crate) token_issuers: Vec<IssuerSpec>,
    pub(crate) token_endpoints: Vec<EndpointSpec>,
    pub(crate) third_party_copy: ThirdPartyCopyPlan,
}

impl Spec {
    /// Reads a tree whose shape has been checked.
    pub(crate) fn read(cx: &Context<'_>, root: &Node) -> Self {
        let table = Table::new(cx, Subject::default(), &keys::ROOT, root);
        let named = |key| table.get(key).map_or(&[][..], Node::entries);
        if let (Some(node), []) = (table.get("third-party-copy"), named("storage-area"))
            && !cx.is_incomplete()
        {
            table.error(
                "third-party-copy",
                node.span,
                "there is no storage area that files could be copied to or from",
            );
        }
        let has_haproxy = |(_, fleet): &(Located<String>, Node)| fleet.get("haproxy").is_some();
        let may_be_without = named("fleet").iter().any(has_haproxy) || table.has_unknown_keys();
        if named("listener").is_empty() && !may_be_without && !cx.is_incomplete() {
            let example = keys::ROOT.key("listener").map_or("", |key| key.example);
            let problem = Problem::error(root.span, "the config has no listener".to_owned());
            cx.report(problem.help(format!("for example: listener = {example}")));
        }
        Self {
            process: process::process(&table.table("weir")),
            admin: table.table_if("admin").map(|admin| process::admin(&admin)),
            access_log: table.table_if("access-log").map(|log| process::access_log(&log)),
            resolver: process::resolver(&table.table("resolver")),
            error_pages: error_page::error_pages(cx, named("error-page")),
            listeners: named("listener")
                .iter()
                .filter_map(|(name, node)| listener::read(cx, name, node))
                .collect(),
            routes: route::read_all(cx, table.many("route")),
            pools: named("pool").iter().filter_map(|(name, node)| pool::read(cx, name, node)).collect(),
            fleets: named("fleet").iter().filter_map(|(name, node)| fleet::read(cx, name, node)).collect(),
            storage_areas: named("storage-area")
                .iter()
                .filter_map(|(name, node)| storage::area(cx, name, node))
                .collect(),
            token_issuers: named("token-issuer")
                .iter()
                .filter_map(|(name, node)| storage::issuer(cx, name, node))
                .collect(),
            token_endpoints: named("token-endpoint")
                .iter()
                .filter_map(|(name, node)| token_endpoint::read(cx, name, node))
                .collect(),
            third_party_copy: third_party::read(&table.table("third-party-copy")),
        }
    }
}
