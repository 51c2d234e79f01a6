//! The framing of message bodies.

use super::KnownHeader;
use super::{HeaderFault, HeaderTable};

/// The method to find the end of a body (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    None,
    /// The number of bytes in Content-Length.
    Length(u64),
    /// Chunks, up to the last one and its trailers.
    Chunked,
    /// The end of the connection; responses only.
    UntilClose,
}

/// The framing headers of a head, before the rules for the kind of message apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclaredFraming {
    Nothing,
    Length(u64),
    Chunked,
}

/// Maximum Content-Length. No file system has larger files, and the sum of two lengths cannot overflow.
const LENGTH_MAX: u64 = i64::MAX as u64;

#[inline]
pub(super) fn declared_framing(buf: &[u8], table: &HeaderTable) -> Result<DeclaredFraming, HeaderFault> {
    if !table.has_any(KnownHeader::ContentLength.bit() | KnownHeader::TransferEncoding.bit()) {
        return Ok(DeclaredFraming::Nothing);
    }
    // Fast path for the most common case, without a look at each line.
    if !table.has(KnownHeader::TransferEncoding)
        && !table.repeats(KnownHeader::ContentLength)
        && let Some(entry) = table.find(KnownHeader::ContentLength)
    {
        return content_length(entry.value().of(buf)).map(DeclaredFraming::Length);
    }
    read_framing(buf, table)
}

/// Returns true if the length is not written as in `Content-Length: 5`: it has leading zeros or other
/// whitespace.
#[inline]
pub(super) fn is_length_odd(buf: &[u8], table: &HeaderTable, declared: DeclaredFraming) -> bool {
    let DeclaredFraming::Length(_) = declared else { return false };
    table.find(KnownHeader::ContentLength).is_some_and(|entry| {
        let is_padded = matches!(entry.value().of(buf), [b'0', _, ..]);
        is_padded || !entry.is_plain(buf)
    })
}

/// Returns true if the transfer coding is not written as in `Transfer-Encoding: chunked`.
#[inline]
pub(super) fn is_coding_odd(buf: &[u8], table: &HeaderTable, declared: DeclaredFraming) -> bool {
    let DeclaredFraming::Chunked = declared else { return false };
    table
        .find(KnownHeader::TransferEncoding)
        .is_some_and(|entry| entry.value().of(buf) != b"chunked" || !entry.is_plain(buf))
}

fn read_framing(buf: &[u8], table: &HeaderTable) -> Result<DeclaredFraming, HeaderFault> {
    let mut declared = DeclaredFraming::Nothing;
    for entry in table.entries() {
        let value = entry.value().of(buf);
        match entry.known() {
            KnownHeader::ContentLength => {
                let length = content_length(value)?;
                match declared {
                    DeclaredFraming::Nothing => declared = DeclaredFraming::Length(length),
                    DeclaredFraming::Length(_) => return Err(HeaderFault::SecondContentLength),
                    DeclaredFraming::Chunked => return Err(HeaderFault::LengthAndTransferEncoding),
                }
            }
            KnownHeader::TransferEncoding => {
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(HeaderFault::TransferCoding);
                }
                match declared {
                    DeclaredFraming::Nothing => declared = DeclaredFraming::Chunked,
                    DeclaredFraming::Chunked => return Err(HeaderFault::SecondTransferEncoding),
                    DeclaredFraming::Length(_) => return Err(HeaderFault::LengthAndTransferEncoding),
                }
            }
            _ => {}
        }
    }
    Ok(declared)
}

/// Parses digits only, because programs disagree about lists (even of equal numbers) and signs.
fn content_length(value: &[u8]) -> Result<u64, HeaderFault> {
    if value.is_empty() {
        return Err(HeaderFault::ContentLength);
    }
    let mut length = 0u64;
    for byte in value {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(HeaderFault::ContentLength);
        }
        length = length
            .checked_mul(10)
            .and_then(|l| l.checked_add(u64::from(digit)))
            .filter(|l| *l <= LENGTH_MAX)
            .ok_or(HeaderFault::ContentLengthTooLarge)?;
    }
    Ok(length)
}
