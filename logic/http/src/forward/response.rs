//! The rewriting of response heads for clients.

use std::borrow::Cow;

use super::destination::UriMap;
use super::forwarded_for::nominates;
use super::forwarder::{HOP_BY_HOP, RequestIdHeader};
use super::{Forwarder, ResponseContext, ResponseWritten, RouteRewriter};
use crate::answer::{append_content_length, append_length, append_line, append_status_line};
use crate::head::{scan::list, set};
use crate::{
    Framing, HeaderEntry, HeaderTable, KnownHeader, Repairs, ResponseHead, SetCookieEdit, Span, Version,
    number,
};

const LOCATIONS: u64 = set(&[KnownHeader::Location, KnownHeader::ContentLocation]);

/// Headers of a local response that affect other parts of the message.
const SPECIAL: u64 =
    HOP_BY_HOP | set(&[KnownHeader::ContentLength, KnownHeader::TransferEncoding, KnownHeader::Date]);
/// Limits for the fast path of local responses; larger ones take the normal path, which enforces the
/// configured limits.
const OWN_LINES_MAX: usize = 64;
const OWN_BYTES_MAX: usize = 64 * 1024;

impl Forwarder {
    /// Appends to `out` the response head for the client, including the empty line. `head` was parsed from
    /// `buf` into `table`.
    pub fn write_response(
        &self,
        out: &mut Vec<u8>,
        buf: &[u8],
        head: &ResponseHead,
        table: &HeaderTable,
        route: &RouteRewriter,
        cx: &ResponseContext<'_>,
    ) -> ResponseWritten {
        let dechunk = head.framing == Framing::Chunked && cx.client_version == Version::Http10;
        let keep_alive =
            cx.keep_alive && !dechunk && head.framing != Framing::UntilClose && head.status != 101;
        let writer = Writer { forwarder: self, buf, head, table, route, cx, dechunk };
        out.reserve(head.head_bytes as usize + 256);
        let kept_from =
            if head.version == Version::Http11 && head.has_space_before_reason() && !head.repairs.version {
                0
            } else {
                writer.append_status_line(out);
                head.reason.end + 2
            };
        writer.append_lines(out, kept_from);
        writer.append_own_lines(out, keep_alive);
        out.extend_from_slice(b"\r\n");
        ResponseWritten { keep_alive, dechunk }
    }

    /// Appends the head of a local response with this status, these lines and this Content-Length. The names
    /// and values of the lines must be valid. The result is the same as that of [`Self::write_response`], but
    /// the head need not be written and parsed first.
    ///
    /// Returns `None` and appends nothing if the status, a line or a rule of the route requires the normal
    /// path.
    pub fn write_own<'n, 'v>(
        &self,
        out: &mut Vec<u8>,
        status: u16,
        lines: impl IntoIterator<Item = (&'n str, &'v [u8])>,
        content_length: u64,
        route: &RouteRewriter,
        cx: &ResponseContext<'_>,
    ) -> Option<ResponseWritten> {
        let removed = &route.response.removed;
        let is_ruled = removed.known != 0 || removed.has_others() || route.path.maps_prefix();
        if !(200..=599).contains(&status) || is_ruled || cx.cookie.is_some() || cx.from_server {
            return None;
        }
        let start = out.len();
        out.reserve(512);
        append_status_line(out, status);
        for (at, (name, value)) in lines.into_iter().enumerate() {
            append_line(out, name, value);
            let is_long = at >= OWN_LINES_MAX || out.len() - start > OWN_BYTES_MAX;
            if is_long || self.is_special(name.as_bytes(), cx) {
                out.truncate(start);
                return None;
            }
        }
        let framing = match status {
            204 | 304 => Framing::None,
            _ => {
                append_content_length(out, content_length);
                Framing::Length(content_length)
            }
        };
        let head = ResponseHead {
            status,
            reason: Span::default(),
            version: Version::Http11,
            framing,
            keep_alive: true,
            upgrade: None,
            nominates: false,
            repairs: Repairs::default(),
            head_bytes: 0,
        };
        let table = &HeaderTable::without_lines();
        let writer = Writer { forwarder: self, buf: &[], head: &head, table, route, cx, dechunk: false };
        writer.append_own_lines(out, cx.keep_alive);
        out.extend_from_slice(b"\r\n");
        Some(ResponseWritten { keep_alive: cx.keep_alive, dechunk: false })
    }

    /// Returns true if a header with this name changes on its way, or changes the treatment of others.
    fn is_special(&self, name: &[u8], cx: &ResponseContext<'_>) -> bool {
        let is_request_id = |id: &RequestIdHeader| id.name.eq_ignore_ascii_case(name);
        KnownHeader::of_name(name).bit() & SPECIAL != 0
            || (!cx.exchange.request_id.is_empty() && self.request_id.as_ref().is_some_and(is_request_id))
    }
}

