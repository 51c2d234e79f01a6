//! Helpers that send a request or a response through parser and forwarder, as text.

use std::sync::LazyLock;

use weir_http::{
    CookieEdit, Exchange, ForwardedFor, Forwarder, ForwardingRules, HeadLimits, HeaderTable, Peer,
    RequestContext, RequestHead, RequestText, ResponseContext, ResponseTo, ResponseWritten, RouteRewriter,
    Scheme, SetCookieEdit, TlsNames, Version, parse_request, parse_response,
};
use weir_model::ServerName;

/// Returns the forwarding rules of a default config, with a few trusted peers and identity headers.
pub(crate) fn default_rules() -> ForwardingRules {
    ForwardingRules {
        x_forwarded: ForwardedFor::Set,
        forwarded: ForwardedFor::Remove,
        trusted: vec!["10.0.0.0/8".parse().unwrap(), "2001:db8:1::/48".parse().unwrap()],
        identity_headers: vec!["X-Client-Dn".into(), "X-Auth-*".into()],
        via: None,
        request_id: None,
    }
}

/// Client address in most tests.
pub(crate) const CLIENT: &str = "192.0.2.7:40000";
/// Peer that [`default_rules`] trust.
pub(crate) const TRUSTED: &str = "10.1.2.3:40000";

/// A function that appends the head of a request.
type Write =
    fn(&Forwarder, &mut Vec<u8>, &[u8], &RequestHead, &HeaderTable, &RouteRewriter, &RequestContext<'_>);

/// All settings that determine the head for the server or the client.
pub(crate) struct Way {
    pub(crate) rules: ForwardingRules,
    pub(crate) scheme: Scheme,
    pub(crate) server_scheme: Scheme,
    pub(crate) route: RouteRewriter,
    pub(crate) client: &'static str,
    pub(crate) request_id: &'static str,
    pub(crate) default_host: &'static str,
    pub(crate) upgrade: bool,
    pub(crate) pass_expect: bool,
    pub(crate) close: bool,
    pub(crate) date: &'static str,
    pub(crate) cookie: CookieEdit<'static>,
    pub(crate) set_cookie: Option<SetCookieEdit<'static>>,
}

impl Way {
    pub(crate) fn new() -> Self {
        Self {
            rules: default_rules(),
            scheme: Scheme::Http,
            server_scheme: Scheme::Http,
            route: RouteRewriter::none(),
            client: CLIENT,
            request_id: "",
            default_host: "",
            upgrade: true,
            pass_expect: true,
            close: false,
            date: "",
            cookie: CookieEdit::Keep,
            set_cookie: None,
        }
    }

    pub(crate) fn forwarder(&self) -> Forwarder {
        Forwarder::compile(&self.rules, self.scheme)
    }

    /// Returns the head that the server receives for `text`; `\n` stands for CR LF on both sides.
    pub(crate) fn request(&self, text: &str) -> String {
        self.written(text, Forwarder::write_request)
    }

    /// Returns the head of the question about the upload `text`, whose body stays here.
    pub(crate) fn question(&self, text: &str) -> String {
        self.written(text, Forwarder::write_question)
    }

    fn written(&self, text: &str, write: Write) -> String {
        let buf = text.replace('\n', "\r\n").into_bytes();
        let mut table = HeaderTable::new();
        let head = parse_request(&buf, &HeadLimits::default(), &mut table).unwrap().unwrap();
        let forwarder = self.forwarder();
        let peer = forwarder.peer(self.client.parse().unwrap());
        let tls = TlsNames {
            version: "1.3",
            cipher: "TLS_AES_128_GCM_SHA256",
            sni: "h.example",
            client_subject: "CN=x",
        };
        let named = peer.named_client(forwarder.client_address(&buf, &table, &peer));
        let client = named.as_ref().unwrap_or(&peer);
        let cx = RequestContext {
            exchange: Exchange { client, ..exchange(&peer, self.request_id, &tls) },
            server_scheme: self.server_scheme,
            default_host: self.default_host,
            upgrade: self.upgrade,
            pass_expect: self.pass_expect,
            close: self.close,
            cookie: self.cookie,
        };
        let mut out = b"before".to_vec();
        write(&forwarder, &mut out, &buf, &head, &table, &self.route, &cx);
        let out = String::from_utf8(out).unwrap();
        let out = out.strip_prefix("before").expect("what stood there stays");
        assert!(!out.replace("\r\n", "").contains(['\r', '\n']), "{out:?}");
        out.replace("\r\n", "\n")
    }

    /// Returns the head that a client of `version` receives for `text`, in response to `request`.
    pub(crate) fn response(
        &self,
        text: &str,
        version: Version,
        request: RequestText<'_>,
    ) -> (String, ResponseWritten) {
        self.response_to(text, ResponseTo { upgrade: true, ..ResponseTo::default() }, version, request)
    }

    pub(crate) fn response_to(
        &self,
        text: &str,
        to: ResponseTo,
        client_version: Version,
        request: RequestText<'_>,
    ) -> (String, ResponseWritten) {
        let buf = text.replace('\n', "\r\n").into_bytes();
        let mut table = HeaderTable::new();
        let head = parse_response(&buf, to, &HeadLimits::default(), &mut table).unwrap().unwrap();
        let forwarder = self.forwarder();
        let peer = forwarder.peer(self.client.parse().unwrap());
        let tls = TlsNames::default();
        let cx = ResponseContext {
            exchange: exchange(&peer, self.request_id, &tls),
            request,
            server_scheme: self.server_scheme,
            client_version,
            date: self.date,
            keep_alive: !self.close,
            cookie: self.set_cookie,
            from_server: true,
        };
        let mut out = Vec::new();
        let written = forwarder.write_response(&mut out, &buf, &head, &table, &self.route, &cx);
        (String::from_utf8(out).unwrap().replace("\r\n", "\n"), written)
    }
}

static SERVER: LazyLock<ServerName> = LazyLock::new(|| ServerName::new("w1").unwrap());

pub(crate) fn exchange<'a>(peer: &'a Peer, request_id: &'a str, tls: &'a TlsNames<'a>) -> Exchange<'a> {
    Exchange {
        peer,
        client: peer,
        request_id,
        listener: "front",
        route: "r1",
        pool: "web",
        server: Some(&SERVER),
        tls: Some(tls),
    }
}
