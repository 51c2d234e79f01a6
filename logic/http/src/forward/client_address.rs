//! Received forwarding headers: their treatment, and the client address that they name.

use std::net::IpAddr;

use super::Peer;
use crate::head::scan::trim;
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
