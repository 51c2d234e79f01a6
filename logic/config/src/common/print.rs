//! Prints values that several sections have.

use std::path::Path;

use toml::Value;
use weir_http::FixedResponse;

use super::writer::{Spelled, table};

/// A path; configs are UTF-8, and so is every path that came from one.
pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A fixed response as a table.
pub(crate) fn response(response: &FixedResponse) -> Value {
    let FixedResponse { status, content_type, body } = response;
    let body = (!body.is_empty()).then(|| body.spelled());
    table([
        ("status", Some(status.spelled())),
        ("content-type", Some(content_type.spelled())),
        ("body", body),
    ])
}
