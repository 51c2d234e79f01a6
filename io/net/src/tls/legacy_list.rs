//! Revocation lists that webpki does not read: those of version 1, and those without extensions (RFC 5280
//! section 5.1.2.1). `openssl ca -gencrl` makes such lists without a file of list numbers.
//!
//! A list covers the certificates signed with the same key as the list. That key must belong to an authority
//! of the same file. If there is such a list, a list of either kind must cover every certificate of the
//! client. So legacy lists do not weaken the check of webpki.

use std::collections::HashSet;
use std::time::Duration;

use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, SignatureVerificationAlgorithm, UnixTime,
};
use rustls::{CertificateError, Error};
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate, X509Version};

use super::pins::Pins;
use super::signed::is_signed_by;

/// Lists without extensions, and the issuers of other lists.
#[derive(Debug, Default)]
pub(super) struct LegacyLists {
    lists: Vec<LegacyList>,
    /// Issuers of lists that webpki checks, if the list covers all certificates of its issuer.
    others: HashSet<Vec<u8>>,
}

#[derive(Debug)]
struct LegacyList {
    /// Name of the issuer, in DER.
    issuer: Vec<u8>,
    /// Key that signed the list: a SubjectPublicKeyInfo.
    key: Vec<u8>,
    next_update: UnixTime,
    revoked: HashSet<Vec<u8>>,
}

/// Extension that limits the scope of a list (RFC 5280 section 5.2.5).
const ISSUING_DISTRIBUTION_POINT: &str = "2.5.29.28";

/// Returns true if webpki does not read the list because of its old format.
pub(super) fn is_legacy(list: &CertificateRevocationList<'_>) -> bool {
    list.version().is_none_or(|version| version == X509Version::V1) || list.extensions().is_empty()
}

impl LegacyLists {
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Records the issuer of a list that webpki checks.
    pub(super) fn note_other(&mut self, list: &CertificateRevocationList<'_>) {
        let is_limited = list
            .extensions()
            .iter()
            .any(|extension| extension.oid.to_id_string() == ISSUING_DISTRIBUTION_POINT);
        if !is_limited {
            self.others.insert(list.issuer().as_raw().to_vec());
        }
    }

    /// Adds a list for which [`is_legacy`] returned true. Returns the reason if the list cannot be used.
    pub(super) fn add(
        &mut self,
        der: &CertificateRevocationListDer<'_>,
        list: &CertificateRevocationList<'_>,
        authorities: &[CertificateDer<'_>],
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<(), String> {
        let next_update = list
            .next_update()
            .and_then(|time| u64::try_from(time.timestamp()).ok())
            .ok_or("it has no time of its next update: make one that has (openssl ca -gencrl -crldays)")?;
        // Version 1 defines no extensions, so their meaning is unknown (for example a partial list, or other
        // issuers).
        if !list.extensions().is_empty() {
            return Err("it is of version 1 and has extensions".to_owned());
        }
        if list.iter_revoked_certificates().any(|entry| entry.extensions().iter().any(|one| one.critical)) {
            return Err("an entry has a critical extension".to_owned());
        }
        let issuer = list.issuer().as_raw();
        let parsed = authorities.iter().filter_map(|authority| X509Certificate::from_der(authority).ok());
        let mut keys = parsed
            .filter(|(_, authority)| authority.subject().as_raw() == issuer)
            .map(|(_, authority)| authority.public_key().raw.to_vec());
        let key = keys
            .find(|key| is_signed_by(der, key, algorithms))
            .ok_or_else(|| format!("no authority in `ca` has signed the list of {}", list.issuer()))?;
        self.lists.push(LegacyList {
            issuer: issuer.to_vec(),
            key,
            next_update: UnixTime::since_unix_epoch(Duration::from_secs(next_update)),
            revoked: list.iter_revoked_certificates().map(|entry| entry.raw_serial().to_vec()).collect(),
        });
        Ok(())
    }

    /// Checks that each certificate of the chain is covered and none is revoked. Authorities need no
    /// coverage.
    pub(super) fn check(
        &self,
        chain: &[CertificateDer<'_>],
        authorities: &Pins,
        now: UnixTime,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        for (above, certificate) in chain.iter().enumerate() {
            let is_anchor = above > 0 && authorities.hold(certificate);
            if !is_anchor {
                self.check_one(certificate, now, algorithms)?;
            }
        }
        Ok(())
    }

    fn check_one(
        &self,
        certificate: &CertificateDer<'_>,
        now: UnixTime,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<(), Error> {
        let (_, parsed) =
            X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
        let issuer = parsed.issuer().as_raw();
        let mut is_covered = self.others.contains(issuer);
        for list in &self.lists {
            if list.issuer != issuer || !is_signed_by(certificate, &list.key, algorithms) {
                continue;
            }
            if list.revoked.contains(parsed.raw_serial()) {
                return Err(CertificateError::Revoked.into());
            }
            if now >= list.next_update {
                let next_update = list.next_update;
                return Err(CertificateError::ExpiredRevocationListContext { time: now, next_update }.into());
            }
            is_covered = true;
        }
        if is_covered { Ok(()) } else { Err(CertificateError::UnknownRevocationStatus.into()) }
    }
}
