//! Data of a log line, whatever its format, and the rules that all formats share.

use std::net::IpAddr;

use weir_balance::RequestClass;
use weir_config::simulation::LoggedTimes;
use weir_http::{PathPattern, PathRules, PathSet};

use crate::client::client_address;
use crate::rng::hash;

/// Data of a request in a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Arrival time since any fixed moment.
    pub(crate) at_ns: u64,
    /// True if the arrival time has no fraction of a second.
    pub(crate) is_coarse: bool,
    /// Time that its server took, up to the point that the replay selects.
    pub(crate) service_ns: Option<u64>,
    /// Number of bytes sent.
    pub(crate) bytes: Option<u64>,
    pub(crate) client: Option<IpAddr>,
    /// Hash of the requested URI.
    pub(crate) uri: Option<u64>,
    /// Class of work at the server, if the pool defines classes and the line has a target.
    pub(crate) class: Option<RequestClass>,
}

/// Kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Entry(Entry),
    /// A request that never reached a server: it was answered or refused before.
    NoServer,
    /// Names of columns.
    Heading,
}

/// Rules that apply to all formats.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) times: LoggedTimes,
    /// Paths of requests for which servers fetch; `None` = not needed.
    static_paths: Option<PathSet>,
}

impl Rules {
    pub(super) fn new(times: LoggedTimes, static_paths: &[PathPattern]) -> Self {
        // The config has already rejected patterns that do not compile.
        let static_paths = PathSet::compile(static_paths, Some(&PathRules::default()))
            .ok()
            .filter(|paths| !paths.is_empty());
        Self { times, static_paths }
    }

    /// Returns the class of work by the proxy's rule; a line without a method counts as a GET.
    pub(super) fn class(&self, method: Option<&str>, target: &str) -> Option<RequestClass> {
        let paths = self.static_paths.as_ref()?;
        uri(target)?;
        let fetches = method.is_none_or(|method| matches!(method, "GET" | "HEAD"));
        let path = target.split('?').next().unwrap_or(target);
        let normal = PathRules::default().normalize(path.as_bytes());
        let is_static = fetches && normal.is_ok_and(|path| paths.matches(path.compared()));
        Some(if is_static { RequestClass::Static } else { RequestClass::Dynamic })
    }

    /// Returns the class of work of `METHOD target VERSION`.
    pub(super) fn class_of(&self, request: &str) -> Option<RequestClass> {
        let mut words = request.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        self.class(Some(method), target)
    }
}

/// Parses a client from a log: an address, or a name that is hashed to one.
pub(super) fn client(text: &str) -> Option<IpAddr> {
    match text {
        "" | "-" | "unix:" => None,
        text => Some(text.parse().unwrap_or_else(|_| client_address(hash(text.as_bytes())))),
    }
}

/// Returns a hash of the URI.
pub(super) fn uri(text: &str) -> Option<u64> {
    (!text.is_empty() && text != "-").then(|| hash(text.as_bytes()))
}

/// Returns the hash of the target within `METHOD target VERSION`.
pub(super) fn target(request: &str) -> Option<u64> {
    uri(request.split(' ').nth(1)?)
}
