//! The rewriting of request heads for servers.

use std::borrow::Cow;

use super::destination::UriMap;
use super::forwarded_for::{Seen, nominates};
use super::{Forwarder, RequestContext, RequestText, RouteRewriter};
use crate::answer::{append_length, append_line};
use crate::head::{scan::list, set};
use crate::{HeaderEntry, HeaderTable, KnownHeader, Method, RequestHead, Span, TargetForm, Version, number};

const CHUNKED: &[u8] = b"chunked";

/// Headers that belong to a body.
const BODY: u64 = set(&[
    KnownHeader::ContentLength,
    KnownHeader::TransferEncoding,
    KnownHeader::Trailer,
    KnownHeader::Expect,
]);

impl Forwarder {
    /// Appends to `out` the request head for the server, including the empty line. `head` was parsed from
    /// `buf` into `table`.
    pub fn write_request(
        &self,
        out: &mut Vec<u8>,
        buf: &[u8],
        head: &RequestHead,
        table: &HeaderTable,
        route: &RouteRewriter,
        cx: &RequestContext<'_>,
    ) {
        Writer { forwarder: self, buf, head, table, route, cx, bodiless: false }.append(out);
    }

    /// Appends the head of a request without its body, for a server that only decides about an upload.
    pub fn write_question(
        &self,
        out: &mut Vec<u8>,
        buf: &[u8],
        head: &RequestHead,
        table: &HeaderTable,
        route: &RouteRewriter,
        cx: &RequestContext<'_>,
    ) {
        Writer { forwarder: self, buf, head, table, route, cx, bodiless: true }.append(out);
    }
}

struct Writer<'a> {
    forwarder: &'a Forwarder,
    buf: &'a [u8],
    head: &'a RequestHead,
    table: &'a HeaderTable,
    route: &'a RouteRewriter,
    cx: &'a RequestContext<'a>,
    /// True if the headers of the body are left out.
    bodiless: bool,
}

