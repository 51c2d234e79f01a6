//! The key of a request for algorithms of the hash family.

use std::borrow::Cow;

use serde::Serialize;

use crate::expression::{Expression, ExpressionError, ExpressionUse};
use crate::{KnownHeader, RouteRequest, split_authority};

/// The part of a request that keeps related requests on one server. Requests without this part are
/// distributed by round robin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKey {
    /// A part of the request target.
    Uri(UriPart),
    /// The host as routes match it: in lower case, without port.
    Host,
    /// The path without query.
    Path,
    /// The value of the first query parameter with this name.
    UrlParam(String),
    /// The first element of the first header line with this name.
    Header {
        /// Name of the header, in any case.
        name: String,
        /// True to use only the label before the last dot of a host name: `example` for `www.example.org`.
        domain_only: bool,
    },
    /// The value of the first cookie with this name.
    Cookie(String),
    /// The value of an expression: a string, bytes, a number or a bool. Other values and errors yield no key.
    Expression(String),
}

/// The part of the request target to use (HAProxy's `balance uri`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct UriPart {
    /// Maximum number of bytes.
    pub bytes_max: Option<u32>,
    /// Maximum number of directories, each of which ends with a slash.
    pub depth: Option<u32>,
    /// True to include the query.
    pub whole: bool,
    /// True to begin at the path if the target has a scheme and an authority.
    pub path_only: bool,
}

/// A compiled [`RequestKey`].
#[derive(Debug)]
pub struct RequestKeyReader {
    key: RequestKey,
    expression: Option<Expression>,
}

impl RequestKeyReader {
    /// Compiles the expression, if the key is one.
    pub fn compile(key: &RequestKey) -> Result<Self, ExpressionError> {
        let expression = match key {
            RequestKey::Expression(text) => Some(Expression::compile(text, ExpressionUse::Key)?),
            _ => None,
        };
        Ok(Self { key: key.clone(), expression })
    }

    /// Returns the bytes of the key, if the request has it. `target` is the target of the request line. Its
    /// path is used in the form that rules compare, so that other spellings give the same key.
    pub fn read<'a>(&self, request: &RouteRequest<'a>, target: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        match &self.key {
            RequestKey::Uri(part) if request.path == request.forwarded_path => {
                Some(Cow::Borrowed(part.of(target)))
            }
            RequestKey::Uri(part) => Some(Cow::Owned(part.of(&compared_target(request, target)).to_vec())),
            RequestKey::Host => host(request),
            RequestKey::Path => Some(Cow::Borrowed(request.path)),
            RequestKey::UrlParam(name) => url_param(request.query?, name.as_bytes()).map(Cow::Borrowed),
            RequestKey::Header { name, domain_only } => {
                let line = request.headers.named(request.buf, name.as_bytes()).next()?;
                let value =
                    Some(first_element(line.value().of(request.buf))).filter(|value| !value.is_empty())?;
                Some(Cow::Borrowed(if *domain_only { domain(value) } else { value }))
            }
            RequestKey::Cookie(name) => cookie(request, name.as_bytes()).map(Cow::Borrowed),
            RequestKey::Expression(_) => self.expression.as_ref()?.evaluate_key(request).map(Cow::Owned),
        }
    }
}

impl UriPart {
    fn of<'a>(&self, target: &'a [u8]) -> &'a [u8] {
        let target = if self.path_only { from_path(target) } else { target };
        let longest = self.bytes_max.map_or(target.len(), |max| target.len().min(max as usize));
        let mut slashes_left = self.depth.map(|depth| depth.saturating_add(1));
        let is_end = |byte: &u8| match byte {
            b'/' => {
                let Some(left) = &mut slashes_left else { return false };
                *left -= 1;
                *left == 0
            }
            b'?' => !self.whole,
            _ => false,
        };
        let end = target[..longest].iter().position(is_end).unwrap_or(longest);
        &target[..end]
    }
}

/// Returns the target with its path in the form that rules compare.
fn compared_target(request: &RouteRequest<'_>, target: &[u8]) -> Vec<u8> {
    let sent = from_path(target);
    let before = &target[..target.len() - sent.len()];
    let behind = sent.get(request.forwarded_path.len()..).unwrap_or_default();
    [before, request.path, behind].concat()
}

/// Returns the target without scheme and authority; empty if nothing follows these.
fn from_path(target: &[u8]) -> &[u8] {
    if matches!(target, [b'/' | b'*', ..]) {
        return target;
    }
    let authority = target.windows(3).position(|three| three == b"://").map_or(0, |at| at + 3);
    let slash = target[authority..].iter().position(|byte| *byte == b'/');
    slash.map_or(&[], |at| &target[authority + at..])
}

