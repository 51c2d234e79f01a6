//! The path in the `Destination` of COPY and MOVE (RFC 4918 section 10.3), for comparison with routes: a rule
//! for a path also applies to writes by these methods.

use super::Forwarder;
use super::destination::before_query;
use super::path::has_prefix;
use crate::path::canonical;
use crate::{
    Action, HeaderTable, KnownHeader, NormalPath, PathRewrite, RequestHead, RouteRequest, RouteTable,
    split_authority,
};

/// The resource that a COPY or MOVE writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination<'a> {
    /// The request has no destination.
    None,
    /// A resource of another host, with its path; `None` = the path is ambiguous.
    Elsewhere(Option<NormalPath<'a>>),
    /// Different readers could interpret it as different resources.
    Ambiguous,
    /// A path of this host.
    Here(NormalPath<'a>),
}

impl Forwarder {
    /// Returns the destination of a request. Ignores the scheme and the port of the URI, because a server may
    /// know itself under others than Weir does.
    pub fn destination<'b>(&self, buf: &'b [u8], head: &RequestHead, table: &HeaderTable) -> Destination<'b> {
        let method = head.method.bytes(buf);
        // Some servers ignore the case of methods.
        let has_destination = method.eq_ignore_ascii_case(b"COPY") || method.eq_ignore_ascii_case(b"MOVE");
        if !table.has(KnownHeader::Destination) || !has_destination {
            return Destination::None;
        }
        let mut lines = table.all(KnownHeader::Destination).map(|line| line.value().of(buf));
        let (Some(uri), None) = (lines.next(), lines.next()) else { return Destination::Ambiguous };
        let host = head.host.map(|host| host.of(buf)).unwrap_or_default();
        let normalize = |path| match &self.paths {
            None => Some(NormalPath::as_sent(path)),
            Some(rules) => rules.normalize(path).ok(),
        };
        match Named::of(uri, host) {
            Named::OtherHost(path) => Destination::Elsewhere(normalize(path)),
            Named::Unclear => Destination::Ambiguous,
            Named::Path(path) => normalize(path).map_or(Destination::Ambiguous, Destination::Here),
        }
    }
}

impl Destination<'_> {
    /// Returns the status for a request that must not write to its destination:
    ///
    /// - 400: the path is ambiguous;
    /// - 403: a request for the path would reach neither a pool nor a storage area, or a PUT to it is denied;
    /// - 502: the path belongs to another pool, area or rewrite than that of the request (RFC 4918 section
    ///   9.8.5: the destination is on another server).
    ///
    /// `taken` is the route of the request; `route` returns the action and the rewrite of a route.
    pub fn refusal<'t>(
        &self,
        taken: usize,
        request: &RouteRequest<'_>,
        routes: &RouteTable,
        route: impl Fn(usize) -> Option<(&'t Action, Option<&'t PathRewrite>)>,
    ) -> Option<u16> {
        let own = route(taken)?;
        let is_area = matches!(own.0, Action::Storage(_));
        let (path, is_here) = match self {
            Self::None => return None,
            // A storage area checks the host itself.
            Self::Elsewhere(_) if is_area => return None,
            Self::Ambiguous | Self::Elsewhere(None) => return Some(400),
            // Some servers ignore the host and use only the path of the URI.
            Self::Elsewhere(Some(path)) => (path, false),
            Self::Here(path) => (path, true),
        };
        // File names in a storage area may contain backslashes.
        if path.has_refused_backslash && !is_area {
            return Some(400);
        }
        let there =
            RouteRequest { path: path.compared(), forwarded_path: &path.forwarded, query: None, ..*request };
        // The server writes to the path as with PUT.
        let denies = |method| {
            let decided = routes.find(&RouteRequest { method, ..there }).route.and_then(&route);
            decided.is_some_and(|(action, _)| action.denies())
        };
        if denies(request.method) || denies(b"PUT") {
            return Some(403);
        }
        if !is_here {
            return None;
        }
        let leaves = |rewrite: Option<&PathRewrite>| match rewrite {
            None => true,
            Some(PathRewrite::Prefix { from, .. }) => {
                !has_prefix(path.compared(), &canonical(from.as_bytes()))
            }
            Some(PathRewrite::Full(_)) => false,
        };
        match routes.find(&there).route.and_then(&route) {
            Some(found) if found == own => None,
            // Both routes use the same pool and neither rewrites this path, so the server knows the resource
            // under it.
            Some((action, rewrite)) if action == own.0 && leaves(rewrite) && leaves(own.1) => None,
            // Storage areas decide about copies between areas.
            Some((Action::Storage(_), _)) if is_area => None,
            Some((Action::Pool(_) | Action::Storage(_), _)) => Some(502),
            Some((Action::Redirect(_) | Action::Respond(_), _)) | None => Some(403),
        }
    }
}

enum Named<'a> {
    OtherHost(&'a [u8]),
    Unclear,
    Path(&'a [u8]),
}

impl<'a> Named<'a> {
    fn of(uri: &'a [u8], own: &[u8]) -> Self {
        match uri {
            // This form refers to another host (RFC 3986 section 4.2), but servers that merge slashes read a
            // path.
            [b'/', b'/' | b'\\', ..] => return Self::Unclear,
            [b'/', ..] => return Self::Path(before_query(uri)),
            _ => {}
        }
        // A URI without a scheme would be relative to the path of the request; RFC 4918 has no such
        // destinations.
        let Some((authority, path)) = absolute(uri) else { return Self::Unclear };
        let Some((host, _)) = split_authority(authority) else { return Self::Unclear };
        let path = if path.is_empty() { b"/" } else { path };
        match split_authority(own) {
            Some((own, _)) if !host.eq_ignore_ascii_case(own) => Self::OtherHost(path),
            // An HTTP/1.0 client may have sent no host; then any host may be this one.
            _ => Self::Path(path),
        }
    }
}

/// Splits `scheme://authority/path` into authority and path.
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
