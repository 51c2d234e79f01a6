//! Metrics of storage areas.

use weir_control::{MethodsSnapshot, StorageSnapshot};

use super::family::{Family, responses, whole};
use super::text::{Labels, Text, Value};

const FAMILIES: &[Family<StorageSnapshot>] = &[
    Family::gauge("weir_storage_used_bytes", "Bytes that files take up, by their lengths.", |s| {
        s.used.map(Value::Whole)
    }),
    Family::gauge("weir_storage_files", "Files.", |s| s.files.map(Value::Whole)),
    Family::gauge("weir_storage_quota_bytes", "Bytes that files may take up.", |s| s.quota.map(Value::Whole)),
    Family::gauge(
        "weir_storage_available_bytes",
        "Bytes that may still come: what is left of the quota, or of the file system if that is less.",
        |s| s.available.map(Value::Whole),
    ),
    Family::gauge(
        "weir_storage_counted_timestamp_seconds",
        "When the files were counted last, in seconds since 1970.",
        |s| s.counted_unix_s.map(Value::Whole),
    ),
    Family::gauge("weir_storage_threads_busy", "Threads that are at work at the disk.", |s| {
        whole(s.threads_busy)
    }),
    Family::gauge("weir_storage_calls_waiting", "Calls that wait for a thread.", |s| whole(s.calls_waiting)),
];

const METHODS: &[Family<MethodsSnapshot>] = &[
    Family::counter("weir_storage_aborts", "Requests whose answer did not go out whole.", |m| {
        whole(m.aborted)
    }),
    Family::counter("weir_storage_request_bytes", "Bytes of bodies from clients.", |m| {
        whole(m.request_bytes)
    }),
    Family::counter("weir_storage_response_bytes", "Bytes of bodies to clients.", |m| {
        whole(m.response_bytes)
    }),
];

pub(super) fn write(text: &mut Text, areas: &[StorageSnapshot]) {
    let things: Vec<_> = areas.iter().map(|area| (Labels::of(&[("area", &area.name)]), area)).collect();
    for family in FAMILIES {
        family.write(text, &things);
    }
    let methods: Vec<_> = areas
        .iter()
        .flat_map(|area| area.methods.iter().map(move |methods| (area, methods)))
        .map(|(area, methods)| (Labels::of(&[("area", &area.name), ("methods", &methods.kind)]), methods))
        .collect();
    responses(
        text,
        "weir_storage_responses",
        "Answers by class of status and kind of method: read (GET, HEAD), write (PUT, PATCH, POST), list (PROPFIND), change (DELETE, MKCOL, COPY, MOVE, PROPPATCH), lock, other.",
        &methods,
        |m| &m.responses,
    );
    for family in METHODS {
        family.write(text, &methods);
    }
}
