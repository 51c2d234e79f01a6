//! Repr-Digest, Content-Digest and their Want- headers (RFC 9530), as structured fields (RFC 9651).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};

use super::{Algorithm, Digest, DigestError};
use crate::text::{exact_number, trim};

/// Formats the value of Repr-Digest or Content-Digest (RFC 9530 sections 2 and 3).
pub fn write_repr_digest(digests: &[Digest]) -> String {
    let write =
        |digest: &Digest| format!("{}=:{}:", digest.algorithm().key(), STANDARD.encode(digest.bytes()));
    digests.iter().map(write).collect::<Vec<_>>().join(", ")
}

/// Parses Repr-Digest or Content-Digest and returns the digests of known algorithms. If a key occurs twice,
/// the last one counts.
pub fn parse_repr_digest(text: &[u8]) -> Result<Vec<Digest>, DigestError> {
    let mut digests: Vec<Digest> = Vec::new();
    for member in members(text) {
        let (key, value) = member.ok_or(DigestError::Malformed)?;
        let encoded = value.strip_prefix(b":").and_then(|value| value.strip_suffix(b":"));
        let encoded = encoded.ok_or(DigestError::Malformed)?;
        let Some(algorithm) = Algorithm::from_key(key) else { continue };
        // The padding may be absent (RFC 9651 section 4.2.7).
        let bytes = STANDARD_PAD_INDIFFERENT.decode(encoded).map_err(|_| DigestError::Value(algorithm))?;
        let digest = Digest::new(algorithm, &bytes).ok_or(DigestError::Value(algorithm))?;
        digests.retain(|earlier| earlier.algorithm() != algorithm);
        digests.push(digest);
    }
    Ok(digests)
}

impl Algorithm {
    /// Returns the algorithm among `offered` that Want-Repr-Digest or Want-Content-Digest prefers (RFC 9530
    /// section 4). The highest preference wins; of equal preferences, the first in `offered`. Returns `None`
    /// if the client wants none of them or if the header is malformed.
    pub fn choose_want_repr_digest(header: &[u8], offered: &[Self]) -> Option<Self> {
        let wishes = members(header)
            .map(|member| {
                let (key, value) = member?;
                let preference = exact_number(value).filter(|preference| *preference <= 10)?;
                Some((Self::from_key(key), preference))
            })
            .collect::<Option<Vec<_>>>()?;
        let preference = |algorithm: Self| {
            // If a key occurs twice, the last one counts.
            let wish = wishes.iter().rev().find(|(wanted, _)| *wanted == Some(algorithm));
            wish.map_or(0, |(_, preference)| *preference)
        };
        // `max_by_key` returns the last of equal items.
        let best = offered.iter().rev().copied().max_by_key(|algorithm| preference(*algorithm))?;
        (preference(best) > 0).then_some(best)
    }
}

/// Returns the members of a dictionary, without parameters; `None` stands for a malformed member. Works only
/// for values without commas, such as byte sequences and integers.
fn members(text: &[u8]) -> impl Iterator<Item = Option<(&[u8], &[u8])>> {
    text.split(|byte| *byte == b',').map(|member| {
        let member = trim(member);
        let equals = member.iter().position(|byte| *byte == b'=')?;
        let (key, value) = (&member[..equals], &member[equals + 1..]);
        let starts = key.first().is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b'*');
        let is_key = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(byte);
        let value = value.split(|byte| *byte == b';').next().map(trim)?;
        (starts && key.iter().all(is_key)).then_some((key, value))
    })
}
