use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weir_config::plan::{HttpPlan, ListenerPlan, Mode, ProxyProtocolIn, RoutePlan, TcpPlan};
use weir_http::{
    Action, Forwarder, RewriteError, RouteError, RouteRewriter, RouteTable, Scheme, Template, TrailerRules,
};
use weir_model::client_network;
use weir_net::tls::ServerTls;

use super::{ClientConnections, CountedClient, ExpressionFailures, ListenerCounters, Shards};

/// A listener as the workers see it. Immutable; a reload makes another.
#[derive(Debug)]
pub struct ListenerState {
    /// Its settings.
    pub plan: ListenerPlan,
    /// What was counted, kept over reloads.
    pub counters: Arc<Shards<ListenerCounters>>,
    /// Connections that are open, over all workers, kept over reloads.
    pub open: Arc<OpenConnections>,
    /// TLS towards clients.
    pub tls: Option<Arc<ServerTls>>,
    /// What is spoken.
    pub mode: ModeState,
}

/// What a listener speaks, compiled.
#[derive(Debug)]
pub enum ModeState {
    /// HTTP/1.
    Http(Arc<HttpListener>),
    /// Bytes.
    Tcp(Arc<TcpPlan>),
}

/// An HTTP listener's routes and rules, compiled.
#[derive(Debug)]
pub struct HttpListener {
    /// Its settings.
    pub plan: HttpPlan,
    /// Rewrites heads.
    pub forwarder: Forwarder,
    /// Finds the route.
    pub table: RouteTable,
    /// By the index that `table` finds.
    pub routes: Vec<Route>,
}

/// A route, compiled.
#[derive(Debug)]
pub struct Route {
    /// Its settings.
    pub plan: RoutePlan,
    /// Changes heads.
    pub rewriter: RouteRewriter,
    /// The Location of a redirect.
    pub location: Option<Template>,
    /// What must not stand in the trailers of its requests.
    pub trailers: TrailerRules,
    /// Requests for which its expression failed.
    pub failures: ExpressionFailures,
}

/// A client has as many connections as it may.
#[derive(Debug)]
pub(crate) struct TooMany;

/// Connections open at one instant, and the most there ever were.
#[derive(Debug, Default)]
pub struct OpenConnections {
    now: AtomicU32,
    max: AtomicU32,
    clients: Arc<ClientConnections>,
}

/// Why a listener's rules cannot be compiled; `weir check` finds the same.
#[derive(Debug)]
pub enum CompileError {
    /// The match of the route of this name.
    Match(String, RouteError),
    /// The rules of the route of this name.
    Rewrite(String, RewriteError),
}

impl HttpListener {
    /// Compiles an HTTP listener's part.
    pub fn compile(plan: &HttpPlan, scheme: Scheme) -> Result<Self, CompileError> {
        let routes = plan.routes.iter().map(|route| (&route.matches, &route.action));
        let table = RouteTable::compile(routes, plan.paths.as_ref()).map_err(|(index, error)| {
            let name = plan.routes.get(index).map(|route| route.name.to_string()).unwrap_or_default();
            CompileError::Match(name, error)
        })?;
        let forwarder = Forwarder::compile(&plan.forwarding, scheme).reading_paths(plan.paths);
        let routes = plan.routes.iter().map(|route| Route::compile(route, &forwarder));
        let routes = routes.collect::<Result<_, _>>()?;
        Ok(Self { plan: plan.clone(), forwarder, table, routes })
    }
}

impl Route {
    fn compile(plan: &RoutePlan, forwarder: &Forwarder) -> Result<Self, CompileError> {
        let failed = |error| CompileError::Rewrite(plan.name.to_string(), error);
        // What is answered here has no path at a server.
        let rewrite = plan.rewrite.as_ref();
        let rewrite = rewrite.filter(|_| matches!(plan.action, Action::Pool(_) | Action::Storage(_)));
        let rewriter = RouteRewriter::compile(rewrite, &plan.headers).map_err(failed)?;
        let location = match &plan.action {
            Action::Redirect(rule) => Some(
                Template::parse(&rule.location)
                    .map_err(|error| failed(RewriteError::Value("Location".to_owned(), error)))?,
            ),
            Action::Pool(_) | Action::Storage(_) | Action::Respond(_) => None,
        };
        let trailers = forwarder.trailer_rules(&rewriter);
        let failures = ExpressionFailures::default();
        Ok(Self { plan: plan.clone(), rewriter, location, trailers, failures })
    }
}

impl ModeState {
    /// Compiles what a listener speaks.
    pub fn compile(plan: &ListenerPlan) -> Result<Self, CompileError> {
        match &plan.mode {
            Mode::Tcp(tcp) => Ok(Self::Tcp(Arc::new(tcp.clone()))),
            Mode::Http(http) => {
                let scheme = if plan.tls.is_some() { Scheme::Https } else { Scheme::Http };
                HttpListener::compile(http, scheme).map(|http| Self::Http(Arc::new(http)))
            }
        }
    }
}

impl OpenConnections {
    /// Counts one more, unless that were more than `limit`.
    pub fn enter(&self, limit: Option<u32>) -> bool {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        if limit.is_some_and(|limit| now > limit) {
            self.leave();
            return false;
        }
        if now > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(now, Ordering::Relaxed);
        }
        true
    }

    /// Counts one less.
    pub fn leave(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many are open.
    pub fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// The most that ever were open.
    pub fn max(&self) -> u32 {
        self.max.load(Ordering::Relaxed)
    }
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Match(route, error) => write!(f, "route {route}: {error}"),
            Self::Rewrite(route, error) => write!(f, "route {route}: {error}"),
        }
    }
}

impl std::error::Error for CompileError {}

impl ListenerState {
    /// Tells it from other listeners, the same over reloads.
    pub(crate) fn number(&self) -> usize {
        Arc::as_ptr(&self.open).addr()
    }

    /// Counts a connection of a client, where there is a limit for each. An error: it has as many as it may.
    pub(crate) fn count_client(&self, client: Option<SocketAddr>) -> Result<Option<CountedClient>, TooMany> {
        let (Some(max), Some(client)) = (self.plan.connections_per_client_max, client) else {
            return Ok(None);
        };
        // Many clients share a proxy.
        if matches!(&self.mode, ModeState::Http(http) if http.forwarder.peer(client).is_trusted()) {
            return Ok(None);
        }
        self.open.clients.enter(client_network(client.ip()), max).map(Some).ok_or(TooMany)
    }

    /// Returns whether a peer tells its client by a PROXY header.
    pub(crate) fn takes_proxy_header(&self, peer: Option<SocketAddr>) -> bool {
        let trusts = |rule: &ProxyProtocolIn| {
            peer.is_none_or(|peer| rule.trusted.iter().any(|net| net.contains(&peer.ip())))
        };
        self.plan.proxy_protocol.as_ref().is_some_and(trusts)
    }

    /// How long a client may take before its first request, or its first byte in TCP mode.
    pub fn head_timeout(&self) -> Duration {
        match &self.mode {
            ModeState::Http(http) => http.plan.timeouts.head.duration(),
            ModeState::Tcp(tcp) => tcp.head_timeout.duration(),
        }
    }
}
