//! URIs in headers that must follow the proxy's changes: `Destination` of MOVE and COPY (RFC 4918 section 10.3) on the
//! way in, `Location` and `Content-Location` on the way out.

use super::Scheme;
use super::path::PathMap;
use crate::split_authority;

/// The two ends between which URIs are translated. Both know the resource under the same Host.
pub(super) struct UriMap<'a> {
    pub(super) paths: &'a PathMap,
    /// What the client speaks.
    pub(super) client: Scheme,
    /// What the server is spoken to with.
    pub(super) server: Scheme,
    /// The effective host of the request.
    pub(super) host: &'a [u8],
}

impl UriMap<'_> {
    /// Appends a URI of the client's as the server must see it. One that points elsewhere stays as it is.
    pub(super) fn append_inward(&self, out: &mut Vec<u8>, uri: &[u8]) {
        match self.own_path(uri, self.client) {
            None => out.extend_from_slice(uri),
            Some((path, is_absolute)) => {
                if is_absolute {
                    self.append_origin(out, self.server);
                }
                append_with_query(out, path, |out, path| self.paths.append_inward_other(out, path));
            }
        }
    }

    /// Appends an If value (RFC 4918 section 10.4) as the server must see it: the resources it names are translated,
    /// the state tokens and entity tags in parentheses are not.
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

    /// Appends a URI of the server's as the client must see it. One outside the mapped prefix stays as it is.
    pub(super) fn append_outward(&self, out: &mut Vec<u8>, uri: &[u8]) {
        // Servers that know their outer scheme name it.
        let own = self.own_path(uri, self.server).or_else(|| self.own_path(uri, self.client));
        match own {
            Some((path, is_absolute)) if self.paths.maps_outward(before_query(path)) => {
                if is_absolute {
                    self.append_origin(out, self.client);
                }
                append_with_query(out, path, |out, path| self.paths.append_outward(out, path));
            }
            _ => out.extend_from_slice(uri),
        }
    }

    fn append_origin(&self, out: &mut Vec<u8>, scheme: Scheme) {
        out.extend_from_slice(scheme.as_str().as_bytes());
        out.extend_from_slice(b"://");
        out.extend_from_slice(self.host);
    }

    /// The path (with query) of a URI that names this host under `scheme`, and whether the URI was absolute.
    fn own_path<'u>(&self, uri: &'u [u8], scheme: Scheme) -> Option<(&'u [u8], bool)> {
        if uri.first() == Some(&b'/') {
            // `//host/path` names another host.
            return (uri.get(1) != Some(&b'/')).then_some((uri, false));
        }
        let start = scheme.as_str().len();
        let (name, rest) = uri.split_at_checked(start)?;
        let rest =
            rest.strip_prefix(b"://").filter(|_| name.eq_ignore_ascii_case(scheme.as_str().as_bytes()))?;
        let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let port = |authority| {
            split_authority(authority).map(|(host, port)| (host, port.unwrap_or(scheme.default_port())))
        };
        let (host, host_port) = port(authority)?;
        let (own, own_port) = port(self.host)?;
        (host.eq_ignore_ascii_case(own) && host_port == own_port).then_some((path, true))
    }
}

fn append_with_query(out: &mut Vec<u8>, uri: &[u8], append: impl Fn(&mut Vec<u8>, &[u8])) {
    let path = before_query(uri);
    append(out, path);
    out.extend_from_slice(&uri[path.len()..]);
}

fn before_query(uri: &[u8]) -> &[u8] {
    &uri[..uri.iter().position(|b| matches!(b, b'?' | b'#')).unwrap_or(uri.len())]
}
