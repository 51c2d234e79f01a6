//! Resumable uploads (draft-ietf-httpbis-resumable-upload-11): what their headers say, and what is answered.

use std::fmt::Write as _;

use crate::text::{exact_number, trim};

/// The media type of what a PATCH of an upload resource appends (section 6 of the draft).
pub const PARTIAL_UPLOAD: &[u8] = b"application/partial-upload";

/// The media type of [`Problem::document`] (RFC 9457).
pub const PROBLEM_TYPE: &str = "application/problem+json";

/// The status of the interim answer that tells a client where its upload can be resumed.
pub const RESUMPTION_SUPPORTED: u16 = 104;

/// The largest integer of a structured field (RFC 9651 section 3.3.1).
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// What the headers of a request say of an upload. A header that cannot be read is as good as none (section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UploadHeaders {
    /// Upload-Complete: whether the body is the end of the content.
    pub complete: Option<bool>,
    /// Upload-Offset: where the body begins in the content.
    pub offset: Option<u64>,
    /// Upload-Length: bytes of the whole content.
    pub length: Option<u64>,
}

impl UploadHeaders {
    /// From the values of Upload-Complete, Upload-Offset and Upload-Length.
    pub fn read(complete: Option<&[u8]>, offset: Option<&[u8]>, length: Option<&[u8]>) -> Self {
        Self {
            complete: complete.and_then(boolean),
            offset: offset.and_then(integer),
            length: length.and_then(integer),
        }
    }

    /// How long the whole content is by this request's word (section 4.1.3), whose body of `body_bytes` begins at `offset`.
    ///
    /// # Errors
    /// It says two things.
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

/// Two places say different things of how long a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InconsistentLength;

/// What two places say together.
///
/// # Errors
/// They say different things.
pub fn agree(one: Option<u64>, other: Option<u64>) -> Result<Option<u64>, InconsistentLength> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(InconsistentLength),
        (one, other) => Ok(one.or(other)),
    }
}

/// The value of Upload-Complete.
pub const fn complete(complete: bool) -> &'static str {
    if complete { "?1" } else { "?0" }
}

/// What an upload may be (section 4.1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UploadLimit {
    /// Bytes of the whole content.
    pub size_max: Option<u64>,
    /// Seconds from now on until it is forgotten.
    pub age_max_s: Option<u64>,
}

impl UploadLimit {
    /// The value of Upload-Limit, which must say something.
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

/// Why an upload cannot go on, for programs (section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The body begins elsewhere than what is there ends.
    MismatchingOffset {
        /// Bytes that are there.
        expected: u64,
        /// Where the body begins by the client's word.
        provided: u64,
    },
    /// The client has said different things of how long the content is, or has sent more.
    InconsistentLength,
}

impl Problem {
    /// Its status.
    pub const fn status(self) -> u16 {
        match self {
            Self::MismatchingOffset { .. } => 409,
            Self::InconsistentLength => 400,
        }
    }

    /// The document, of [`PROBLEM_TYPE`].
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

/// A structured boolean (RFC 9651 section 3.3.6), parameters left out.
fn boolean(text: &[u8]) -> Option<bool> {
    match item(text)? {
        b"?1" => Some(true),
        b"?0" => Some(false),
        _ => None,
    }
}

/// A structured integer that is not negative (RFC 9651 section 3.3.1), parameters left out.
fn integer(text: &[u8]) -> Option<u64> {
    let text = item(text)?;
    // 15 digits at most, zeros in front among them.
    if text.len() > 15 { None } else { exact_number(text) }
}

/// The value of an item; what follows must look like parameters.
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
