//! Fuzzes the headers of resumable uploads and the names of upload resources.

use weir_dav::resumable::{Problem, UploadHeaders, UploadLimit, complete};
use weir_storage::PartialId;

/// Runs the target on one input; panics if a property does not hold.
pub fn run(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let [complete_text, offset, length] = std::array::from_fn(|_| parts.next());
    let headers = UploadHeaders::read(complete_text, offset, length);
    for number in [headers.offset, headers.length].into_iter().flatten() {
        assert!(number < 1_000_000_000_000_000);
        // A written number parses to the same number.
        let written = number.to_string();
        let again = UploadHeaders::read(None, Some(written.as_bytes()), Some(written.as_bytes()));
        assert_eq!((again.offset, again.length), (Some(number), Some(number)));
    }
    if let Some(is_complete) = headers.complete {
        let again = UploadHeaders::read(Some(complete(is_complete).as_bytes()), None, None);
        assert_eq!(again.complete, Some(is_complete));
    }
    let offset = headers.offset.unwrap_or(u64::MAX);
    if let Ok(Some(length)) = headers.content_length(offset, headers.length) {
        assert!(headers.length.is_none_or(|said| said == length));
    }
    let text = UploadLimit { size_max: headers.length, age_max_s: headers.offset }.to_text();
    assert!(!text.is_empty() && text.is_ascii());
    let problem = Problem::MismatchingOffset { expected: offset, provided: headers.length.unwrap_or(0) };
    assert!(problem.document().starts_with('{'));
    if let Some(id) = PartialId::parse(data) {
        assert_eq!(id.to_string().as_bytes(), data);
    }
}
