//! Digest and Want-Digest (RFC 3230).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Algorithm, Digest, DigestError};
use crate::text::{cut, elements, is_token, weighted};

/// Formats the value of a Digest header. Writes 32-bit checksums as 8 hexadecimal digits and other digests in
/// base64 (RFC 3230 section 4.3.2).
pub fn write_digest(digests: &[Digest]) -> String {
    let write = |digest: &Digest| {
        let algorithm = digest.algorithm();
        let value = if is_hex(algorithm) { digest.to_hex() } else { STANDARD.encode(digest.bytes()) };
        format!("{algorithm}={value}")
    };
    digests.iter().map(write).collect::<Vec<_>>().join(",")
}

/// Parses a Digest header and returns the digests of known algorithms.
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

/// Parses a Content-MD5 header, the MD5 of the body (RFC 1864; obsolete since RFC 7231, but clients still
/// send it).
pub fn parse_content_md5(text: &[u8]) -> Result<Vec<Digest>, DigestError> {
    let bytes = STANDARD.decode(text).map_err(|_| DigestError::Value(Algorithm::Md5))?;
    Digest::new(Algorithm::Md5, &bytes).map(|digest| vec![digest]).ok_or(DigestError::Value(Algorithm::Md5))
}

impl Algorithm {
    /// Returns the algorithm among `offered` that Want-Digest prefers (RFC 3230 section 4.3.1). The highest
    /// weight wins; of equal weights, the first in the header. Returns `None` if the client wants none of
    /// them.
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
