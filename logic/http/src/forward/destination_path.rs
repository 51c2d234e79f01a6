//! The path that `Destination` of COPY and MOVE names (RFC 4918 section 10.3), as routes compare it: a rule for a path holds
//! for what a request writes there, too.

use super::Forwarder;
use super::destination::before_query;
use crate::{
    Action, HeaderTable, KnownHeader, NormalPath, RequestHead, RouteRequest, RouteTable, split_authority,
};

/// The resource that a COPY or MOVE writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination<'a> {
    /// None on this host.
    Elsewhere,
    /// Two readers could take it for different ones.
    Ambiguous,
    /// A path of this host.
    Here(NormalPath<'a>),
}

impl Forwarder {
    /// Returns what a request names as its destination. The scheme and the port of the URI do not count: a server may
    /// know itself by others than Weir does.
    pub fn destination<'b>(&self, buf: &'b [u8], head: &RequestHead, table: &HeaderTable) -> Destination<'b> {
        if !table.has(KnownHeader::Destination) || !matches!(head.method.bytes(buf), b"COPY" | b"MOVE") {
            return Destination::Elsewhere;
        }
        let mut lines = table.all(KnownHeader::Destination).map(|line| line.value().of(buf));
        let (Some(uri), None) = (lines.next(), lines.next()) else { return Destination::Ambiguous };
        let host = head.host.map(|host| host.of(buf)).unwrap_or_default();
        match Named::of(uri, host) {
            Named::OtherHost => Destination::Elsewhere,
            Named::Unclear => Destination::Ambiguous,
            Named::Path(path) => match &self.paths {
                None => Destination::Here(NormalPath::as_sent(path)),
                Some(rules) => rules.normalize(path).map_or(Destination::Ambiguous, Destination::Here),
            },
        }
    }
}

impl Destination<'_> {
    /// Returns the status with which a request is refused that must not write there: the path is ambiguous, or a request for
    /// it would reach neither a pool nor a storage area. `action` gives the action of a route, `taken` is that of the route
    /// which takes the request.
    pub fn refusal<'t>(
        &self,
        taken: &Action,
        request: &RouteRequest<'_>,
        routes: &RouteTable,
        action: impl Fn(usize) -> Option<&'t Action>,
    ) -> Option<u16> {
        let path = match self {
            Self::Elsewhere => return None,
            Self::Ambiguous => return Some(400),
            Self::Here(path) => path,
        };
        // Files of a storage area can have backslashes in their names.
        if path.has_refused_backslash && !matches!(taken, Action::Storage(_)) {
            return Some(400);
        }
        let there =
            RouteRequest { path: path.compared(), forwarded_path: &path.forwarded, query: None, ..*request };
        match routes.find(&there).route.and_then(action) {
            Some(Action::Pool(_) | Action::Storage(_)) => None,
            Some(Action::Redirect(_) | Action::Respond(_)) | None => Some(403),
        }
    }
}

enum Named<'a> {
    OtherHost,
    Unclear,
    Path(&'a [u8]),
}

impl<'a> Named<'a> {
    fn of(uri: &'a [u8], own: &[u8]) -> Self {
        match uri {
            // A reference to another host (RFC 3986 section 4.2), and a path to servers that merge slashes.
            [b'/', b'/' | b'\\', ..] => return Self::Unclear,
            [b'/', ..] => return Self::Path(before_query(uri)),
            _ => {}
        }
        // What has no scheme is relative to the path of the request; the RFC has no such destinations.
        let Some((authority, path)) = absolute(uri) else { return Self::Unclear };
        let Some((host, _)) = split_authority(authority) else { return Self::Unclear };
        match split_authority(own) {
            Some((own, _)) if !host.eq_ignore_ascii_case(own) => Self::OtherHost,
            // A client of HTTP/1.0 may not have said whom it asks: then any host can be this one.
            _ if path.is_empty() => Self::Path(b"/"),
            _ => Self::Path(path),
        }
    }
}

/// Returns authority and path of `scheme://authority/path`.
fn absolute(uri: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = uri.iter().position(|byte| *byte == b':')?;
    let is_scheme = uri[..colon].iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    let rest = uri[colon..].strip_prefix(b"://").filter(|_| colon > 0 && is_scheme)?;
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'\\' | b'?' | b'#')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match path.first() {
        Some(b'\\') => None,
        _ => Some((authority, before_query(path))),
    }
}