struct Writer<'a> {
    forwarder: &'a Forwarder,
    buf: &'a [u8],
    head: &'a ResponseHead,
    table: &'a HeaderTable,
    route: &'a RouteRewriter,
    cx: &'a ResponseContext<'a>,
    dechunk: bool,
}

impl Writer<'_> {
    fn append_status_line(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"HTTP/1.1 ");
        number::append(out, u64::from(self.head.status));
        out.push(b' ');
        out.extend_from_slice(self.head.reason.of(self.buf));
        out.extend_from_slice(b"\r\n");
    }

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

    fn touched(&self) -> u64 {
        let mut touched = HOP_BY_HOP;
        if self.cx.from_server {
            touched |= KnownHeader::XAccel.bit();
        }
        if self.is_final() {
            touched |= self.route.response.removed.known;
            if self.route.response.removed.has_others() {
                touched |= KnownHeader::Other.bit();
            }
            if let Some(id) = self.forwarder.request_id.as_ref().filter(|_| self.has_request_id()) {
                touched |= id.known.bit();
            }
            if self.cx.cookie.is_some() {
                touched |= KnownHeader::SetCookie.bit();
            }
        }
        if self.has_no_length() {
            touched |= KnownHeader::ContentLength.bit() | KnownHeader::TransferEncoding.bit();
        }
        if self.head.repairs.content_length {
            touched |= KnownHeader::ContentLength.bit();
        }
        if self.cx.client_version == Version::Http10 || self.head.repairs.transfer_encoding {
            touched |= KnownHeader::TransferEncoding.bit();
        }
        if self.dechunk {
            touched |= KnownHeader::Trailer.bit();
        }
        if self.route.path.maps_prefix() || self.sets_host() {
            touched |= LOCATIONS;
        }
        if self.head.nominates {
            touched |= KnownHeader::Other.bit();
        }
        touched
    }

    /// Returns true if neither Content-Length nor Transfer-Encoding is allowed (RFC 9110 section 8.6, RFC
    /// 9112 section 6.1).
    fn has_no_length(&self) -> bool {
        self.head.status < 200 || self.head.status == 204
    }

    fn is_changed(&self, entry: &HeaderEntry) -> bool {
        match entry.known() {
            KnownHeader::Other => {
                let name = entry.name().of(self.buf);
                (self.is_final() && (self.route.response.removed.has_other(name) || self.is_request_id(name)))
                    || (self.head.nominates && self.is_nominated(name))
            }
            // Each of these stands for many names, and a rule may apply to one of them.
            known @ (KnownHeader::XAccel | KnownHeader::XForwardedOther) => {
                let name = entry.name().of(self.buf);
                (known == KnownHeader::XAccel && self.cx.from_server)
                    || self.route.response.removed.has_other(name)
                    || self.is_request_id(name)
            }
            KnownHeader::Upgrade => !self.upgrades(),
            KnownHeader::SetCookie => {
                let edits = |edit: &SetCookieEdit<'_>| edit.changes(entry.value().of(self.buf));
                self.drops_set_cookies() || self.cx.cookie.as_ref().is_some_and(edits)
            }
            _ => true,
        }
    }

    fn append_changed(&self, out: &mut Vec<u8>, entry: &HeaderEntry) {
        let known = entry.known().bit();
        if entry.known() == KnownHeader::SetCookie {
            return self.append_set_cookie(out, entry);
        }
        if entry.known() == KnownHeader::ContentLength && !self.has_no_length() {
            return append_length(out, entry.value().of(self.buf));
        }
        if entry.known() == KnownHeader::TransferEncoding {
            if !self.has_no_length() && self.cx.client_version == Version::Http11 {
                append_line(out, "Transfer-Encoding", b"chunked");
            }
            return;
        }
        if known & LOCATIONS == 0 || (self.is_final() && self.route.response.removed.known & known != 0) {
            return;
        }
        let server_host = self.server_host();
        let map = UriMap {
            paths: &self.route.path,
            rules: None,
            client: self.forwarder.scheme,
            server: self.cx.server_scheme,
            client_host: self.cx.request.host,
            server_host: &server_host,
        };
        out.extend_from_slice(entry.name().of(self.buf));
        out.extend_from_slice(b": ");
        map.append_outward(out, entry.value().of(self.buf));
        out.extend_from_slice(b"\r\n");
    }

    /// Returns true if the server received another Host than the client sent.
    fn sets_host(&self) -> bool {
        self.cx.from_server && self.route.request.host().is_some()
    }

    /// Returns the Host that the server received.
    fn server_host(&self) -> Cow<'_, [u8]> {
        match self.route.request.host().filter(|_| self.cx.from_server) {
            None => Cow::Borrowed(self.cx.request.host),
            Some(template) => {
                let variables = self.cx.exchange.variables(self.forwarder.scheme, &self.cx.request);
                let mut host = Vec::new();
                template.expand(&mut host, &variables);
                Cow::Owned(host)
            }
        }
    }

    /// Appends the server's Set-Cookie line with Weir's value, or nothing if the line is dropped.
    fn append_set_cookie(&self, out: &mut Vec<u8>, entry: &HeaderEntry) {
        let Some(edit) = self.cx.cookie.as_ref().filter(|_| !self.drops_set_cookies()) else { return };
        let start = out.len();
        out.extend_from_slice(entry.name().of(self.buf));
        out.extend_from_slice(b": ");
        if edit.append(out, entry.value().of(self.buf)) {
            out.extend_from_slice(b"\r\n");
        } else {
            out.truncate(start);
        }
    }

    /// Appends Weir's cookie that identifies the server, even if the route removes Set-Cookie headers of the
    /// server.
    fn append_inserted_cookie(&self, out: &mut Vec<u8>) {
        let Some(SetCookieEdit::Insert { line, no_cache, .. }) = self.cx.cookie else { return };
        out.extend_from_slice(line);
        if no_cache && !line.is_empty() && !self.is_private() {
            append_line(out, "Cache-Control", b"private");
        }
    }

    /// Returns true if the response already forbids shared caches to store it.
    fn is_private(&self) -> bool {
        let removed = self.route.response.removed.known & KnownHeader::CacheControl.bit() != 0;
        let says_so = |entry: &HeaderEntry| {
            list(entry.value().of(self.buf)).any(|directive| {
                directive.eq_ignore_ascii_case(b"private") || directive.eq_ignore_ascii_case(b"no-store")
            })
        };
        !removed && self.table.all(KnownHeader::CacheControl).any(says_so)
    }

    fn append_own_lines(&self, out: &mut Vec<u8>, keep_alive: bool) {
        if self.upgrades() {
            out.extend_from_slice(b"Connection: upgrade\r\n");
        } else if self.is_final() && !keep_alive {
            out.extend_from_slice(b"Connection: close\r\n");
        } else if self.is_final() && self.cx.client_version == Version::Http10 {
            out.extend_from_slice(b"Connection: keep-alive\r\n");
        }
        if !self.is_final() {
            return;
        }
        let removed = &self.route.response.removed;
        if removed.known & KnownHeader::Via.bit() == 0 {
            out.extend_from_slice(&self.forwarder.via[usize::from(self.head.version == Version::Http11)]);
        }
        let has_date = self.table.has(KnownHeader::Date) || self.cx.date.is_empty();
        if !has_date && removed.known & KnownHeader::Date.bit() == 0 {
            append_line(out, "Date", self.cx.date.as_bytes());
        }
        let exchange = &self.cx.exchange;
        if let Some(id) = self.forwarder.request_id.as_ref().filter(|_| self.has_request_id())
            && !removed.has_other(&id.name)
        {
            id.append(out, exchange.request_id);
        }
        if self.cx.cookie.is_some() {
            self.append_inserted_cookie(out);
        }
        if self.route.response.adds_any() {
            let variables = exchange.variables(self.forwarder.scheme, &self.cx.request);
            self.route.response.append_added(out, &variables);
        }
    }

    /// Returns true for a final response, including 101. Interim responses get no lines from Weir.
    fn is_final(&self) -> bool {
        !self.head.is_interim()
    }

    /// Returns true if Upgrade is for the client: 101 names the protocol that follows, 426 the required
    /// protocols. In other responses, Upgrade is an offer to Weir.
    fn upgrades(&self) -> bool {
        matches!(self.head.status, 101 | 426) && self.head.upgrade.is_some()
    }

    fn has_request_id(&self) -> bool {
        !self.cx.exchange.request_id.is_empty()
    }

    /// Returns true if a rule removes every Set-Cookie line of the server.
    fn drops_set_cookies(&self) -> bool {
        let id = self.forwarder.request_id.as_ref().filter(|_| self.has_request_id());
        let removed = self.route.response.removed.known | id.map_or(0, |id| id.known.bit());
        self.is_final() && removed & KnownHeader::SetCookie.bit() != 0
    }

    fn is_request_id(&self, name: &[u8]) -> bool {
        self.has_request_id()
            && self.forwarder.request_id.as_ref().is_some_and(|id| id.name.eq_ignore_ascii_case(name))
    }

    fn is_nominated(&self, name: &[u8]) -> bool {
        self.table.all(KnownHeader::Connection).any(|entry| nominates(entry.value().of(self.buf), name))
    }
}
