//! X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host and Forwarded (RFC 7239).

use std::net::IpAddr;

use super::client_address::Came;
use super::forwarder::X_FORWARDED;
use super::{Forwarder, Peer};
use crate::head::scan::{is_token_text, list};
use crate::{HeaderTable, KnownHeader};

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

/// Returns true if an option of a Connection line is `name`.
pub(super) fn nominates(value: &[u8], name: &[u8]) -> bool {
    list(value).any(|option| option.eq_ignore_ascii_case(name))
}
