//! Directory listing as a JSON document.

use serde_json::json;
use weir_dav::date::rfc3339;
use weir_dav::path::DavPath;
use weir_storage::Entry;

use super::Page;
use crate::place::Place;

/// A JSON page: `{ "path": "/data/", "entries": [{ "name": ..., "href": ..., "type": "file", "size": ...,
/// "modified": ... }] }`
pub(super) struct Json {
    directory: DavPath,
    is_first: bool,
}

impl Json {
    pub(super) fn new(place: &Place) -> Self {
        Self { directory: place.full.clone(), is_first: true }
    }
}

impl Page for Json {
    fn begin(&self, out: &mut String) {
        out.push_str(&format!("{{\"path\":{},\"entries\":[", json!(self.directory.href(true))));
    }

    fn entry(&mut self, out: &mut String, entry: &Entry) {
        let Ok(path) = self.directory.join(&entry.name) else { return };
        let is_directory = entry.metadata.is_directory();
        let mut object = json!({
            // For display only: bytes that are not UTF-8 are replaced. The href is exact.
            "name": String::from_utf8_lossy(&entry.name),
            "href": path.href(is_directory),
            "type": if is_directory { "directory" } else { "file" },
            "modified": rfc3339(entry.metadata.modified.seconds),
        });
        if !is_directory {
            object["size"] = json!(entry.metadata.size);
        }
        if !std::mem::take(&mut self.is_first) {
            out.push(',');
        }
        out.push('\n');
        out.push_str(&object.to_string());
    }

    fn end(&self, out: &mut String) {
        out.push_str("\n]}\n");
    }
}
