//! Errors of the digest headers.

use super::Algorithm;

/// The reason to refuse a digest header with 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The header does not follow the grammar.
    #[error("a malformed digest header (RFC 3230 section 4.3.2, RFC 9530 section 2)")]
    Malformed,
    /// The value has the wrong length or encoding for its algorithm.
    #[error("the {0} digest has the wrong length or encoding")]
    Value(Algorithm),
}
