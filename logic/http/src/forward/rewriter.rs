//! The header rules and the path rewrite of a route.

use std::fmt;

use super::name_set::NameSet;
use super::path::PathMap;
use crate::head::{scan::is_token_text, set};
use crate::{
    HeaderAction, HeaderRule, KnownHeader, PathRewrite, RouteHeaders, Template, TemplateError, Variables,
};

/// The compiled changes of a route to message heads.
#[derive(Debug, Clone)]
pub struct RouteRewriter {
    pub(super) path: PathMap,
    pub(super) request: LineRules,
    pub(super) response: LineRules,
}

/// The compiled header rules of one direction.
#[derive(Debug, Clone)]
pub(super) struct LineRules {
    /// Headers whose received lines are removed.
    pub(super) removed: NameSet,
    added: Vec<(Box<[u8]>, Template)>,
}

/// The reason why a route's rules cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewriteError {
    /// The name is not a valid header name.
    Name(String),
    /// Only Weir itself may write the header: it is part of the framing or hop-by-hop.
    Reserved(String),
    /// A rule adds or removes Host; it can only be set.
    Host,
    /// The value for this header is not a valid template.
    Value(String, TemplateError),
}

const RESERVED: u64 = set(&[
    KnownHeader::Connection,
    KnownHeader::KeepAlive,
    KnownHeader::ProxyConnection,
    KnownHeader::Te,
    KnownHeader::Trailer,
    KnownHeader::TransferEncoding,
    KnownHeader::ContentLength,
    KnownHeader::Upgrade,
    KnownHeader::Http2Settings,
    KnownHeader::Expect,
]);

impl RouteRewriter {
    /// Compiles the rewrite and the header rules of a route.
    pub fn compile(rewrite: Option<&PathRewrite>, headers: &RouteHeaders) -> Result<Self, RewriteError> {
        Ok(Self {
            path: PathMap::new(rewrite),
            request: LineRules::compile(&headers.request, NameSet::of_cgi_names())?,
            response: LineRules::compile(&headers.response, NameSet::new())?,
        })
    }

    /// Creates a rewriter that changes nothing.
    pub fn none() -> Self {
        Self { path: PathMap::Keep, request: LineRules::none(), response: LineRules::none() }
    }

    /// Returns true if the response needs [`super::ResponseContext::request`].
    pub fn needs_request(&self) -> bool {
        self.path.maps_prefix()
            || self.request.host().is_some()
            || self.response.added.iter().any(|(_, value)| value.needs_request())
    }
}

impl LineRules {
    fn none() -> Self {
        Self { removed: NameSet::new(), added: Vec::new() }
    }

    /// Compiles the rules; `removed` is an empty set.
    fn compile(rules: &[HeaderRule], removed: NameSet) -> Result<Self, RewriteError> {
        let mut compiled = Self { removed, added: Vec::new() };
        for rule in rules {
            check_name(rule)?;
            let line = match &rule.action {
                HeaderAction::Set(value) | HeaderAction::Add(value) => Some(
                    Template::parse(value).map_err(|error| RewriteError::Value(rule.name.clone(), error))?,
                ),
                HeaderAction::Remove => None,
            };
            if !matches!(rule.action, HeaderAction::Add(_)) {
                compiled.removed.add(&rule.name);
                compiled.added.retain(|(name, _)| !name.eq_ignore_ascii_case(rule.name.as_bytes()));
            }
            if let Some(value) = line {
                compiled.added.push((rule.name.as_bytes().into(), value));
            }
        }
        Ok(compiled)
    }

    #[inline]
    pub(super) fn adds_any(&self) -> bool {
        !self.added.is_empty()
    }

    /// Returns the value that a rule sets Host to.
    pub(super) fn host(&self) -> Option<&Template> {
        if self.removed.known & KnownHeader::Host.bit() == 0 {
            return None;
        }
        let set = self.added.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
        set.map(|(_, value)| value)
    }

    pub(super) fn append_added(&self, out: &mut Vec<u8>, variables: &Variables<'_>) {
        for (name, value) in &self.added {
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            value.expand(out, variables);
            out.extend_from_slice(b"\r\n");
        }
    }
}

fn check_name(rule: &HeaderRule) -> Result<(), RewriteError> {
    let name = rule.name.as_bytes();
    // `*` is a token character, but at the end of a name it marks a prefix elsewhere.
    if !is_token_text(name) || name.ends_with(b"*") {
        return Err(RewriteError::Name(rule.name.clone()));
    }
    match KnownHeader::of_name(name) {
        known if known.bit() & RESERVED != 0 => Err(RewriteError::Reserved(rule.name.clone())),
        KnownHeader::Host if !matches!(rule.action, HeaderAction::Set(_)) => Err(RewriteError::Host),
        _ => Ok(()),
    }
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?} is not a header name"),
            Self::Reserved(name) => {
                write!(f, "{name} frames the message or belongs to one connection: no rule can change it")
            }
            Self::Host => f.write_str("Host can be set, but neither added nor removed"),
            Self::Value(name, error) => write!(f, "value of {name}: {error}"),
        }
    }
}

impl std::error::Error for RewriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Value(_, error) => Some(error),
            _ => None,
        }
    }
}
