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

/// A request head (RFC 9112 section 3). Its header lines are in the [`HeaderTable`] that was filled with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead {
    /// What is asked for.
    pub method: Method,
    /// Of what.
    pub target: Target,
    /// The client's version.
    pub version: Version,
    /// The host that counts, with its port if it has one: the target's authority, else the Host line (RFC 9112 section
    /// 3.2.2). `None` only in HTTP/1.0.
    pub host: Option<Span>,
    /// How the body ends; never [`Framing::UntilClose`].
    pub framing: Framing,
    /// The client is willing to send another request on this connection.
    pub keep_alive: bool,
    /// The client waits for `100 Continue` before the body.
    pub expect_continue: bool,
    /// The client asks to change to this protocol, behind the body if there is one: Upgrade and `Connection: upgrade` in an HTTP/1.1
    /// request. Never h2c (a tunnel would pass requests that no rule has seen).
    pub upgrade: Option<Span>,
    /// How often a TRACE or OPTIONS may yet be forwarded (RFC 9110 section 7.6.2); `None` = as often as need be. Not read
    /// in requests of other methods.
    pub max_forwards: Option<u32>,
    /// Connection names fields to remove.
    pub nominates: bool,
    /// What servers get in another form than it came in.
    pub repairs: Repairs,
    /// Where the request line starts: 0, or 2 after an empty line that some clients send after a body.
    pub start: u32,
    /// Bytes up to and with the empty line; the body starts here.
    pub head_bytes: u32,
}

impl RequestHead {
    /// Where the header lines start.
    pub(crate) const fn lines_start(&self) -> u32 {
        // Behind the target stand a space, the version and CR LF.
        self.target.span.end + 11
    }
}

/// Parts of a head that may stand as they do, and that are written in their usual form nonetheless: readers differ about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// The version is a later one than HTTP/1.1.
    pub version: bool,
    /// The host has a colon and no port.
    pub host: bool,
    /// The length has zeros in front of it, or other whitespace around it than one space in front.
    pub content_length: bool,
    /// Transfer-Encoding stands in another form than `chunked` behind one space. Of responses only: in requests it is always written anew.
    pub transfer_encoding: bool,
}

/// Reads the request head at the start of `buf`. `Ok(None)`: it has not all come yet; limits are enforced nonetheless.
/// `table` holds its header lines afterwards.
pub fn parse_request(
    buf: &[u8],
    limits: &HeadLimits,
    table: &mut HeaderTable,
) -> Result<Option<RequestHead>, RequestError> {
    // Only what a head may have is looked at, so that the verdict does not depend on how much came at once.
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

/// The method and where the target starts.
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

/// The version and where the header lines start.
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
        // A later version of the same major one is read as the latest that is known (RFC 9110 section 2.5).
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9', b'\r', b'\n'] => {
            Ok(Some((Version::Http11, start + 10)))
        }
        _ => Err(wrong_version(line)),
    }
}

/// The end of the request line has not all come.
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
        // A line that ends too early ends mostly in a bare LF.
        _ => match line.iter().position(|b| *b == b'\n') {
            Some(at) if at == 0 || line[at - 1] != b'\r' => HeaderFault::BareLf.into(),
            _ => RequestError::VersionForm,
        },
    }
}

/// What is wrong with a line whose version has the right form.
fn after_version(last: &[u8]) -> RequestError {
    match last {
        [b'\r', b'\n', ..] => RequestError::Version,
        [b' ', ..] => RequestError::RequestLineSpace,
        [b'\n', ..] => HeaderFault::BareLf.into(),
        [b'\r', ..] => HeaderFault::BareCr.into(),
        _ => RequestError::VersionForm,
    }
}

/// RFC 9112 section 3.2: exactly one valid Host in HTTP/1.1, at most one in 1.0; an absolute target overrules it.
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

/// The host of `a:`, which has no port, is `a`.
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

/// RFC 9110 section 7.6.2: digits, once.
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
    // The largest number that is kept is as good as any larger one.
    let add = |sum: u32, digit: &u8| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
    Ok(Some(digits.iter().fold(0, add)))
}

/// The protocol asked for, if it is one protocol and can be tunnelled.
fn upgrade(buf: &[u8], table: &HeaderTable) -> Option<Span> {
    let value = table.find(KnownHeader::Upgrade)?.value();
    let text = value.of(buf);
    let single = !table.repeats(KnownHeader::Upgrade) && !text.is_empty() && !text.contains(&b',');
    let h2c = text.len() >= 2 && text[..2].eq_ignore_ascii_case(b"h2");
    (single && !h2c).then_some(value)
}
