//! Parsing of request heads.

use super::connection::ConnectionOptions;
use super::framing::{DeclaredFraming, declared_framing, is_length_odd};
use super::lines::parse_lines;
use super::scan::find_token_end;
use super::target::parse_target;
use super::{
    Framing, HeaderEntry, HeaderFault, HeaderTable, KnownHeader, Method, RequestError, Span, Target,
    TargetForm, Version, authority::is_authority_at,
};
use crate::HeadLimits;

/// A request head (RFC 9112 section 3). Its header lines are in the [`HeaderTable`] of the same parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead {
    /// Method.
    pub method: Method,
    /// Request target.
    pub target: Target,
    /// HTTP version of the client.
    pub version: Version,
    /// Effective host, with its port if it has one: the authority of the target, else the Host line (RFC 9112
    /// section 3.2.2). `None` only in HTTP/1.0.
    pub host: Option<Span>,
    /// Framing of the body; never [`Framing::UntilClose`].
    pub framing: Framing,
    /// True if the client may send another request on this connection.
    pub keep_alive: bool,
    /// True if the client waits for `100 Continue` before it sends the body.
    pub expect_continue: bool,
    /// Protocol that the client wants to switch to after the request: Upgrade with `Connection: upgrade` in
    /// HTTP/1.1. Never h2c, because a tunnel would carry requests that no rule has checked.
    pub upgrade: Option<Span>,
    /// Number of times that a TRACE or OPTIONS may be forwarded (RFC 9110 section 7.6.2); `None` = no limit.
    /// Not parsed for other methods.
    pub max_forwards: Option<u32>,
    /// True if Connection names headers to remove.
    pub nominates: bool,
    /// Parts that servers receive in another form.
    pub repairs: Repairs,
    /// Start of the request line: 0, or 2 after an empty line that some clients send after a body.
    pub start: u32,
    /// Length of the head with the empty line; the body starts here.
    pub head_bytes: u32,
}

impl RequestHead {
    /// Returns the start of the header lines.
    pub(crate) const fn lines_start(&self) -> u32 {
        // The target is followed by a space, the version and CR LF.
        self.target.span.end + 11
    }
}

/// The valid but unusual parts of a head that Weir rewrites in the usual form, because programs interpret
/// them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// True if the version is later than HTTP/1.1.
    pub version: bool,
    /// True if the host has a colon without a port.
    pub host: bool,
    /// True if the length has leading zeros, or whitespace other than one space before it.
    pub content_length: bool,
    /// True if Transfer-Encoding has another form than `chunked` after one space. Used for responses only;
    /// requests are checked when they are written.
    pub transfer_encoding: bool,
}

/// Parses the request head at the start of `buf` and its header lines into `table`. Returns `Ok(None)` if the
/// head is incomplete, but enforces the limits.
pub fn parse_request(
    buf: &[u8],
    limits: &HeadLimits,
    table: &mut HeaderTable,
) -> Result<Option<RequestHead>, RequestError> {
    // Looks only at the maximum size of a head, so that the result does not depend on how many bytes arrived
    // at once.
    match buf.get(..limits.head_bytes_max as usize) {
        Some(all) => match parse_within(all, limits, table)? {
            None => Err(HeaderFault::HeadTooLarge.into()),
            head => Ok(head),
        },
        None => parse_within(buf, limits, table),
    }
}

