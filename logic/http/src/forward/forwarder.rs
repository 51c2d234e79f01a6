use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use super::forwarded_for::Came;
use super::name_set::NameSet;
use super::{Peer, RouteRewriter, Scheme, forwarded_for};
use crate::head::set;
use crate::{ForwardedFor, ForwardingRules, HeaderTable, KnownHeader, PathRules, Span, TrailerRules};

/// A listener's [`ForwardingRules`], compiled: writes heads as they go to servers and clients.
#[derive(Debug, Clone)]
pub struct Forwarder {
    pub(super) scheme: Scheme,
    pub(super) x_forwarded: ForwardedFor,
    pub(super) forwarded: ForwardedFor,
    trusted: Vec<IpNet>,
    /// Names that are removed from every client's requests.
    pub(super) identity: NameSet,
    /// How X-Forwarded lines could be spelled that a CGI server cannot tell from them; empty where those are passed.
    pub(super) spellings: NameSet,
    /// Via lines for messages that came as HTTP/1.0 and HTTP/1.1; empty = none.
    pub(super) via: [Box<[u8]>; 2],
    pub(super) request_id: Option<RequestIdHeader>,
    /// How paths in requests are read; `None` = as they were sent.
    pub(super) paths: Option<PathRules>,
    /// More than X-Forwarded lines may have to be added.
    pub(super) adds_more: bool,
    /// What stands between the values of X-Forwarded-For and X-Forwarded-Host.
    pub(super) proto_and_host: Box<[u8]>,
    /// Request lines that cannot be copied as they are, from untrusted and from trusted peers.
    pub(super) touched: [u64; 2],
}

#[derive(Debug, Clone)]
pub(super) struct RequestIdHeader {
    /// The name as configured.
    pub(super) name: Box<[u8]>,
    pub(super) known: KnownHeader,
    accept: bool,
}

/// Removed from every client's requests, listed or not: servers take them as proof of identity. A CGI program takes `Proxy` as the
/// proxy for its own requests (`HTTP_PROXY`; CVE-2016-5385, "httpoxy"). Frameworks take `X-Original-URL` and `X-Rewrite-URL` as the path,
/// on which no rule was asked (CVE-2018-14773).
const IDENTITY_HEADERS: [&str; 5] = ["X-VOMS-*", "X-Remote-User", "Proxy", "X-Original-URL", "X-Rewrite-URL"];

/// Names a connection, not a resource (RFC 9110 section 7.6.1).
pub(super) const HOP_BY_HOP: u64 = set(&[
    KnownHeader::Connection,
    KnownHeader::KeepAlive,
    KnownHeader::ProxyConnection,
    KnownHeader::Te,
    KnownHeader::Upgrade,
    KnownHeader::Http2Settings,
]);

/// Removed likewise: by these a proxy tells a server how files are to be named to it, and only what the operator has
/// written says so.
const OFFLOAD_HEADERS: [&str; 3] = ["X-Accel-*", "X-Sendfile*", "X-Weir-Upload*"];

/// Removing these would change what the message is; no pattern in the list of identity headers may reach them.
const IRREMOVABLE: u64 = set(&[
    KnownHeader::Host,
    KnownHeader::ContentLength,
    KnownHeader::TransferEncoding,
    KnownHeader::Trailer,
    KnownHeader::Expect,
]);

/// Name resources of the server by URI (RFC 4918).
const URIS: u64 = set(&[KnownHeader::Destination, KnownHeader::If]);

pub(super) const X_FORWARDED: u64 =
    set(&[KnownHeader::XForwardedFor, KnownHeader::XForwardedProto, KnownHeader::XForwardedHost]);

impl Forwarder {
    /// Compiles a listener's rules. `scheme` is what its clients speak.
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

    /// The same for a listener that reads paths by other rules than the default ones.
    #[must_use]
    pub fn reading_paths(mut self, rules: Option<PathRules>) -> Self {
        self.paths = rules;
        self
    }

    /// The client end of a connection; `address` is its own, or what the PROXY header said.
    pub fn peer(&self, address: SocketAddr) -> Peer {
        Peer::new(address, self.trusts(address.ip().to_canonical()))
    }

    /// The client's address, for routes, source hashing, templates and logs: the connection's, or if that is a trusted peer's, the
    /// last one in X-Forwarded-For (else Forwarded) that is not trusted.
    pub fn client_address(&self, buf: &[u8], table: &HeaderTable, peer: &Peer) -> Option<IpAddr> {
        if !peer.is_trusted() {
            return peer.ip();
        }
        forwarded_for::client_address(buf, table, |ip| self.trusts(ip)).or(peer.ip())
    }

    /// The client's own request id, if the rules accept it: 1 to 128 visible ASCII characters.
    pub fn accepted_request_id(&self, buf: &[u8], table: &HeaderTable) -> Option<Span> {
        let rule = self.request_id.as_ref().filter(|rule| rule.accept)?;
        let mut lines = table.named(buf, &rule.name);
        let value = lines.next()?.value();
        let visible = value.of(buf).iter().all(u8::is_ascii_graphic);
        (visible && (1..=128).contains(&value.len()) && lines.next().is_none()).then_some(value)
    }

    /// What must not stand in the trailers of requests that take `route`: whatever is removed from their heads, or written
    /// anew there.
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

    /// The name of the header that carries a request's id; `None` = requests get none.
    pub fn request_id_header(&self) -> Option<&str> {
        std::str::from_utf8(&self.request_id.as_ref()?.name).ok()
    }

    /// Whether requests get an id.
    pub fn has_request_ids(&self) -> bool {
        self.request_id.is_some()
    }

    /// The scheme that clients speak.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    fn trusts(&self, ip: IpAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(&ip))
    }

    /// Whether X-Forwarded lines of other names than the three that Weir writes are dropped: they are no lists, and so are
    /// believed or not.
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
