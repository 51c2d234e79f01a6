//! The Spec: the values of the file, each valid by itself. The step that makes the [`crate::Plan`] checks
//! whether they fit together (for example, if a pool exists or a route is reachable).

use std::collections::BTreeMap;

use crate::fleet::read::FleetSpec;
use crate::listener::read::ListenerSpec;
use crate::listener::route;
use crate::listener::route::read::RouteSpec;
use crate::plan::{AccessLogPlan, AdminPlan, ProcessPlan, ResolverPlan, ThirdPartyCopyPlan};
use crate::pool::read::PoolSpec;
use crate::process::error_page;
use crate::process::plan::ErrorPage;
use crate::root::ROOT;
use crate::storage::read::{AreaSpecs, IssuerSpec};
use crate::storage::token_endpoint::read::EndpointSpec;
use crate::storage::{third_party, token_endpoint};
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::Located;
use crate::syntax::tree::Node;
use crate::values::subject::Subject;
use crate::values::table::Table;
use crate::{fleet, listener, pool, process, storage};

/// The values of a file, or of a directory of files.
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
        let table = Table::new(cx, Subject::default(), &ROOT, root);
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
            let example = ROOT.key("listener").map_or("", |key| key.example);
            let problem = Problem::error(root.span, "the config has no listener".to_owned());
            cx.report(problem.help(format!("for example: listener = {example}")));
        }
        Self {
            process: process::read::process(&table.table("weir")),
            admin: table.table_if("admin").map(|admin| process::read::admin(&admin)),
            access_log: table.table_if("access-log").map(|log| process::read::access_log(&log)),
            resolver: process::read::resolver(&table.table("resolver")),
            error_pages: error_page::error_pages(cx, named("error-page")),
            listeners: named("listener")
                .iter()
                .filter_map(|(name, node)| listener::read::read(cx, name, node))
                .collect(),
            routes: route::read::read_all(cx, table.many("route")),
            pools: named("pool").iter().filter_map(|(name, node)| pool::read::read(cx, name, node)).collect(),
            fleets: named("fleet")
                .iter()
                .filter_map(|(name, node)| fleet::read::read(cx, name, node))
                .collect(),
            storage_areas: named("storage-area")
                .iter()
                .filter_map(|(name, node)| storage::read::area(cx, name, node))
                .collect(),
            token_issuers: named("token-issuer")
                .iter()
                .filter_map(|(name, node)| storage::read::issuer(cx, name, node))
                .collect(),
            token_endpoints: named("token-endpoint")
                .iter()
                .filter_map(|(name, node)| token_endpoint::read::read(cx, name, node))
                .collect(),
            third_party_copy: third_party::read::read(&table.table("third-party-copy")),
        }
    }
}