fn parse_within(
    buf: &[u8],
    limits: &HeadLimits,
    table: &mut HeaderTable,
) -> Result<Option<RequestHead>, RequestError> {
    table.clear();
    let Some(start) = skip_empty_line(buf)? else { return Ok(None) };
    let Some((method, target_start)) = parse_method(buf, start)? else { return Ok(None) };
    let Some(target) = parse_target(buf, target_start, &method, limits.target_bytes_max)? else {
        return Ok(None);
    };
    let Some((version, lines_start)) = parse_version(buf, target.span.end as usize + 1)? else {
        return Ok(None);
    };
    let is_later = version == Version::Http11 && buf.get(lines_start - 3) != Some(&b'1');
    let Some(end) = parse_lines(buf, lines_start, limits.headers_max, table)? else { return Ok(None) };

    let whole_host = effective_host(buf, &target, version, table)?;
    let host = whole_host.map(|host| without_empty_port(buf, host));
    let declared = declared_framing(buf, table)?;
    let repairs = Repairs {
        version: is_later,
        host: host != whole_host,
        content_length: is_length_odd(buf, table, declared),
        transfer_encoding: false,
    };
    let framing = match declared {
        DeclaredFraming::Nothing => Framing::None,
        DeclaredFraming::Length(length) => Framing::Length(length),
        DeclaredFraming::Chunked if version == Version::Http10 => {
            return Err(HeaderFault::TransferEncodingInHttp10.into());
        }
        DeclaredFraming::Chunked => Framing::Chunked,
    };
    let options = ConnectionOptions::read(buf, table)?;
    let upgradable = options.upgrade && version == Version::Http11;
    let max_forwards = max_forwards(buf, &method, table)?;
    Ok(Some(RequestHead {
        method,
        target,
        version,
        host,
        framing,
        keep_alive: options.persists(version),
        expect_continue: version == Version::Http11 && expects_continue(buf, table),
        upgrade: if upgradable { upgrade(buf, table) } else { None },
        max_forwards,
        nominates: options.nominates,
        repairs,
        start: start as u32,
        head_bytes: end as u32,
    }))
}

/// Skips one empty line before the request line (RFC 9112 section 2.2).
fn skip_empty_line(buf: &[u8]) -> Result<Option<usize>, RequestError> {
    match buf {
        [b'\r', b'\n', ..] => Ok(Some(2)),
        [b'\r'] | [] => Ok(None),
        [b'\r', ..] => Err(HeaderFault::BareCr.into()),
        [b'\n', ..] => Err(HeaderFault::BareLf.into()),
        _ => Ok(Some(0)),
    }
}

/// Parses the method and returns it with the start of the target.
#[inline]
fn parse_method(buf: &[u8], start: usize) -> Result<Option<(Method, usize)>, RequestError> {
    if let Some(word) = buf.get(start..).and_then(|rest| rest.first_chunk())
        && u32::from_le_bytes(*word) == u32::from_le_bytes(*b"GET ")
    {
        return Ok(Some((Method::Get, start + 4)));
    }
    parse_any_method(buf, start)
}

fn parse_any_method(buf: &[u8], start: usize) -> Result<Option<(Method, usize)>, RequestError> {
    let end = find_token_end(buf, start);
    if end - start > Method::BYTES_MAX {
        return Err(RequestError::MethodTooLong);
    }
    match buf.get(end) {
        None => Ok(None),
        Some(b' ') if end > start => {
            let span = Span::new(start, end);
            Ok(Some((Method::known(span.of(buf)).unwrap_or(Method::Other(span)), end + 1)))
        }
        Some(b' ') => Err(RequestError::RequestLineSpace),
        Some(b'\n') => Err(HeaderFault::BareLf.into()),
        Some(_) => Err(RequestError::MethodByte),
    }
}

/// Parses the version and returns it with the start of the header lines.
#[inline]
fn parse_version(buf: &[u8], start: usize) -> Result<Option<(Version, usize)>, RequestError> {
    let rest = buf.get(start..).unwrap_or_default();
    let Some(line) = rest.first_chunk::<10>() else { return unfinished_version(rest) };
    let [.., cr, lf] = *line;
    if [cr, lf] == *b"\r\n"
        && let Some(name) = line.first_chunk()
    {
        let name = u64::from_le_bytes(*name);
        if name == u64::from_le_bytes(*b"HTTP/1.1") {
            return Ok(Some((Version::Http11, start + 10)));
        }
        if name == u64::from_le_bytes(*b"HTTP/1.0") {
            return Ok(Some((Version::Http10, start + 10)));
        }
    }
    match line {
        // A later minor version counts as the latest known one (RFC 9110 section 2.5).
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9', b'\r', b'\n'] => {
            Ok(Some((Version::Http11, start + 10)))
        }
        _ => Err(wrong_version(line)),
    }
}

