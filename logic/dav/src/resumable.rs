//! Resumable uploads (draft-ietf-httpbis-resumable-upload-11): request headers, limits and problem documents.

use std::fmt::Write as _;

use crate::text::{exact_number, trim};

/// Media type of a PATCH that appends to an upload resource (section 6 of the draft).
pub const PARTIAL_UPLOAD: &[u8] = b"application/partial-upload";

/// Media type of [`Problem::document`] (RFC 9457).
pub const PROBLEM_TYPE: &str = "application/problem+json";

/// Status of the interim response with the URL at which the client can resume its upload.
pub const RESUMPTION_SUPPORTED: u16 = 104;

/// Largest integer of a structured field (RFC 9651 section 3.3.1).
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// The upload headers of a request. A header that cannot be parsed counts as absent (section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UploadHeaders {
    /// True if the body ends the content (Upload-Complete).
    pub complete: Option<bool>,
    /// Position of the body in the content (Upload-Offset).
    pub offset: Option<u64>,
    /// Length of the whole content in bytes (Upload-Length).
    pub length: Option<u64>,
}

impl UploadHeaders {
    /// Parses the values of Upload-Complete, Upload-Offset and Upload-Length.
    pub fn read(complete: Option<&[u8]>, offset: Option<&[u8]>, length: Option<&[u8]>) -> Self {
        Self {
            complete: complete.and_then(boolean),
            offset: offset.and_then(integer),
            length: length.and_then(integer),
        }
    }

    /// Returns the length of the whole content according to this request, if it is known (section 4.1.3). The
    /// body has `body_bytes` and begins at `offset`.
    ///
    /// # Errors
    /// If Upload-Length and the length of the final body contradict each other.
    pub fn content_length(
        &self,
        offset: u64,
        body_bytes: Option<u64>,
    ) -> Result<Option<u64>, InconsistentLength> {
        let of_body = match (self.complete, body_bytes) {
            (Some(true), Some(bytes)) => Some(offset.saturating_add(bytes)),
            _ => None,
        };
        agree(self.length, of_body)
    }
}

/// Two sources give different lengths for the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InconsistentLength;

/// Returns the length that one or both sources give.
///
/// # Errors
/// If the two lengths differ.
pub fn agree(one: Option<u64>, other: Option<u64>) -> Result<Option<u64>, InconsistentLength> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(InconsistentLength),
        (one, other) => Ok(one.or(other)),
    }
}

/// Returns the value of Upload-Complete.
pub const fn complete(complete: bool) -> &'static str {
    if complete { "?1" } else { "?0" }
}

/// Limits of an upload (section 4.1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UploadLimit {
    /// Maximum length of the whole content in bytes.
    pub size_max: Option<u64>,
    /// Seconds until the server discards the upload.
    pub age_max_s: Option<u64>,
}

impl UploadLimit {
    /// Returns the value of Upload-Limit, which must not be empty.
    pub fn to_text(self) -> String {
        let mut text = String::new();
        let members = [("max-size", self.size_max), ("max-age", self.age_max_s)];
        for (key, value) in members {
            if let Some(value) = value {
                let comma = if text.is_empty() { "" } else { ", " };
                // Writing to a String cannot fail.
                let _ = write!(text, "{comma}{key}={}", value.min(INTEGER_MAX));
            }
        }
        if text.is_empty() { "min-size=0".to_owned() } else { text }
    }
}

/// The reason why an upload cannot continue, in machine-readable form (section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The body does not begin at the end of the stored content.
    MismatchingOffset {
        /// Length of the stored content in bytes.
        expected: u64,
        /// Offset that the client sent.
        provided: u64,
    },
    /// The client has given different lengths of the content, or has sent more than it announced.
    InconsistentLength,
}

impl Problem {
    /// Returns the status.
    pub const fn status(self) -> u16 {
        match self {
            Self::MismatchingOffset { .. } => 409,
            Self::InconsistentLength => 400,
        }
    }

