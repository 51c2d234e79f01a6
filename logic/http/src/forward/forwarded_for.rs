//! X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host and Forwarded (RFC 7239).

use std::net::IpAddr;

use super::forwarder::X_FORWARDED;
use super::{Forwarder, Peer};
use crate::head::scan::{is_token_text, list, trim};
use crate::{ForwardedFor, HeaderTable, KnownHeader};

/// The treatment of received forwarding headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// Forward them unchanged and add nothing.
    Pass,
    /// Drop them and add nothing.
    Drop,
    /// Replace them by what Weir observed.
    Replace,
    /// Append what Weir observed to them; trust them only if the peer is trusted.
    Append,
}

impl Came {
    pub(super) fn of(rule: ForwardedFor, peer: &Peer) -> Self {
        match rule {
            ForwardedFor::Remove => Self::Drop,
            _ if peer.is_trusted() => Self::Append,
            ForwardedFor::Pass => Self::Pass,
            ForwardedFor::Set => Self::Replace,
            ForwardedFor::Append => Self::Append,
        }
    }
}

/// The data for the added lines.
pub(super) struct Seen<'a> {
    pub(super) buf: &'a [u8],
    pub(super) table: &'a HeaderTable,
    pub(super) peer: &'a Peer,
    /// Effective host; empty = none.
    pub(super) host: &'a [u8],
}

impl Forwarder {
    /// Appends the X-Forwarded lines, except those in `suppressed`.
    #[inline]
    pub(super) fn append_x_forwarded(&self, out: &mut Vec<u8>, seen: &Seen<'_>, suppressed: u64) {
        let came = Came::of(self.x_forwarded, seen.peer);
        let address = seen.peer.ip_text();
        if came == Came::Replace
            && suppressed & X_FORWARDED == 0
            && !address.is_empty()
            && !seen.host.is_empty()
        {
            // The common case, in as few pieces as possible.
            out.extend_from_slice(b"X-Forwarded-For: ");
            out.extend_from_slice(address);
            out.extend_from_slice(&self.proto_and_host);
            append_line(out, b"", seen.host);
            return;
        }
        self.append_x_forwarded_lines(out, seen, came, suppressed);
    }

    fn append_x_forwarded_lines(&self, out: &mut Vec<u8>, seen: &Seen<'_>, came: Came, suppressed: u64) {
        if matches!(came, Came::Pass | Came::Drop) {
            return;
        }
        let wanted = |header: KnownHeader| suppressed & header.bit() == 0;
        if wanted(KnownHeader::XForwardedFor) {
            append_for(out, seen, came);
        }
        let believed = came == Came::Append && seen.peer.is_trusted();
        let keep = |header| if believed { seen.table.find(header) } else { None };
        if wanted(KnownHeader::XForwardedProto) {
            let came = keep(KnownHeader::XForwardedProto).map(|entry| entry.value().of(seen.buf));
            let value = came.unwrap_or(self.scheme.as_str().as_bytes());
            append_line(out, b"X-Forwarded-Proto: ", value);
        }
        if wanted(KnownHeader::XForwardedHost) {
            let came = keep(KnownHeader::XForwardedHost).map(|entry| entry.value().of(seen.buf));
            let value = came.unwrap_or(seen.host);
            if !value.is_empty() {
                append_line(out, b"X-Forwarded-Host: ", value);
            }
        }
    }

    /// Appends the Forwarded line.
    pub(super) fn append_forwarded(&self, out: &mut Vec<u8>, seen: &Seen<'_>) {
        let came = Came::of(self.forwarded, seen.peer);
        if matches!(came, Came::Pass | Came::Drop) {
            return;
        }
        out.extend_from_slice(b"Forwarded: ");
        if came == Came::Append {
            append_values(out, seen, KnownHeader::Forwarded);
        }
        match seen.peer.ip() {
            None => out.extend_from_slice(b"for=unknown"),
            Some(IpAddr::V4(_)) => {
                out.extend_from_slice(b"for=");
                out.extend_from_slice(seen.peer.ip_text());
            }
            Some(IpAddr::V6(_)) => {
                out.extend_from_slice(b"for=\"[");
                out.extend_from_slice(seen.peer.ip_text());
                out.extend_from_slice(b"]\"");
            }
        }
        if !seen.host.is_empty() {
            let quote: &[u8] = if is_token_text(seen.host) { b"" } else { b"\"" };
            for part in [b";host=", quote, seen.host, quote] {
                out.extend_from_slice(part);
            }
        }
        append_line(out, b";proto=", self.scheme.as_str().as_bytes());
    }
}

fn append_for(out: &mut Vec<u8>, seen: &Seen<'_>, came: Came) {
    let address = seen.peer.ip_text();
    let has_came = came == Came::Append && seen.table.has(KnownHeader::XForwardedFor);
    if address.is_empty() && !has_came {
        return;
    }
    out.extend_from_slice(b"X-Forwarded-For: ");
    if has_came {
        append_values(out, seen, KnownHeader::XForwardedFor);
    }
    let address = if address.is_empty() { b"unknown" } else { address };
    append_line(out, b"", address);
}

/// Appends the values of all lines with a name, each followed by a comma.
fn append_values(out: &mut Vec<u8>, seen: &Seen<'_>, header: KnownHeader) {
    for entry in seen.table.entries().iter().filter(|entry| entry.known() == header) {
        let value = entry.value().of(seen.buf);
        if !value.is_empty() {
            out.extend_from_slice(value);
            out.extend_from_slice(b", ");
        }
    }
}

#[inline]
fn append_line(out: &mut Vec<u8>, start: &[u8], value: &[u8]) {
    out.extend_from_slice(start);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Returns the client's address: the last untrusted address of X-Forwarded-For, or of Forwarded without the
/// former. If all are trusted, returns the first one. Stops at an entry that is not an address, because
/// everything before it may be forged.
pub(super) fn client_address(
    buf: &[u8],
    table: &HeaderTable,
    trusts: impl Fn(IpAddr) -> bool,
) -> Option<IpAddr> {
    let header = [KnownHeader::XForwardedFor, KnownHeader::Forwarded].into_iter().find(|h| table.has(*h))?;
    let mut client = None;
    for entry in table.entries().iter().rev().filter(|entry| entry.known() == header) {
        for element in entry.value().of(buf).rsplit(|b| *b == b',').map(trim).filter(|e| !e.is_empty()) {
            let node = if header == KnownHeader::Forwarded { forwarded_node(element) } else { Some(element) };
            let Some(ip) = node.and_then(parse_node) else { return client };
            client = Some(ip);
            if !trusts(ip) {
                return client;
            }
        }
    }
    client
}

/// Returns the value of `for=` in an element of Forwarded.
fn forwarded_node(element: &[u8]) -> Option<&[u8]> {
    let pair = element
        .split(|b| *b == b';')
        .map(trim)
        .find(|pair| pair.get(..4).is_some_and(|name| name.eq_ignore_ascii_case(b"for=")))?;
    let node = &pair[4..];
    Some(node.strip_prefix(b"\"").and_then(|n| n.strip_suffix(b"\"")).unwrap_or(node))
}

/// Parses an address with or without brackets and port.
fn parse_node(node: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(node).ok()?;
    let host = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => match text.split_once(':') {
            Some((ipv4, port)) if !port.contains(':') => ipv4,
            _ => text,
        },
    };
    host.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Returns true if an option of a Connection line is `name`.
pub(super) fn nominates(value: &[u8], name: &[u8]) -> bool {
    list(value).any(|option| option.eq_ignore_ascii_case(name))
}
