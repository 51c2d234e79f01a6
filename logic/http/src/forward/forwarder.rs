//! The compiled forwarding rules of a listener.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use super::client_address::{Came, client_address};
use super::name_set::NameSet;
use super::{Peer, RouteRewriter, Scheme};
use crate::head::set;
use crate::{ForwardedFor, ForwardingRules, HeaderTable, KnownHeader, PathRules, Span, TrailerRules};

/// The compiled [`ForwardingRules`] of a listener. Writes request heads for servers and response heads for
/// clients.
#[derive(Debug, Clone)]
pub struct Forwarder {
    pub(super) scheme: Scheme,
    pub(super) x_forwarded: ForwardedFor,
    pub(super) forwarded: ForwardedFor,
    trusted: Vec<IpNet>,
    /// Headers to remove from every client's requests.
    pub(super) identity: NameSet,
    /// Spellings of X-Forwarded headers that a CGI server cannot distinguish from them; empty if X-Forwarded
    /// headers are forwarded unchanged.
    pub(super) spellings: NameSet,
    /// Via lines for messages received as HTTP/1.0 and HTTP/1.1; empty = none.
    pub(super) via: [Box<[u8]>; 2],
    pub(super) request_id: Option<RequestIdHeader>,
    /// Rules to normalise paths of requests; `None` = paths are used as sent.
    pub(super) paths: Option<PathRules>,
    /// True if lines other than X-Forwarded may have to be added.
    pub(super) adds_more: bool,
    /// Text between the values of X-Forwarded-For and X-Forwarded-Host.
    pub(super) proto_and_host: Box<[u8]>,
    /// Request headers that cannot be copied unchanged, from untrusted and from trusted peers.
    pub(super) touched: [u64; 2],
}

#[derive(Debug, Clone)]
pub(super) struct RequestIdHeader {
    /// Name as configured.
    pub(super) name: Box<[u8]>,
    pub(super) known: KnownHeader,
    accept: bool,
}

/// Headers that are always removed from clients' requests, because servers accept them as proof of identity.
/// CGI programs use `Proxy` as the proxy for their own requests (`HTTP_PROXY`; CVE-2016-5385, "httpoxy").
/// Frameworks use `X-Original-URL` and `X-Rewrite-URL` as the path, which no rule has checked
/// (CVE-2018-14773).
const IDENTITY_HEADERS: [&str; 5] = ["X-VOMS-*", "X-Remote-User", "Proxy", "X-Original-URL", "X-Rewrite-URL"];

/// Headers of one connection, not of a resource (RFC 9110 section 7.6.1).
pub(super) const HOP_BY_HOP: u64 = set(&[
    KnownHeader::Connection,
    KnownHeader::KeepAlive,
    KnownHeader::ProxyConnection,
    KnownHeader::Te,
    KnownHeader::Upgrade,
    KnownHeader::Http2Settings,
]);

/// Headers that are always removed, too. With them, a proxy describes to a server how to name files; only the
/// operator may set them.
const OFFLOAD_HEADERS: [&str; 3] = ["X-Accel-*", "X-Sendfile*", "X-Weir-Upload*"];

/// Headers that change the meaning of the message if they are removed, so no pattern of identity headers may
/// match them.
const IRREMOVABLE: u64 = set(&[
    KnownHeader::Host,
    KnownHeader::ContentLength,
    KnownHeader::TransferEncoding,
    KnownHeader::Trailer,
    KnownHeader::Expect,
]);

/// Headers with URIs of the server's resources (RFC 4918).
const URIS: u64 = set(&[KnownHeader::Destination, KnownHeader::If]);

pub(super) const X_FORWARDED: u64 =
    set(&[KnownHeader::XForwardedFor, KnownHeader::XForwardedProto, KnownHeader::XForwardedHost]);

