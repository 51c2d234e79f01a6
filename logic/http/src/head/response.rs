//! Parsing of response heads.

use std::fmt;

use super::connection::ConnectionOptions;
use super::framing::{DeclaredFraming, declared_framing, is_coding_odd, is_length_odd};
use super::lines::parse_lines;
use super::scan::find_control;
use super::{Framing, HeaderFault, HeaderTable, KnownHeader, Repairs, Span, Version};
use crate::HeadLimits;

/// The facts about the request that determine the framing of its response (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResponseTo {
    /// True for HEAD: the response has no body, whatever its head declares.
    pub is_head: bool,
    /// True for CONNECT: a 2xx response has no body, and a tunnel follows.
    pub is_connect: bool,
    /// True if the forwarded request asked for an upgrade: 101 is allowed.
    pub upgrade: bool,
}

/// A response head (RFC 9112 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    /// Status, 100 to 999.
    pub status: u16,
    /// The reason phrase; may be empty.
    pub reason: Span,
    /// HTTP version of the server.
    pub version: Version,
    /// Framing of the body.
    pub framing: Framing,
    /// True if the server accepts another request on this connection after this response.
    pub keep_alive: bool,
    /// Protocol that the server has switched to (status 101), or offers.
    pub upgrade: Option<Span>,
    /// True if Connection names headers to remove.
    pub nominates: bool,
    /// Parts that clients receive in another form.
    pub repairs: Repairs,
    /// Length of the head with the empty line; the body starts here.
    pub head_bytes: u32,
}

impl ResponseHead {
    /// Checks that a 101 matches a request for the protocol `asked` and that all of the request was sent
    /// (`is_sent`). Other statuses are always accepted. A 101 without Upgrade means the only protocol that
    /// was requested.
    pub fn fits_upgrade(&self, buf: &[u8], asked: Option<&[u8]>, is_sent: bool) -> Result<(), ResponseError> {
        if self.status != 101 {
            return Ok(());
        }
        let asked = asked.ok_or(ResponseError::UnaskedUpgrade)?;
        match self.upgrade {
            Some(protocol) if !protocol.of(buf).eq_ignore_ascii_case(asked) => {
                Err(ResponseError::OtherUpgrade)
            }
            _ if !is_sent => Err(ResponseError::EarlyUpgrade),
            _ => Ok(()),
        }
    }

    /// Returns true for 1xx except 101: the final response follows.
    pub const fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// Returns true if the status line has the space before the reason, which is required even if the reason
    /// is empty.
    pub(crate) const fn has_space_before_reason(&self) -> bool {
        // `HTTP/1.1 200 `
        self.reason.start == 13
    }
}

/// Parses the response head at the start of `buf` and its header lines into `table`. Returns `Ok(None)` if
/// the head is incomplete, but enforces the limits.
pub fn parse_response(
    buf: &[u8],
    to: ResponseTo,
    limits: &HeadLimits,
    table: &mut HeaderTable,
) -> Result<Option<ResponseHead>, ResponseError> {
    match buf.get(..limits.head_bytes_max as usize) {
        Some(all) => match parse_within(all, to, limits, table)? {
            None => Err(HeaderFault::HeadTooLarge.into()),
            head => Ok(head),
        },
        None => parse_within(buf, to, limits, table),
    }
}

fn parse_within(
    buf: &[u8],
    to: ResponseTo,
    limits: &HeadLimits,
    table: &mut HeaderTable,
) -> Result<Option<ResponseHead>, ResponseError> {
    table.clear();
    let Some((version, status, reason)) = parse_status_line(buf)? else { return Ok(None) };
    let Some(end) = parse_lines(buf, reason.end as usize + 2, limits.headers_max, table)? else {
        return Ok(None);
    };
    let declared = declared_framing(buf, table)?;
    if declared == DeclaredFraming::Chunked && version == Version::Http10 {
        return Err(HeaderFault::TransferEncodingInHttp10.into());
    }
    if status == 101 && !to.upgrade {
        return Err(ResponseError::UnaskedUpgrade);
    }
    let bodiless = to.is_head || status < 200 || status == 204 || status == 304;
    let framing = match declared {
        _ if bodiless || (to.is_connect && status < 300) => Framing::None,
        DeclaredFraming::Nothing => Framing::UntilClose,
        DeclaredFraming::Length(length) => Framing::Length(length),
        DeclaredFraming::Chunked => Framing::Chunked,
    };
    let options = ConnectionOptions::read(buf, table)?;
    Ok(Some(ResponseHead {
        status,
        reason,
        version,
        framing,
        keep_alive: options.persists(version) && framing != Framing::UntilClose && status != 101,
        upgrade: table.find(KnownHeader::Upgrade).map(|entry| entry.value()),
        nominates: options.nominates,
        repairs: Repairs {
            version: version == Version::Http11 && buf.get(7) != Some(&b'1'),
            host: false,
            content_length: is_length_odd(buf, table, declared),
            transfer_encoding: is_coding_odd(buf, table, declared),
        },
        head_bytes: end as u32,
    }))
}