    /// Returns the problem document, of media type [`PROBLEM_TYPE`].
    pub fn document(self) -> String {
        const TYPES: &str = "https://iana.org/assignments/http-problem-types";
        match self {
            Self::MismatchingOffset { expected, provided } => format!(
                "{{\"type\":\"{TYPES}#mismatching-upload-offset\",\"title\":\"the upload has {expected} bytes, and the body begins \
                 at {provided}\",\"status\":409,\"expected-offset\":{expected},\"provided-offset\":{provided}}}\n"
            ),
            Self::InconsistentLength => format!(
                "{{\"type\":\"{TYPES}#inconsistent-upload-length\",\"title\":\"the lengths that were given for the upload \
                 contradict each other\",\"status\":400}}\n"
            ),
        }
    }
}

/// Parses a structured boolean (RFC 9651 section 3.3.6), without its parameters.
fn boolean(text: &[u8]) -> Option<bool> {
    match item(text)? {
        b"?1" => Some(true),
        b"?0" => Some(false),
        _ => None,
    }
}

/// Parses a structured integer that is not negative (RFC 9651 section 3.3.1), without its parameters.
fn integer(text: &[u8]) -> Option<u64> {
    let text = item(text)?;
    // At most 15 digits, leading zeros included.
    if text.len() > 15 { None } else { exact_number(text) }
}

/// Returns the value of an item, if the rest looks like parameters.
fn item(text: &[u8]) -> Option<&[u8]> {
    let text = trim(text);
    let end = text.iter().position(|byte| *byte == b';').unwrap_or(text.len());
    let sound = text.iter().all(|byte| (0x20..0x7F).contains(byte));
    let (value, parameters) = text.split_at(end);
    let named = parameters.get(1..).is_none_or(|rest| trim(rest).first().is_some_and(u8::is_ascii_lowercase));
    (sound && named).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_structured_fields_and_others_are_none() {
        let read = |complete: &str, number: &str| {
            let headers = UploadHeaders::read(
                Some(complete.as_bytes()),
                Some(number.as_bytes()),
                Some(number.as_bytes()),
            );
            (headers.complete, headers.offset)
        };
        assert_eq!(read("?1", "0"), (Some(true), Some(0)));
        assert_eq!(read(" ?0;a=1 ", "12; b"), (Some(false), Some(12)));
        assert_eq!(read("?2", "-1"), (None, None));
        assert_eq!(read("true", "1.0"), (None, None));
        assert_eq!(read("?1, ?0", "1, 2"), (None, None));
        assert_eq!(read("", ""), (None, None));
        assert_eq!(read("?1;", "999999999999999"), (None, Some(INTEGER_MAX)));
        assert_eq!(read("?1;A", "1000000000000000").1, None);
    }

    #[test]
    fn the_length_is_what_all_say() {
        let headers = |complete, length| UploadHeaders { complete, offset: None, length };
        assert_eq!(headers(Some(true), None).content_length(10, Some(5)), Ok(Some(15)));
        assert_eq!(headers(Some(false), None).content_length(10, Some(5)), Ok(None));
        assert_eq!(headers(Some(false), Some(99)).content_length(10, Some(5)), Ok(Some(99)));
        assert_eq!(headers(Some(true), Some(15)).content_length(10, Some(5)), Ok(Some(15)));
        assert_eq!(headers(Some(true), Some(14)).content_length(10, Some(5)), Err(InconsistentLength));
        assert_eq!(headers(Some(true), Some(14)).content_length(10, None), Ok(Some(14)));
        assert_eq!(agree(Some(1), Some(2)), Err(InconsistentLength));
    }

    #[test]
    fn limits_always_say_something() {
        assert_eq!(UploadLimit::default().to_text(), "min-size=0");
        let limit = UploadLimit { size_max: Some(u64::MAX), age_max_s: Some(60) };
        assert_eq!(limit.to_text(), "max-size=999999999999999, max-age=60");
    }

    #[test]
    fn problems_are_json() {
        insta::assert_snapshot!(Problem::MismatchingOffset { expected: 5, provided: 7 }.document());
        insta::assert_snapshot!(Problem::InconsistentLength.document());
    }
}
