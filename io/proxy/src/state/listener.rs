//! Compiled listeners and routes, and the number of their open connections.

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

/// A listener as the workers see it. It is immutable; a reload creates another one.
#[derive(Debug)]
pub struct ListenerState {
    /// Settings of the listener.
    pub plan: ListenerPlan,
    /// Counters; a reload keeps them.
    pub counters: Arc<Shards<ListenerCounters>>,
    /// Open connections, over all workers; a reload keeps the count.
    pub open: Arc<OpenConnections>,
    /// TLS configuration towards clients.
    pub tls: Option<Arc<ServerTls>>,
    /// Protocol of the listener.
    pub mode: ModeState,
}

/// A listener's protocol with its compiled rules.
#[derive(Debug)]
pub enum ModeState {
    /// HTTP/1.
    Http(Arc<HttpListener>),
    /// TCP: bytes are forwarded without parsing.
    Tcp(Arc<TcpPlan>),
}

/// An HTTP listener's routes and rules, compiled.
#[derive(Debug)]
pub struct HttpListener {
    /// Settings of the HTTP listener.
    pub plan: HttpPlan,
    /// Rewriter for request and response heads.
    pub forwarder: Forwarder,
    /// Table that finds the route of a request.
    pub table: RouteTable,
    /// Routes, by the index that `table` returns.
    pub routes: Vec<Route>,
}

/// A route, compiled.
#[derive(Debug)]
pub struct Route {
    /// Settings of the route.
    pub plan: RoutePlan,
    /// Rewriter for the heads of this route.
    pub rewriter: RouteRewriter,
    /// Template for the Location of a redirect.
    pub location: Option<Template>,
    /// Fields that the trailers of its requests must not contain.
    pub trailers: TrailerRules,
    /// Requests for which the route's expression failed.
    pub failures: ExpressionFailures,
}

/// Error: a client already has its maximum number of connections.
#[derive(Debug)]
pub(crate) struct TooMany;

/// Number of open connections, and the highest number so far.
#[derive(Debug, Default)]
pub struct OpenConnections {
    now: AtomicU32,
    max: AtomicU32,
    clients: Arc<ClientConnections>,
}

/// Reason why a listener's rules cannot be compiled. `weir check` reports the same errors.
#[derive(Debug)]
pub enum CompileError {
    /// The match of the route with this name is invalid.
    Match(String, RouteError),
    /// The rewrite rules of the route with this name are invalid.
    Rewrite(String, RewriteError),
}

impl HttpListener {
    /// Compiles the HTTP settings of a listener.
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
        // A route that Weir answers itself has no path at a server to rewrite.
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
    /// Compiles the protocol settings of a listener.
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
    /// Counts one more connection. Returns false, without counting it, if that would exceed `limit`.
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

    /// Counts one connection less.
    pub fn leave(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the number of open connections.
    pub fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// Returns the highest number of connections that were open at once.
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
    /// Returns a number that identifies the listener among all listeners, and that reloads do not change.
    pub(crate) fn number(&self) -> usize {
        Arc::as_ptr(&self.open).addr()
    }

    /// Counts a connection of a client, if the listener has a limit per client. Fails if the client has
    /// reached the limit.
    pub(crate) fn count_client(&self, client: Option<SocketAddr>) -> Result<Option<CountedClient>, TooMany> {
        let (Some(max), Some(client)) = (self.plan.connections_per_client_max, client) else {
            return Ok(None);
        };
        // Many clients share a trusted proxy, so the limit does not apply to its address.
        if matches!(&self.mode, ModeState::Http(http) if http.forwarder.peer(client).is_trusted()) {
            return Ok(None);
        }
        self.open.clients.enter(client_network(client.ip()), max).map(Some).ok_or(TooMany)
    }

    /// Returns true if this peer must send a PROXY header, which names the client.
    pub(crate) fn takes_proxy_header(&self, peer: Option<SocketAddr>) -> bool {
        let trusts = |rule: &ProxyProtocolIn| {
            peer.is_none_or(|peer| rule.trusted.iter().any(|net| net.contains(&peer.ip())))
        };
        self.plan.proxy_protocol.as_ref().is_some_and(trusts)
    }

    /// Returns how long a client may take before its first request, or before its first byte in TCP mode.
    pub fn head_timeout(&self) -> Duration {
        match &self.mode {
            ModeState::Http(http) => http.plan.timeouts.head.duration(),
            ModeState::Tcp(tcp) => tcp.head_timeout.duration(),
        }
    }
}
