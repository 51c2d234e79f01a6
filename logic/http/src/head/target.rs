//! Parsing of request targets (RFC 9112 section 3.2).

use super::authority::{is_authority, split_authority};
use super::scan::{find_path_end, find_target_end};
use super::{Method, RequestError, Span};

/// A parsed request target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Form of the target.
    pub form: TargetForm,
    /// Complete target.
    pub span: Span,
    /// Host and port of the absolute or authority form; otherwise empty.
    pub authority: Span,
    /// Path without the query. Empty in authority form and in an absolute form that ends after the authority;
    /// `*` in asterisk form.
    pub path: Span,
    /// Query after the `?`.
    pub query: Option<Span>,
}

impl Target {
    /// Returns the path; `/` for an absolute form that ends after the authority.
    pub fn path_or_root<'a>(&self, buf: &'a [u8]) -> &'a [u8] {
        if self.form == TargetForm::Absolute && self.path.is_empty() { b"/" } else { self.path.of(buf) }
    }
}

/// The form of a request target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetForm {
    /// `/path?query`
    Origin,
    /// `http://host/path?query`
    Absolute,
    /// `host:port`, CONNECT only
    Authority,
    /// `*`, OPTIONS only
    Asterisk,
}

/// Parses the target at `from`. Returns `None` if it is incomplete.
pub(super) fn parse_target(
    buf: &[u8],
    from: usize,
    method: &Method,
    bytes_max: u32,
) -> Result<Option<Target>, RequestError> {
    let path_end = find_path_end(buf, from);
    let end = if buf.get(path_end) == Some(&b'?') { find_target_end(buf, path_end) } else { path_end };
    if end - from > bytes_max as usize {
        return Err(RequestError::TargetTooLong);
    }
    match buf.get(end) {
        None => return Ok(None),
        Some(b' ') if end > from => {}
        Some(b' ') => return Err(RequestError::RequestLineSpace),
        Some(b'\r') if end > from => return Err(RequestError::NoVersion),
        Some(b'\n') => return Err(RequestError::Header(super::HeaderFault::BareLf)),
        Some(_) => return Err(RequestError::TargetByte),
    }
    let span = Span::new(from, end);
    let query = (path_end < end).then(|| Span::new(path_end + 1, end));
    let origin = Target {
        form: TargetForm::Origin,
        span,
        authority: Span::EMPTY,
        path: Span::new(from, path_end),
        query,
    };
    if *method == Method::Connect {
        return authority_form(buf, span).map(Some);
    }
    match buf[from] {
        b'/' => Ok(Some(origin)),
        b'*' if end - from == 1 && *method == Method::Options => {
            Ok(Some(Target { form: TargetForm::Asterisk, ..origin }))
        }
        _ => absolute_form(buf, origin).map(Some),
    }
}

fn authority_form(buf: &[u8], span: Span) -> Result<Target, RequestError> {
    match split_authority(span.of(buf)) {
        Some((_, Some(_))) => {
            Ok(Target { form: TargetForm::Authority, span, authority: span, path: Span::EMPTY, query: None })
        }
        _ => Err(RequestError::Authority),
    }
}

fn absolute_form(buf: &[u8], origin: Target) -> Result<Target, RequestError> {
    let Target { span, path, query, .. } = origin;
    let before_query = path.of(buf);
    let scheme_bytes = if starts_without_case(before_query, b"http://") {
        7
    } else if starts_without_case(before_query, b"https://") {
        8
    } else {
        return Err(RequestError::TargetForm);
    };
    let start = span.start as usize + scheme_bytes;
    let end = path.end as usize;
    let slash = before_query[scheme_bytes..].iter().position(|b| *b == b'/').map_or(end, |at| start + at);
    let authority = Span::new(start, slash);
    if !is_authority(authority.of(buf)) {
        return Err(RequestError::Authority);
    }
    Ok(Target { form: TargetForm::Absolute, span, authority, path: Span::new(slash, end), query })
}

fn starts_without_case(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|t| t.eq_ignore_ascii_case(start))
}
