//! Parsing of header lines, for requests and responses (RFC 9112 section 5).

use super::known::lookup_short;
use super::scan::{find_control, find_token_end};
use super::swar;
use super::{HeaderEntry, HeaderFault, HeaderTable, KnownHeader, Span, fold_for_cgi};
use crate::HeadLimits;

/// Parses the header section at `from` into `table`. Returns the offset after the empty line, or `None` if
/// the section is incomplete.
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
            // CR and LF are less than every character that a line can begin with.
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

/// Returns the result if no header line begins at `at`: the end of the section, an incomplete section, or an
/// error.
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

/// Returns the start of the value, which in most cases follows one space.
#[inline(always)]
fn skip_space(buf: &[u8], from: usize) -> usize {
    match buf.get(from..) {
        Some([b' ', second, ..]) if *second > b' ' => from + 1,
        Some([first, ..]) if *first > b' ' => from,
        Some(rest) => from + rest.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(rest.len()),
        None => from,
    }
}

/// Returns the end of the value before the line break at `stop`, without trailing whitespace.
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

/// Returns the offset of the colon and the header before it. The first 16 bytes identify the common names, so
/// their characters need no check.
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

/// Masks that keep this number of bytes.
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

/// Returns the offset of the CR LF that ends the value, or `None` if the line is incomplete.
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

/// Returns true if a server that reads `_` as `-`, as CGI does, would take the name for Content-Length or
/// Transfer-Encoding.
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
