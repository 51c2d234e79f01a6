//! Verifies signatures of certificates and lists that webpki does not parse, with the provider's algorithms.

use rustls::pki_types::SignatureVerificationAlgorithm;

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;

/// Returns the algorithm and the key of a SubjectPublicKeyInfo (RFC 5280 section 4.1): the content of its
/// AlgorithmIdentifier, and the bits of the key.
pub(super) fn key_of(public_key_info: &[u8]) -> Option<(&[u8], &[u8])> {
    let info = Element::first(SEQUENCE, public_key_info)?;
    let algorithm = Element::first(SEQUENCE, info.content)?;
    let key = Element::first(BIT_STRING, algorithm.rest)?;
    Some((algorithm.content, whole_bytes(key.content)?))
}

/// Returns true if this key signed a certificate or a revocation list (RFC 5280 section 4.1.1.3).
pub(super) fn is_signed_by(
    signed: &[u8],
    public_key_info: &[u8],
    algorithms: &[&dyn SignatureVerificationAlgorithm],
) -> bool {
    let verify = || {
        let outer = Element::first(SEQUENCE, signed)?;
        let message = Element::first(SEQUENCE, outer.content)?;
        let algorithm = Element::first(SEQUENCE, message.rest)?;
        let signature = whole_bytes(Element::first(BIT_STRING, algorithm.rest)?.content)?;
        let (key_algorithm, key) = key_of(public_key_info)?;
        let fits = |known: &&&dyn SignatureVerificationAlgorithm| {
            known.signature_alg_id().as_ref() == algorithm.content
                && known.public_key_alg_id().as_ref() == key_algorithm
        };
        algorithms.iter().find(fits)?.verify_signature(key, message.whole, signature).ok()
    };
    verify().is_some()
}

/// A DER element and the bytes after it.
struct Element<'a> {
    whole: &'a [u8],
    content: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Element<'a> {
    /// Returns the element at the start of `der` if it has this tag.
    fn first(tag: u8, der: &'a [u8]) -> Option<Self> {
        let [found, first, after @ ..] = der else { return None };
        let (length, header) = match *first {
            short @ 0..=0x7f => (usize::from(short), 2),
            long @ 0x81..=0x84 => {
                let bytes = after.get(..usize::from(long & 0x7f))?;
                let length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
                (length, 2 + bytes.len())
            }
            _ => return None,
        };
        let end = header.checked_add(length)?;
        let whole = der.get(..end)?;
        (*found == tag).then_some(Self { whole, content: &whole[header..], rest: &der[end..] })
    }
}

/// Removes the count of unused bits from a bit string; the count must be 0.
fn whole_bytes(content: &[u8]) -> Option<&[u8]> {
    content.strip_prefix(&[0])
}

#[cfg(test)]
mod tests {
    use rustls::crypto::aws_lc_rs::default_provider;
    use weir_testkit::certificates::{Authority, Request};
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;

    fn der(pem: &str) -> Vec<u8> {
        use rustls::pki_types::pem::PemObject;
        rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
    }

    #[test]
    fn only_the_signature_of_the_issuers_key_counts() {
        let algorithms = default_provider().signature_verification_algorithms.all;
        let key =
            |certificate: &[u8]| X509Certificate::from_der(certificate).unwrap().1.public_key().raw.to_vec();
        let (issuer, namesake) = (Authority::new("CA"), Authority::new("CA"));
        let leaf = der(&issuer.issue(&Request::names(&["a.test"])).certificate_pem);
        assert!(is_signed_by(&leaf, &key(&der(&issuer.pem())), algorithms));
        assert!(!is_signed_by(&leaf, &key(&der(&namesake.pem())), algorithms));
        let mut changed = leaf.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert!(!is_signed_by(&changed, &key(&der(&issuer.pem())), algorithms));
        for length in 0..leaf.len() {
            assert!(!is_signed_by(&leaf[..length], &key(&der(&issuer.pem())), algorithms));
        }
    }
}
