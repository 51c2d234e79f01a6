//! Prints patterns of hosts and URL paths in the syntax of the file.

use toml::Value;
use weir_http::{HostPattern, PathPattern};

use super::writer::{Spelled, table};

/// Returns a host in the syntax of the file.
pub fn host_text(host: &HostPattern) -> String {
    match host {
        HostPattern::Exact(host) => host.clone(),
        HostPattern::Wildcard(suffix) => format!("*{suffix}"),
    }
}

/// Returns a path in the syntax of the file.
pub fn path_text(pattern: &PathPattern) -> String {
    match path(pattern) {
        Value::String(text) => text,
        table => table.to_string(),
    }
}

/// Returns a path pattern as a text, or as a table if the text would mean another pattern.
pub(crate) fn path(path: &PathPattern) -> Value {
    let wild = |path: &str| path.contains(['*', '?']);
    match path {
        PathPattern::Exact(path) => format!("={path}").spelled(),
        PathPattern::Prefix(path) if wild(path) => table([("prefix", Some(path.spelled()))]),
        PathPattern::Glob(glob) if !wild(glob) => table([("glob", Some(glob.spelled()))]),
        PathPattern::Prefix(path) | PathPattern::Glob(path) => path.spelled(),
    }
}