/// Accepts an incomplete end of the request line if it can still become valid.
fn unfinished_version(rest: &[u8]) -> Result<Option<(Version, usize)>, RequestError> {
    let agrees = |(byte, expected): (&u8, &u8)| {
        byte == expected || (byte.is_ascii_digit() && expected.is_ascii_digit())
    };
    if rest.iter().zip(b"HTTP/1.1\r\n").all(agrees) { Ok(None) } else { Err(wrong_version(rest)) }
}

fn wrong_version(line: &[u8]) -> RequestError {
    match line {
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor, last @ ..]
            if major.is_ascii_digit() && minor.is_ascii_digit() && !last.is_empty() =>
        {
            after_version(last)
        }
        [b' ', ..] => RequestError::RequestLineSpace,
        // A line that ends too early usually ends in a bare LF.
        _ => match line.iter().position(|b| *b == b'\n') {
            Some(at) if at == 0 || line[at - 1] != b'\r' => HeaderFault::BareLf.into(),
            _ => RequestError::VersionForm,
        },
    }
}

/// Returns the error of a line whose version is well-formed.
fn after_version(last: &[u8]) -> RequestError {
    match last {
        [b'\r', b'\n', ..] => RequestError::Version,
        [b' ', ..] => RequestError::RequestLineSpace,
        [b'\n', ..] => HeaderFault::BareLf.into(),
        [b'\r', ..] => HeaderFault::BareCr.into(),
        _ => RequestError::VersionForm,
    }
}

/// Returns the effective host. RFC 9112 section 3.2: exactly one valid Host in HTTP/1.1, at most one in 1.0;
/// an absolute target overrides it.
#[inline]
fn effective_host(
    buf: &[u8],
    target: &Target,
    version: Version,
    table: &HeaderTable,
) -> Result<Option<Span>, RequestError> {
    if table.repeats(KnownHeader::Host) {
        return Err(RequestError::SecondHost);
    }
    let host = table.find(KnownHeader::Host).map(HeaderEntry::value);
    match host {
        None if version == Version::Http11 => return Err(RequestError::NoHost),
        Some(host) if !is_authority_at(buf, host) => return Err(RequestError::Host),
        _ => {}
    }
    Ok(match target.form {
        TargetForm::Absolute | TargetForm::Authority => Some(target.authority),
        TargetForm::Origin | TargetForm::Asterisk => host,
    })
}

/// Removes the colon of a host without a port, such as `a:`.
#[inline]
fn without_empty_port(buf: &[u8], host: Span) -> Span {
    match host.of(buf) {
        [.., b':'] => Span { end: host.end - 1, ..host },
        _ => host,
    }
}

#[inline]
fn expects_continue(buf: &[u8], table: &HeaderTable) -> bool {
    table
        .find(KnownHeader::Expect)
        .is_some_and(|entry| entry.value().of(buf).eq_ignore_ascii_case(b"100-continue"))
}

/// Parses Max-Forwards: a single line of digits (RFC 9110 section 7.6.2).
#[inline]
fn max_forwards(buf: &[u8], method: &Method, table: &HeaderTable) -> Result<Option<u32>, RequestError> {
    if !matches!(method, Method::Options | Method::Trace) {
        return Ok(None);
    }
    let Some(entry) = table.find(KnownHeader::MaxForwards) else { return Ok(None) };
    let digits = entry.value().of(buf);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if !is_number || table.repeats(KnownHeader::MaxForwards) {
        return Err(RequestError::MaxForwards);
    }
    // A saturated number has the same effect as a larger one.
    let add = |sum: u32, digit: &u8| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
    Ok(Some(digits.iter().fold(0, add)))
}

/// Returns the requested protocol, if it is a single one that can be tunnelled.
fn upgrade(buf: &[u8], table: &HeaderTable) -> Option<Span> {
    let value = table.find(KnownHeader::Upgrade)?.value();
    let text = value.of(buf);
    let single = !table.repeats(KnownHeader::Upgrade) && !text.is_empty() && !text.contains(&b',');
    let h2c = text.len() >= 2 && text[..2].eq_ignore_ascii_case(b"h2");
    (single && !h2c).then_some(value)
}
