//! Prints patterns of hosts and of URL paths as the file spells them.

use toml::Value;
use weir_http::{HostPattern, PathPattern};

use super::writer::{Spelled, table};

/// A host as the file spells it.
pub fn host_text(host: &HostPattern) -> String {
    match host {
        HostPattern::Exact(host) => host.clone(),
        HostPattern::Wildcard(suffix) => format!("*{suffix}"),
    }
}

/// A path as the file spells it.
pub fn path_text(pattern: &PathPattern) -> String {
    match path(pattern) {
        Value::String(text) => text,
        table => table.to_string(),
    }
}

/// A path pattern: a text, or a table where a text would mean another pattern.
pub(crate) fn path(path: &PathPattern) -> Value {
    let wild = |path: &str| path.contains(['*', '?']);
    match path {
        PathPattern::Exact(path) => format!("={path}").spelled(),
        PathPattern::Prefix(path) if wild(path) => table([("prefix", Some(path.spelled()))]),
        PathPattern::Glob(glob) if !wild(glob) => table([("glob", Some(glob.spelled()))]),
        PathPattern::Prefix(path) | PathPattern::Glob(path) => path.spelled(),
    }
}
