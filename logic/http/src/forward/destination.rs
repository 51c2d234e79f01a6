//! Translation of URIs in headers when the proxy changes paths or hosts: `Destination` and `If` of requests
//! (RFC 4918 sections 10.3 and 10.4), `Location` and `Content-Location` of responses.

use super::path::PathMap;
use super::{Forwarder, Peer, Scheme};
use crate::{HeaderTable, KnownHeader, PathRules, split_authority};

/// Mapping of URIs between the client's and the server's view.
pub(super) struct UriMap<'a> {
    pub(super) paths: &'a PathMap,
    /// Rules to normalise clients' paths; `None` = paths are used as sent.
    pub(super) rules: Option<&'a PathRules>,
    /// Scheme of the client's connection.
    pub(super) client: Scheme,
    /// Scheme of the server's connection.
    pub(super) server: Scheme,
    /// Effective host of the request.
    pub(super) client_host: &'a [u8],
    /// Host that the server received: the same, unless a rule of the route sets another.
    pub(super) server_host: &'a [u8],
}

impl UriMap<'_> {
    /// Appends a client's URI in the form for the server. A URI of another host stays unchanged.
    pub(super) fn append_inward(&self, out: &mut Vec<u8>, uri: &[u8]) {
        let own = own_path(uri, self.client, self.client_host)
            .or_else(|| own_host_path(uri, self.client_host).filter(|_| self.paths.maps_prefix()));
        match own {
            None => out.extend_from_slice(uri),
            Some((path, is_absolute)) => {
                if is_absolute {
                    // The Host that a rule sets may expand to an empty text.
                    let host = if self.server_host.is_empty() { self.client_host } else { self.server_host };
                    append_origin(out, self.server, host);
                }
                append_with_query(out, path, |out, path| self.append_path(out, path));
            }
        }
    }

    /// Appends a path; keeps one that cannot be normalised. A Destination with such a path was refused
    /// before, and an If is only a condition.
    fn append_path(&self, out: &mut Vec<u8>, path: &[u8]) {
        let normal = self.rules.and_then(|rules| rules.normalize(path).ok());
        let path = normal.as_ref().map_or(path, |normal| &normal.forwarded);
        self.paths.append_inward_other(out, path, self.rules);
    }

    /// Appends an If value (RFC 4918 section 10.4) in the form for the server. Translates resource tags, but
    /// not the state tokens and entity tags in parentheses.
    pub(super) fn append_if(&self, out: &mut Vec<u8>, value: &[u8]) {
        let mut rest = value;
        let mut in_list = false;
        while let Some(at) = rest.iter().position(|b| matches!(b, b'<' | b'(' | b')')) {
            let (before, behind) = rest.split_at(at + 1);
            out.extend_from_slice(before);
            rest = behind;
            match before[at] {
                b'(' => in_list = true,
                b')' => in_list = false,
                _ => {
                    let end = rest.iter().position(|b| *b == b'>').unwrap_or(rest.len());
                    let (uri, behind) = rest.split_at(end);
                    if in_list {
                        out.extend_from_slice(uri);
                    } else {
                        self.append_inward(out, uri);
                    }
                    rest = behind;
                }
            }
        }
        out.extend_from_slice(rest);
    }

    /// Appends a server's URI in the form for the client. A URI outside the mapped prefix stays unchanged.
    pub(super) fn append_outward(&self, out: &mut Vec<u8>, uri: &[u8]) {
        // A server that knows its public scheme or host uses it in URIs.
        let own = [self.server_host, self.client_host]
            .into_iter()
            .find_map(|host| own_path(uri, self.server, host).or_else(|| own_path(uri, self.client, host)));
        let is_known_outside = |path: &[u8]| match self.paths.maps_prefix() {
            true => self.paths.maps_outward(before_query(path)),
            false => self.server_host != self.client_host,
        };
        match own {
            // An HTTP/1.0 client may have sent no host.
            Some((_, true)) if self.client_host.is_empty() => out.extend_from_slice(uri),
            Some((path, is_absolute)) if is_known_outside(path) => {
                if is_absolute {
                    append_origin(out, self.client, self.client_host);
                }
                append_with_query(out, path, |out, path| self.paths.append_outward(out, path));
            }
            _ => out.extend_from_slice(uri),
        }
    }
}

impl Forwarder {
    /// Returns the scheme of the client's own URIs, which differs if a trusted proxy in front terminates TLS.
    pub(super) fn client_scheme(&self, buf: &[u8], table: &HeaderTable, peer: &Peer) -> Scheme {
        if peer.is_trusted()
            && let Some(proto) = table.find(KnownHeader::XForwardedProto)
        {
            let proto = proto.value().of(buf);
            if proto.eq_ignore_ascii_case(b"https") {
                return Scheme::Https;
            }
            if proto.eq_ignore_ascii_case(b"http") {
                return Scheme::Http;
            }
        }
        self.scheme
    }
}

fn append_origin(out: &mut Vec<u8>, scheme: Scheme, host: &[u8]) {
    out.extend_from_slice(scheme.as_str().as_bytes());
    out.extend_from_slice(b"://");
    out.extend_from_slice(host);
}

/// Returns the path (with query) of a URI for the host `own` under `scheme`, and true if the URI was
/// absolute.
fn own_path<'u>(uri: &'u [u8], scheme: Scheme, own: &[u8]) -> Option<(&'u [u8], bool)> {
    if uri.first() == Some(&b'/') {
        // `//host/path` refers to another host.
        return (uri.get(1) != Some(&b'/')).then_some((uri, false));
    }
    let start = scheme.as_str().len();
    let (name, rest) = uri.split_at_checked(start)?;
    let rest = rest.strip_prefix(b"://").filter(|_| name.eq_ignore_ascii_case(scheme.as_str().as_bytes()))?;
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let port = |authority| {
        split_authority(authority).map(|(host, port)| (host, port.unwrap_or(scheme.default_port())))
    };
    let (host, host_port) = port(authority)?;
    let (own, own_port) = port(own)?;
    (host.eq_ignore_ascii_case(own) && host_port == own_port).then_some((path, true))
}

/// Returns the path of an absolute URI for the host `own`, with any scheme and port. Routes ignore scheme and
/// port of a Destination, so a rewrite must match without them, too.
fn own_host_path<'u>(uri: &'u [u8], own: &[u8]) -> Option<(&'u [u8], bool)> {
    let start = uri.windows(3).position(|part| part == b"://")? + 3;
    let rest = &uri[start..];
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let ((host, _), (own, _)) = (split_authority(authority)?, split_authority(own)?);
    host.eq_ignore_ascii_case(own).then_some((path, true))
}

fn append_with_query(out: &mut Vec<u8>, uri: &[u8], append: impl Fn(&mut Vec<u8>, &[u8])) {
    let path = before_query(uri);
    append(out, path);
    out.extend_from_slice(&uri[path.len()..]);
}

pub(super) fn before_query(uri: &[u8]) -> &[u8] {
    &uri[..uri.iter().position(|b| matches!(b, b'?' | b'#')).unwrap_or(uri.len())]
}
