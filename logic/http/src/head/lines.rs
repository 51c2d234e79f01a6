//! Header lines, alike in requests and responses (RFC 9112 section 5).

use super::known::lookup_short;
use super::scan::{find_control, find_token_end};
use super::swar;
use super::{HeaderEntry, HeaderFault, HeaderTable, KnownHeader, Span, fold_for_cgi};
use crate::HeadLimits;

/// Reads the header section at `from` into `table`. Returns the offset after the empty line, or `None` if it has not
/// all come yet.
pub(super) fn parse_lines(
    buf: &[u8],
    from: usize,
    headers_max: u16,
    table: &mut HeaderTable,
) -> Result<Option<usize>, HeaderFault> {
    let headers_max = usize::from(headers_max).min(HeadLimits::HEADERS_CEILING);
    let mut at = from;
    loop {
        match buf.get(at) {
            // The line breaks are below every character that a line begins with.
            Some(first) if *first > b' ' => {}
            _ => return end_of_lines(buf, at),
        }
        if table.entries().len() == headers_max {
            return Err(HeaderFault::TooManyHeaders);
        }
        let Some((colon, known)) = parse_name(buf, at)? else { return Ok(None) };
        let value_start = skip_space(buf, colon + 1);
        let Some(stop) = value_stop(buf, value_start)? else { return Ok(None) };
        let value_end = trim_end(buf, value_start, stop);
        table.push(HeaderEntry::new(
            Span::new(at, colon),
            Span::new(value_start, value_end),
            stop + 2,
            known,
        ));
        at = stop + 2;
    }
}

/// What it means that no line begins at `at`.
fn end_of_lines(buf: &[u8], at: usize) -> Result<Option<usize>, HeaderFault> {
    match buf.get(at..) {
        Some([b'\r', b'\n', ..]) => Ok(Some(at + 2)),
        Some([b'\r'] | []) | None => Ok(None),
        Some([b'\r', ..]) => Err(HeaderFault::BareCr),
        Some([b'\n', ..]) => Err(HeaderFault::BareLf),
        Some([b' ' | b'\t', ..]) => Err(HeaderFault::LeadingSpace),
        Some(_) => Err(HeaderFault::NameByte),
    }
}

/// Where the value begins: mostly one space further.
#[inline(always)]
fn skip_space(buf: &[u8], from: usize) -> usize {
    match buf.get(from..) {
        Some([b' ', second, ..]) if *second > b' ' => from + 1,
        Some([first, ..]) if *first > b' ' => from,
        Some(rest) => from + rest.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(rest.len()),
        None => from,
    }
}

/// Where the value ends that the line break at `stop` ends: mostly there.
#[inline(always)]
fn trim_end(buf: &[u8], start: usize, stop: usize) -> usize {
    match buf.get(start..stop) {
        Some([.., last]) if *last > b' ' => stop,
        Some(value) => {
            start + value.iter().rposition(|b| !matches!(b, b' ' | b'\t')).map_or(0, |last| last + 1)
        }
        None => stop,
    }
}

/// Where the colon stands, and which name is before it. The names that everybody sends are known by their first 16
/// bytes, and need no check of their characters.
#[inline(always)]
fn parse_name(buf: &[u8], start: usize) -> Result<Option<(usize, KnownHeader)>, HeaderFault> {
    if let Some(bytes) = buf.get(start..).and_then(|tail| tail.first_chunk::<16>()) {
        let word = u128::from_le_bytes(*bytes);
        let colon = match swar::first(swar::equal(word as u64, b':')) {
            8 => 8 + swar::first(swar::equal((word >> 64) as u64, b':')),
            near => near,
        };
        if let Some(mask) = FIRST.get(colon) {
            let known = lookup_short(word & mask, colon);
            if known != KnownHeader::Other {
                return Ok(Some((start + colon, known)));
            }
        }
    }
    parse_any_name(buf, start)
}

/// Masks that keep so many bytes.
static FIRST: [u128; 16] = {
    let mut masks = [0; 16];
    let mut bytes = 0;
    while bytes < 16 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

#[cold]
fn parse_any_name(buf: &[u8], start: usize) -> Result<Option<(usize, KnownHeader)>, HeaderFault> {
    let colon = find_token_end(buf, start);
    match buf.get(colon) {
        None => Ok(None),
        Some(b':') if colon > start => {
            let name = &buf[start..colon];
            match KnownHeader::of_name(name) {
                KnownHeader::Other if is_disguised_framing(name) => Err(HeaderFault::DisguisedFraming),
                known => Ok(Some((colon, known))),
            }
        }
        Some(b'\r') => match buf.get(colon + 1) {
            None => Ok(None),
            Some(b'\n') => Err(HeaderFault::NoColon),
            Some(_) => Err(HeaderFault::BareCr),
        },
        Some(stranger) => Err(name_fault(*stranger)),
    }
}

/// Where the CR LF stands that ends the value, or `None` if it has not come yet.
#[inline(always)]
fn value_stop(buf: &[u8], from: usize) -> Result<Option<usize>, HeaderFault> {
    let mut at = from;
    loop {
        at = find_control(buf, at);
        match buf.get(at..) {
            Some([b'\r', b'\n', ..]) => return Ok(Some(at)),
            Some([b'\t', ..]) => at += 1,
            Some([] | [b'\r']) | None => return Ok(None),
            Some([b'\r', ..]) => return Err(HeaderFault::BareCr),
            Some([b'\n', ..]) => return Err(HeaderFault::BareLf),
            Some(_) => return Err(HeaderFault::ValueByte),
        }
    }
}

/// Whether a server that reads `_` as `-`, as CGI does, would take this for Content-Length or Transfer-Encoding.
fn is_disguised_framing(name: &[u8]) -> bool {
    let is = |framing: &[u8]| {
        name.len() == framing.len() && name.iter().zip(framing).all(|(n, f)| fold_for_cgi(*n) == *f)
    };
    is(b"content-length") || is(b"transfer-encoding")
}

fn name_fault(stranger: u8) -> HeaderFault {
    match stranger {
        b' ' | b'\t' => HeaderFault::SpaceBeforeColon,
        b':' => HeaderFault::EmptyName,
        b'\n' => HeaderFault::BareLf,
        _ => HeaderFault::NameByte,
    }
}
