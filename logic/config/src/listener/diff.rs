//! Finds the parts of a listener that have changed.

use std::fmt;

use serde::Serialize;

use super::plan::{HttpPlan, ListenerPlan, Mode, TcpPlan};
use crate::common::named::parts;

/// A part of a listener that can change by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListenerPart {
    /// `bind`.
    Bind,
    /// `mode`: all settings that depend on it are new.
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
    /// Only the positions of routes in the file.
    Places,
}

/// Returns the parts that differ between two listeners.
pub(crate) fn changed_parts(old: &ListenerPlan, new: &ListenerPlan) -> Vec<ListenerPart> {
    // Names every field, so that the compiler reports a new field here.
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
        // A change of another key has only moved the lines.
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
