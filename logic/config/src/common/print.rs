//! Prints values that several sections have.

use std::path::Path;

use toml::Value;
use weir_http::FixedResponse;

use super::writer::{Spelled, table};

/// Returns a path as text. Configs are UTF-8, so every path in them is too.
pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns a fixed response as a table.
pub(crate) fn response(response: &FixedResponse) -> Value {
    let FixedResponse { status, content_type, body } = response;
    let body = (!body.is_empty()).then(|| body.spelled());
    table([
        ("status", Some(status.spelled())),
        ("content-type", Some(content_type.spelled())),
        ("body", body),
    ])
}