impl Writer<'_> {
    fn append(&self, out: &mut Vec<u8>) {
        let head = self.head;
        // Reserves room for the lines added in the common case; longer rules and ids grow the buffer.
        out.reserve(head.head_bytes as usize + 512);
        let is_line_kept = head.version == Version::Http11
            && !head.repairs.version
            && head.target.form == TargetForm::Origin
            && self.route.path.keeps();
        let kept_from = if is_line_kept {
            head.start
        } else {
            self.append_request_line(out);
            head.lines_start()
        };
        self.append_lines(out, kept_from);
        self.append_own_lines(out);
        out.extend_from_slice(b"\r\n");
    }

    fn append_request_line(&self, out: &mut Vec<u8>) {
        let target = &self.head.target;
        out.extend_from_slice(self.head.method.bytes(self.buf));
        out.push(b' ');
        match target.form {
            TargetForm::Authority | TargetForm::Asterisk => out.extend_from_slice(target.span.of(self.buf)),
            TargetForm::Origin if self.route.path.keeps() => out.extend_from_slice(target.span.of(self.buf)),
            TargetForm::Origin | TargetForm::Absolute => self.append_path(out),
        }
        out.extend_from_slice(b" HTTP/1.1\r\n");
    }

    fn append_path(&self, out: &mut Vec<u8>) {
        let target = &self.head.target;
        let path = target.path.of(self.buf);
        if path.is_empty() && target.query.is_none() && self.head.method == Method::Options {
            // RFC 9112 section 3.2.4: the last proxy turns an absolute form without a path into `*`.
            out.push(b'*');
            return;
        }
        let path = if path.is_empty() { b"/" } else { path };
        self.route.path.append_inward(out, path, self.forwarder.paths.as_ref());
        if let Some(query) = target.query {
            out.push(b'?');
            out.extend_from_slice(query.of(self.buf));
        }
    }

    /// Appends the received bytes from `kept_from` up to the empty line, except for changed lines, in as few
    /// pieces as possible.
    #[inline]
    fn append_lines(&self, out: &mut Vec<u8>, kept_from: u32) {
        let mut kept = Span { start: kept_from, end: self.head.head_bytes - 2 };
        let touched = self.touched();
        if self.table.has_any(touched) {
            for entry in self.table.entries() {
                if touched & entry.known().bit() != 0 && self.is_changed(entry) {
                    let line = entry.line();
                    out.extend_from_slice(Span { start: kept.start, end: line.start }.of(self.buf));
                    self.append_changed(out, entry);
                    kept.start = line.end;
                }
            }
        }
        out.extend_from_slice(kept.of(self.buf));
    }

    /// Returns the known headers whose lines may have to change.
    #[inline]
    fn touched(&self) -> u64 {
        let forwarder = self.forwarder;
        let mut touched = forwarder.touched[usize::from(self.cx.exchange.peer.is_trusted())];
        touched |= self.route.request.removed.known | KnownHeader::TransferEncoding.bit();
        if self.route.request.removed.has_others() || self.head.nominates {
            touched |= KnownHeader::Other.bit();
        }
        if self.head.target.form == TargetForm::Absolute || self.head.repairs.host {
            touched |= KnownHeader::Host.bit();
        }
        if !self.cx.pass_expect || self.head.version == Version::Http10 {
            touched |= KnownHeader::Expect.bit();
        }
        if self.bodiless {
            touched |= BODY;
        }
        if self.head.repairs.content_length {
            touched |= KnownHeader::ContentLength.bit();
        }
        if self.head.max_forwards.is_some() {
            touched |= KnownHeader::MaxForwards.bit();
        }
        if let Some(id) = forwarder.request_id.as_ref().filter(|_| !self.cx.exchange.request_id.is_empty()) {
            touched |= id.known.bit();
        }
        if self.cx.cookie.is_some() {
            touched |= KnownHeader::Cookie.bit();
        }
        touched
    }

    /// Returns true if a line with one of these headers has to change.
    #[inline]
    fn is_changed(&self, entry: &HeaderEntry) -> bool {
        match entry.known() {
            KnownHeader::Other => {
                let name = entry.name().of(self.buf);
                self.forwarder.identity.has_other(name)
                    || self.forwarder.spellings.has_other(name)
                    || self.route.request.removed.has_other(name)
                    || self.is_request_id(name)
                    || (self.head.nominates && self.is_nominated(name))
            }
            // This entry stands for many names, and a rule may apply to one of them.
            KnownHeader::XForwardedOther => {
                let name = entry.name().of(self.buf);
                self.forwarder.drops_other_forwarded(self.cx.exchange.peer)
                    || self.forwarder.identity.has_other(name)
                    || self.route.request.removed.has_other(name)
                    || self.is_request_id(name)
            }
            KnownHeader::Upgrade => !self.upgrades(),
            KnownHeader::Cookie => self.drops_cookies() || self.cx.cookie.changes(entry.value().of(self.buf)),
            // A server with other strict rules might ignore an unusual spelling and read the body as its next
            // request.
            KnownHeader::TransferEncoding if !self.bodiless => {
                let usual = b"Transfer-Encoding: chunked\r\n";
                entry.value().of(self.buf) != CHUNKED
                    || !entry.line().of(self.buf).eq_ignore_ascii_case(usual)
            }
            _ => true,
        }
    }

    /// Appends the replacement of a changed line, which is empty in most cases.
    fn append_changed(&self, out: &mut Vec<u8>, entry: &HeaderEntry) {
        if self.route.request.removed.known & entry.known().bit() != 0 {
            return;
        }
        match entry.known() {
            KnownHeader::Host => self.append_host(out),
            KnownHeader::TransferEncoding if !self.bodiless => {
                append_line(out, "Transfer-Encoding", CHUNKED);
            }
            KnownHeader::ContentLength if !self.bodiless => append_length(out, entry.value().of(self.buf)),
            KnownHeader::Cookie => self.append_cookies(out, entry),
            KnownHeader::MaxForwards => {
                if let Some(left) = self.head.max_forwards {
                    out.extend_from_slice(b"Max-Forwards: ");
                    number::append(out, u64::from(left.saturating_sub(1)));
                    out.extend_from_slice(b"\r\n");
                }
            }
            KnownHeader::Destination | KnownHeader::If => {
                let server_host = self.server_host();
                let map = UriMap {
                    paths: &self.route.path,
                    rules: self.forwarder.paths.as_ref(),
                    client: self.forwarder.client_scheme(self.buf, self.table, self.cx.exchange.peer),
                    server: self.cx.server_scheme,
                    client_host: self.host(),
                    server_host: &server_host,
                };
                out.extend_from_slice(entry.name().of(self.buf));
                out.extend_from_slice(b": ");
                let value = entry.value().of(self.buf);
                if entry.known() == KnownHeader::If {
                    map.append_if(out, value);
                } else {
                    map.append_inward(out, value);
                }
                out.extend_from_slice(b"\r\n");
            }
            _ => {}
        }
    }

    /// Appends a Cookie line without Weir's own cookie; appends nothing if no other cookie is left.
    fn append_cookies(&self, out: &mut Vec<u8>, entry: &HeaderEntry) {
        if self.drops_cookies() {
            return;
        }
        let start = out.len();
        out.extend_from_slice(entry.name().of(self.buf));
        out.extend_from_slice(b": ");
        let value = out.len();
        self.cx.cookie.append(out, entry.value().of(self.buf));
        if out.len() == value {
            out.truncate(start);
        } else {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Appends the lines that Weir adds.
    #[inline]
    fn append_own_lines(&self, out: &mut Vec<u8>) {
        let suppressed = self.route.request.removed.known;
        let is_host_to_add = self.head.host.is_none()
            || (self.head.target.form == TargetForm::Absolute && !self.table.has(KnownHeader::Host));
        if is_host_to_add && suppressed & KnownHeader::Host.bit() == 0 {
            self.append_host(out);
        }
        if self.cx.close || self.table.has_any(KnownHeader::Te.bit() | KnownHeader::Upgrade.bit()) {
            self.append_connection(out);
        }
        let seen = Seen { buf: self.buf, table: self.table, peer: self.cx.exchange.peer, host: self.host() };
        self.forwarder.append_x_forwarded(out, &seen, suppressed);
        if self.bodiless {
            append_line(out, "Content-Length", b"0");
        }
        if self.forwarder.adds_more || self.route.request.adds_any() {
            self.append_rarer_lines(out, &seen, suppressed);
        }
    }

    fn append_rarer_lines(&self, out: &mut Vec<u8>, seen: &Seen<'_>, suppressed: u64) {
        let exchange = &self.cx.exchange;
        if suppressed & KnownHeader::Forwarded.bit() == 0 {
            self.forwarder.append_forwarded(out, seen);
        }
        if suppressed & KnownHeader::Via.bit() == 0 {
            out.extend_from_slice(&self.forwarder.via[usize::from(self.head.version == Version::Http11)]);
        }
        if let Some(id) = &self.forwarder.request_id {
            let is_removed = self.route.request.removed.has_other(&id.name);
            if !exchange.request_id.is_empty() && !is_removed {
                id.append(out, exchange.request_id);
            }
        }
        if self.route.request.adds_any() {
            let request = RequestText::of(self.head, self.buf);
            let variables = exchange.variables(self.forwarder.scheme, &request);
            self.route.request.append_added(out, &variables);
        }
    }

    fn append_connection(&self, out: &mut Vec<u8>) {
        let trailers = self.table.has(KnownHeader::Te) && self.takes_trailers();
        if !(self.cx.close | trailers | self.upgrades()) {
            return;
        }
        let options = [
            (self.cx.close, "close"),
            (self.upgrades(), "upgrade"),
            // RFC 9110 section 10.1.4: a sender of TE must also list it in Connection.
            (trailers, "TE"),
        ];
        let mut start = "Connection: ";
        for (_, option) in options.into_iter().filter(|(is_set, _)| *is_set) {
            out.extend_from_slice(start.as_bytes());
            out.extend_from_slice(option.as_bytes());
            start = ", ";
        }
        out.extend_from_slice(b"\r\n");
        if trailers {
            out.extend_from_slice(b"TE: trailers\r\n");
        }
    }

    fn append_host(&self, out: &mut Vec<u8>) {
        let host = self.head.host.map_or(self.cx.default_host.as_bytes(), |host| host.of(self.buf));
        out.extend_from_slice(b"Host: ");
        out.extend_from_slice(host);
        out.extend_from_slice(b"\r\n");
    }

    fn host(&self) -> &[u8] {
        self.head.host.map(|host| host.of(self.buf)).unwrap_or_default()
    }

    /// Returns the Host for the server: the client's, unless the route sets another.
    fn server_host(&self) -> Cow<'_, [u8]> {
        let Some(template) = self.route.request.host() else { return Cow::Borrowed(self.host()) };
        let request = RequestText::of(self.head, self.buf);
        let mut host = Vec::new();
        template.expand(&mut host, &self.cx.exchange.variables(self.forwarder.scheme, &request));
        Cow::Owned(host)
    }

    fn upgrades(&self) -> bool {
        self.cx.upgrade && self.head.upgrade.is_some()
    }

    fn takes_trailers(&self) -> bool {
        self.table.all(KnownHeader::Te).any(|entry| {
            list(entry.value().of(self.buf)).any(|coding| coding.eq_ignore_ascii_case(b"trailers"))
        })
    }

    /// Returns true if a rule removes every Cookie line.
    fn drops_cookies(&self) -> bool {
        let id = self.forwarder.request_id.as_ref().filter(|_| !self.cx.exchange.request_id.is_empty());
        let removed = self.forwarder.identity.known | self.route.request.removed.known;
        (removed | id.map_or(0, |id| id.known.bit())) & KnownHeader::Cookie.bit() != 0
    }

    fn is_request_id(&self, name: &[u8]) -> bool {
        !self.cx.exchange.request_id.is_empty()
            && self.forwarder.request_id.as_ref().is_some_and(|id| id.name.eq_ignore_ascii_case(name))
    }

    /// Returns true if a Connection option names this header. Called for unknown headers only, because a
    /// client must not remove headers that Weir or the server relies on.
    fn is_nominated(&self, name: &[u8]) -> bool {
        self.table.all(KnownHeader::Connection).any(|entry| nominates(entry.value().of(self.buf), name))
    }
}
