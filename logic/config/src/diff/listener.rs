use std::fmt;

use serde::Serialize;
use weir_http::Action;

use super::Change;
use super::named::{Named, parts};
use crate::Plan;
use crate::plan::{HttpPlan, ListenerPlan, Mode, PoolPlan, TcpPlan};

/// A part of a listener that can change by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListenerPart {
    /// `bind`.
    Bind,
    /// `mode`: everything below it is new.
    Mode,
    /// `tls`.
    Tls,
    /// `proxy-protocol`.
    ProxyProtocol,
    /// `max-connections`.
    MaxConnections,
    /// `max-connections-per-client`.
    MaxConnectionsPerClient,
    /// `backlog`.
    Backlog,
    /// Routes.
    Routes,
    /// `pool` of a TCP listener.
    Pool,
    /// `sni` of a TCP listener.
    Sni,
    /// `timeouts`.
    Timeouts,
    /// `limits`.
    Limits,
    /// `paths`.
    Paths,
    /// `forwarded`.
    Forwarded,
    /// `half-close`.
    HalfClose,
    /// Nothing but the places of routes in the file.
    Places,
}

pub(super) fn diff(old: &Plan, new: &Plan, changes: &mut Vec<Change>) {
    let named = Named::new(&old.listeners, &new.listeners, |listener| &listener.name);
    let pools = PoolsMoved::new(&old.pools, &new.pools);
    changes.extend(named.removed.into_iter().cloned().map(Change::ListenerRemoved));
    for (old, new) in named.kept {
        let parts = changed_parts(&pools.moved(old), new);
        if !parts.is_empty() {
            changes.push(Change::ListenerChanged { listener: Box::new(new.clone()), parts });
        }
    }
    changes.extend(named.added.into_iter().cloned().map(Box::new).map(Change::ListenerAdded));
    changes.extend(named.order.map(Change::ListenersReordered));
}

/// Where the pools of one plan stand in another.
pub(super) struct PoolsMoved {
    /// By old index; `usize::MAX` = gone.
    places: Vec<usize>,
}

impl PoolsMoved {
    pub(super) fn new(old: &[PoolPlan], new: &[PoolPlan]) -> Self {
        let places: std::collections::HashMap<_, _> =
            new.iter().enumerate().map(|(place, pool)| (&pool.name, place)).collect();
        let place = |pool: &PoolPlan| places.get(&pool.name).copied().unwrap_or(usize::MAX);
        Self { places: old.iter().map(place).collect() }
    }

    /// The listener with the indices that its pools have in the new plan.
    pub(super) fn moved(&self, listener: &ListenerPlan) -> ListenerPlan {
        let mut listener = listener.clone();
        let place = |pool: &mut usize| *pool = self.places.get(*pool).copied().unwrap_or(usize::MAX);
        match &mut listener.mode {
            Mode::Http(http) => {
                for route in &mut http.routes {
                    if let Action::Pool(pool) = &mut route.action {
                        place(pool);
                    }
                }
            }
            Mode::Tcp(tcp) => {
                tcp.sni_routes.iter_mut().map(|route| &mut route.pool).chain(&mut tcp.pool).for_each(place);
            }
        }
        listener
    }
}

fn changed_parts(old: &ListenerPlan, new: &ListenerPlan) -> Vec<ListenerPart> {
    // Named one by one, so that a new field cannot be forgotten here.
    let ListenerPlan {
        name: _,
        bind,
        tls,
        proxy_protocol,
        connections_max,
        connections_per_client_max,
        backlog,
        mode,
    } = old;
    let mut changed = parts([
        (*bind != new.bind, ListenerPart::Bind),
        (*tls != new.tls, ListenerPart::Tls),
        (*proxy_protocol != new.proxy_protocol, ListenerPart::ProxyProtocol),
        (*connections_max != new.connections_max, ListenerPart::MaxConnections),
        (
            *connections_per_client_max != new.connections_per_client_max,
            ListenerPart::MaxConnectionsPerClient,
        ),
        (*backlog != new.backlog, ListenerPart::Backlog),
    ]);
    changed.extend(match (mode, &new.mode) {
        (Mode::Http(old), Mode::Http(new)) => http_parts(old, new),
        (Mode::Tcp(old), Mode::Tcp(new)) => tcp_parts(old, new),
        _ => vec![ListenerPart::Mode],
    });
    if changed.len() > 1 {
        // Lines that another key has moved.
        changed.retain(|part| *part != ListenerPart::Places);
    }
    changed
}

fn http_parts(old: &HttpPlan, new: &HttpPlan) -> Vec<ListenerPart> {
    let HttpPlan { routes, timeouts, limits, paths, forwarding, keep_alive_requests_max, half_close } = old;
    let mut placed_anew = routes.clone();
    for (route, new) in placed_anew.iter_mut().zip(&new.routes) {
        route.origin.clone_from(&new.origin);
    }
    let routes_differ = placed_anew != new.routes;
    parts([
        (routes_differ, ListenerPart::Routes),
        (!routes_differ && *routes != new.routes, ListenerPart::Places),
        (*timeouts != new.timeouts, ListenerPart::Timeouts),
        (
            *limits != new.limits || *keep_alive_requests_max != new.keep_alive_requests_max,
            ListenerPart::Limits,
        ),
        (*paths != new.paths, ListenerPart::Paths),
        (*forwarding != new.forwarding, ListenerPart::Forwarded),
        (*half_close != new.half_close, ListenerPart::HalfClose),
    ])
}

fn tcp_parts(old: &TcpPlan, new: &TcpPlan) -> Vec<ListenerPart> {
    let TcpPlan { sni_routes, pool, idle_timeout, head_timeout } = old;
    parts([
        (*sni_routes != new.sni_routes, ListenerPart::Sni),
        (*pool != new.pool, ListenerPart::Pool),
        (*idle_timeout != new.idle_timeout || *head_timeout != new.head_timeout, ListenerPart::Timeouts),
    ])
}

impl fmt::Display for ListenerPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bind => "bind",
            Self::Mode => "mode",
            Self::Tls => "tls",
            Self::ProxyProtocol => "proxy-protocol",
            Self::MaxConnections => "max-connections",
            Self::MaxConnectionsPerClient => "max-connections-per-client",
            Self::Backlog => "backlog",
            Self::Routes => "routes",
            Self::Pool => "pool",
            Self::Sni => "sni",
            Self::Timeouts => "timeouts",
            Self::Limits => "limits",
            Self::Paths => "paths",
            Self::Forwarded => "forwarded",
            Self::HalfClose => "half-close",
            Self::Places => "places of routes",
        })
    }
}