fn parse_status_line(buf: &[u8]) -> Result<Option<(Version, u16, Span)>, ResponseError> {
    const START: &[u8; 9] = b"HTTP/1.1 ";
    let Some(start) = buf.first_chunk::<12>() else {
        let agrees =
            buf.iter().zip(START).enumerate().all(|(i, (a, b))| a == b || (i == 7 && a.is_ascii_digit()));
        let digits = buf.iter().skip(START.len()).all(u8::is_ascii_digit);
        return if agrees && digits { Ok(None) } else { Err(ResponseError::StatusLine) };
    };
    let (version, digits) = match start {
        // A later minor version counts as the latest known one (RFC 9110 section 2.5).
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1'..=b'9', b' ', digits @ ..] => {
            (Version::Http11, digits)
        }
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0', b' ', digits @ ..] => (Version::Http10, digits),
        _ => return Err(ResponseError::StatusLine),
    };
    if !digits.iter().all(u8::is_ascii_digit) || digits[0] == b'0' {
        return Err(ResponseError::Status);
    }
    let status = digits.iter().fold(0u16, |n, d| n * 10 + u16::from(d - b'0'));
    let reason_start = match buf.get(12) {
        None => return Ok(None),
        Some(b' ') => 13,
        // The space is required, but widely used servers omit it together with the reason.
        Some(b'\r') => 12,
        Some(_) => return Err(ResponseError::StatusLine),
    };
    let mut end = reason_start;
    loop {
        end = find_control(buf, end);
        match (buf.get(end), buf.get(end + 1)) {
            (None, _) | (Some(b'\r'), None) => return Ok(None),
            (Some(b'\r'), Some(b'\n')) => return Ok(Some((version, status, Span::new(reason_start, end)))),
            (Some(b'\t'), _) => end += 1,
            (Some(b'\r'), _) => return Err(HeaderFault::BareCr.into()),
            (Some(b'\n'), _) => return Err(HeaderFault::BareLf.into()),
            _ => return Err(ResponseError::StatusLine),
        }
    }
}

/// The reason to refuse a response head: the client gets 502 and the connection to the server is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseError {
    /// The status line is not `HTTP/1.0` or `HTTP/1.1`, a space, and a status.
    StatusLine,
    /// The status is not three digits from 100.
    Status,
    /// 101 although the client requested no upgrade.
    UnaskedUpgrade,
    /// 101 to another protocol than the requested one.
    OtherUpgrade,
    /// 101 before the whole request had been sent.
    EarlyUpgrade,
    /// The header section is invalid.
    Header(HeaderFault),
}

impl ResponseError {
    /// Returns the status for the client: 502.
    pub const fn status(self) -> u16 {
        502
    }
}

impl From<HeaderFault> for ResponseError {
    fn from(fault: HeaderFault) -> Self {
        Self::Header(fault)
    }
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StatusLine => "the status line is malformed (RFC 9112 section 4)",
            Self::Status => "the status is not a number from 100 to 999 (RFC 9110 section 15)",
            Self::UnaskedUpgrade => "101 although no upgrade was asked for (RFC 9110 section 15.2.2)",
            Self::OtherUpgrade => "101 to another protocol than was asked for (RFC 9110 section 7.8)",
            Self::EarlyUpgrade => "101 before the whole request had been sent (RFC 9110 section 7.8)",
            Self::Header(fault) => return fault.fmt(f),
        })
    }
}

impl std::error::Error for ResponseError {}
