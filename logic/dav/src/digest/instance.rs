//! Digest and Want-Digest (RFC 3230).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Algorithm, Digest, DigestError};
use crate::text::{cut, elements, is_token, weighted};

/// Writes a Digest header's value: checksums of 32 bits as 8 hexadecimal digits, the others in base64 (RFC 3230 section
/// 4.3.2).
pub fn write_digest(digests: &[Digest]) -> String {
    let write = |digest: &Digest| {
        let algorithm = digest.algorithm();
        let value = if is_hex(algorithm) { digest.to_hex() } else { STANDARD.encode(digest.bytes()) };
        format!("{algorithm}={value}")
    };
    digests.iter().map(write).collect::<Vec<_>>().join(",")
}

/// Reads a Digest header: the digests of known algorithms. Others are left out.
pub fn parse_digest(text: &[u8]) -> Result<Vec<Digest>, DigestError> {
    let mut digests = Vec::new();
    for element in elements(text) {
        let (name, value) = cut(element, b'=').ok_or(DigestError::Malformed)?;
        if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
            return Err(DigestError::Malformed);
        }
        let Some(algorithm) = Algorithm::from_name(name) else { continue };
        let digest = if is_hex(algorithm) {
            Digest::from_hex(algorithm, value)
        } else {
            STANDARD.decode(value).ok().and_then(|bytes| Digest::new(algorithm, &bytes))
        };
        digests.push(digest.ok_or(DigestError::Value(algorithm))?);
    }
    if digests.is_empty() && elements(text).next().is_none() {
        Err(DigestError::Malformed)
    } else {
        Ok(digests)
    }
}

/// Reads a Content-MD5 header: the MD5 of the body (RFC 1864; obsolete since RFC 7231, and still sent).
pub fn parse_content_md5(text: &[u8]) -> Result<Vec<Digest>, DigestError> {
    let bytes = STANDARD.decode(text).map_err(|_| DigestError::Value(Algorithm::Md5))?;
    Digest::new(Algorithm::Md5, &bytes).map(|digest| vec![digest]).ok_or(DigestError::Value(Algorithm::Md5))
}

impl Algorithm {
    /// The algorithm that Want-Digest prefers among those `offered` (RFC 3230 section 4.3.1): the one with the highest
    /// weight, of equals the one that the client names first. `None` if it wants none of them.
    pub fn choose_want_digest(header: &[u8], offered: &[Self]) -> Option<Self> {
        let mut best = None;
        for (name, quality) in elements(header).filter_map(weighted).filter(|(_, quality)| *quality > 0) {
            let Some(algorithm) = Self::from_name(name).filter(|algorithm| offered.contains(algorithm))
            else {
                continue;
            };
            if best.is_none_or(|(_, best)| quality > best) {
                best = Some((algorithm, quality));
            }
        }
        best.map(|(algorithm, _)| algorithm)
    }
}

const fn is_hex(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Adler32 | Algorithm::Crc32c)
}