fn host<'a>(request: &RouteRequest<'a>) -> Option<Cow<'a, [u8]>> {
    let (host, _) = split_authority(request.host)?;
    let host = Some(host).filter(|host| !host.is_empty())?;
    Some(if host.iter().any(u8::is_ascii_uppercase) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    })
}

fn url_param<'a>(query: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = |parameter: &'a [u8]| parameter.strip_prefix(name)?.strip_prefix(b"=");
    query.split(|byte| *byte == b'&').find_map(value)
}

fn cookie<'a>(request: &RouteRequest<'a>, name: &[u8]) -> Option<&'a [u8]> {
    let lines = request.headers.all(KnownHeader::Cookie).map(|line| line.value().of(request.buf));
    let value = |pair: &'a [u8]| pair.trim_ascii().strip_prefix(name)?.trim_ascii_start().strip_prefix(b"=");
    let found = lines.flat_map(|line| line.split(|byte| *byte == b';')).find_map(value)?;
    Some(found.trim_ascii()).filter(|value| !value.is_empty())
}

/// Returns the value up to the first comma outside of quotes.
fn first_element(value: &[u8]) -> &[u8] {
    let (mut quoted, mut escaped) = (false, false);
    let is_end = |byte: &u8| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return true,
            _ => {}
        }
        false
    };
    let end = value.iter().position(is_end).unwrap_or(value.len());
    value[..end].trim_ascii()
}

/// Returns the label before the last dot, as HAProxy's `use_domain_only` does; all of a name without a dot.
fn domain(host: &[u8]) -> &[u8] {
    let last_dot = |text: &[u8]| text.iter().rposition(|byte| *byte == b'.');
    let Some(end) = last_dot(host).filter(|end| *end > 0) else { return host };
    // The label has at least one byte, even if that is a dot.
    let start = last_dot(&host[..end - 1]).map_or(0, |dot| dot + 1);
    &host[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(part: UriPart, target: &str) -> String {
        String::from_utf8(part.of(target.as_bytes()).to_vec()).unwrap()
    }

    #[test]
    fn a_uri_counts_up_to_its_query_length_or_depth() {
        let all = UriPart::default();
        assert_eq!(uri(all, "/a/b?c=d"), "/a/b");
        assert_eq!(uri(all, "http://h/a?b"), "http://h/a");
        assert_eq!(uri(UriPart { whole: true, ..all }, "/a/b?c=d/e"), "/a/b?c=d/e");
        assert_eq!(uri(UriPart { bytes_max: Some(3), ..all }, "/a/b?c=d"), "/a/");
        assert_eq!(uri(UriPart { bytes_max: Some(99), ..all }, "/a"), "/a");
        let deep = |depth| UriPart { depth: Some(depth), ..all };
        assert_eq!(uri(deep(1), "/a/b/c"), "/a");
        assert_eq!(uri(deep(2), "/a/b/c"), "/a/b");
        assert_eq!(uri(deep(9), "/a/b/c"), "/a/b/c");
        assert_eq!(uri(deep(u32::MAX), "/a/b/c"), "/a/b/c");
    }

    #[test]
    fn a_path_begins_behind_the_authority() {
        let path = UriPart { path_only: true, ..UriPart::default() };
        assert_eq!(uri(path, "http://h:80/a/b?c"), "/a/b");
        assert_eq!(uri(path, "/a/b"), "/a/b");
        assert_eq!(uri(path, "*"), "*");
        assert_eq!(uri(path, "http://h"), "");
    }

    #[test]
    fn a_parameter_is_found_by_its_whole_name() {
        let of = |query: &'static str| url_param(query.as_bytes(), b"id");
        assert_eq!(of("a=1&id=7&id=8"), Some(&b"7"[..]));
        assert_eq!(of("idx=1&xid=2"), None);
        assert_eq!(of("id="), Some(&b""[..]));
        assert_eq!(of("id"), None);
        assert_eq!(of("id=a?b/c"), Some(&b"a?b/c"[..]));
    }

    #[test]
    fn of_a_list_the_first_element_counts() {
        assert_eq!(first_element(b"a , b"), b"a");
        assert_eq!(first_element(b"\"a, \\\"b\", c"), b"\"a, \\\"b\"");
        assert_eq!(first_element(b"alone"), b"alone");
        assert_eq!(first_element(b", b"), b"");
    }

    #[test]
    fn a_domain_is_the_label_before_the_last_dot() {
        let of = |host: &'static str| std::str::from_utf8(domain(host.as_bytes())).unwrap();
        assert_eq!(of("www.example.org"), "example");
        assert_eq!(of("example.org:8080"), "example");
        assert_eq!(of("localhost"), "localhost");
        assert_eq!(of("10.1.2.3"), "2");
        assert_eq!(of(".org"), ".org");
        assert_eq!(of("a..org"), "a.");
    }
}