impl Forwarder {
    /// Compiles a listener's rules. `scheme` is that of its client connections.
    pub fn compile(rules: &ForwardingRules, scheme: Scheme) -> Self {
        let mut identity = NameSet::of_cgi_names();
        IDENTITY_HEADERS.into_iter().chain(OFFLOAD_HEADERS).for_each(|name| identity.add(name));
        rules.identity_headers.iter().for_each(|name| identity.add(name));
        identity.known &= !IRREMOVABLE;
        let mut spellings = NameSet::of_cgi_names();
        if rules.x_forwarded != ForwardedFor::Pass {
            spellings.add("X-Forwarded-*");
        }
        let via = |version: &str| match &rules.via {
            Some(name) => format!("Via: {version} {name}\r\n").into_bytes().into(),
            None => Box::default(),
        };
        let mut forwarder = Self {
            scheme,
            x_forwarded: rules.x_forwarded,
            forwarded: rules.forwarded,
            trusted: rules.trusted.clone(),
            identity,
            spellings,
            via: [via("1.0"), via("1.1")],
            request_id: rules.request_id.as_ref().map(|rule| RequestIdHeader {
                name: rule.header.as_bytes().into(),
                known: KnownHeader::of_name(rule.header.as_bytes()),
                accept: rule.accept,
            }),
            paths: Some(PathRules::default()),
            adds_more: rules.forwarded != ForwardedFor::Remove
                || rules.via.is_some()
                || rules.request_id.is_some(),
            proto_and_host: format!("\r\nX-Forwarded-Proto: {}\r\nX-Forwarded-Host: ", scheme.as_str())
                .into_bytes()
                .into(),
            touched: [0; 2],
        };
        forwarder.touched = [forwarder.touched_lines(false), forwarder.touched_lines(true)];
        forwarder
    }

    /// Sets the rules to normalise paths, for a listener with other rules than the default.
    #[must_use]
    pub fn reading_paths(mut self, rules: Option<PathRules>) -> Self {
        self.paths = rules;
        self
    }

    /// Returns the peer of a connection. `address` is that of the connection, or the one from the PROXY
    /// header.
    pub fn peer(&self, address: SocketAddr) -> Peer {
        Peer::new(address, self.trusts(address.ip().to_canonical()))
    }

    /// Returns the client's address, for routes, source hashing, templates and logs. For a trusted peer, it
    /// is the last untrusted address of X-Forwarded-For (else Forwarded); otherwise it is the peer's own.
    pub fn client_address(&self, buf: &[u8], table: &HeaderTable, peer: &Peer) -> Option<IpAddr> {
        if !peer.is_trusted() {
            return peer.ip();
        }
        client_address(buf, table, |ip| self.trusts(ip)).or(peer.ip())
    }

    /// Returns the client's own request id, if the rules accept it: 1 to 128 visible ASCII characters.
    pub fn accepted_request_id(&self, buf: &[u8], table: &HeaderTable) -> Option<Span> {
        let rule = self.request_id.as_ref().filter(|rule| rule.accept)?;
        let mut lines = table.named(buf, &rule.name);
        let value = lines.next()?.value();
        let visible = value.of(buf).iter().all(u8::is_ascii_graphic);
        (visible && (1..=128).contains(&value.len()) && lines.next().is_none()).then_some(value)
    }

    /// Returns the headers that trailers of requests on `route` must not contain: those that are removed from
    /// the head or rewritten there.
    pub fn trailer_rules(&self, route: &RouteRewriter) -> TrailerRules {
        let mut names = NameSet::of_cgi_names();
        names.add_all(&self.identity);
        names.add_all(&self.spellings);
        names.add_all(&route.request.removed);
        if let Some(id) = &self.request_id {
            names.add(&String::from_utf8_lossy(&id.name));
        }
        TrailerRules::new(names)
    }

    /// Returns the name of the request id header; `None` = requests get no id.
    pub fn request_id_header(&self) -> Option<&str> {
        std::str::from_utf8(&self.request_id.as_ref()?.name).ok()
    }

    /// Returns true if requests get an id.
    pub fn has_request_ids(&self) -> bool {
        self.request_id.is_some()
    }

    /// Returns the scheme of client connections.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    fn trusts(&self, ip: IpAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(&ip))
    }

    /// Returns true if X-Forwarded headers other than Weir's three are dropped. They are not lists, so Weir
    /// cannot append to them; it can only trust them or not.
    pub(super) fn drops_other_forwarded(&self, peer: &Peer) -> bool {
        match Came::of(self.x_forwarded, peer) {
            Came::Pass => false,
            Came::Drop | Came::Replace => true,
            Came::Append => !peer.is_trusted(),
        }
    }

    fn touched_lines(&self, trusted: bool) -> u64 {
        let mut lines = HOP_BY_HOP | self.identity.known | URIS;
        if self.x_forwarded != ForwardedFor::Pass || trusted {
            lines |= X_FORWARDED | KnownHeader::XForwardedOther.bit();
        }
        if self.forwarded != ForwardedFor::Pass || trusted {
            lines |= KnownHeader::Forwarded.bit();
        }
        if self.identity.has_others() || self.spellings.has_others() {
            lines |= KnownHeader::Other.bit();
        }
        lines
    }
}

impl RequestIdHeader {
    pub(super) fn append(&self, out: &mut Vec<u8>, id: &str) {
        out.extend_from_slice(&self.name);
        out.extend_from_slice(b": ");
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}
