use super::Algorithm;

/// Why a digest header is refused: 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// It does not follow the grammar.
    #[error("a malformed digest header (RFC 3230 section 4.3.2, RFC 9530 section 2)")]
    Malformed,
    /// The value of a known algorithm is not one of its digests.
    #[error("the {0} digest has the wrong length or encoding")]
    Value(Algorithm),
}
