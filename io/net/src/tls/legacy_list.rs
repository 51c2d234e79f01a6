//! Revocation lists that webpki does not read: those of version 1, and those without extensions (RFC 5280 section 5.1.2.1), as
//! `openssl ca -gencrl` makes them without a file of list numbers.
//!
//! A list counts for the certificates that the key has signed which has signed the list, and that key must be an authority's of
//! the same file. Where there is such a list, every certificate that a client shows must be covered by a list of one or the
//! other kind: what comes from webpki is not weakened by it.

use std::collections::HashSet;
use std::time::Duration;

use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, SignatureVerificationAlgorithm, UnixTime,
};
use rustls::{CertificateError, Error};
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate, X509Version};

use super::pins::Pins;
use super::signed::is_signed_by;

/// Lists without extensions, and for which names there are others.
#[derive(Debug, Default)]
pub(super) struct LegacyLists {
    lists: Vec<LegacyList>,
    /// Issuers of the lists that webpki checks, if these are for all their certificates.
    others: HashSet<Vec<u8>>,
}

#[derive(Debug)]
struct LegacyList {
    /// The issuer's name in DER.
    issuer: Vec<u8>,
    /// The key that has signed it: a SubjectPublicKeyInfo.
    key: Vec<u8>,
    next_update: UnixTime,
    revoked: HashSet<Vec<u8>>,
}

/// The extension that limits what a list is for (RFC 5280 section 5.2.5).
const ISSUING_DISTRIBUTION_POINT: &str = "2.5.29.28";

/// Returns whether webpki does not read it for its age.
pub(super) fn is_legacy(list: &CertificateRevocationList<'_>) -> bool {
    list.version().is_none_or(|version| version == X509Version::V1) || list.extensions().is_empty()
}

impl LegacyLists {
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Notes a list that webpki checks.
    pub(super) fn note_other(&mut self, list: &CertificateRevocationList<'_>) {
        let is_limited = list
            .extensions()
            .iter()
            .any(|extension| extension.oid.to_id_string() == ISSUING_DISTRIBUTION_POINT);
        if !is_limited {
            self.others.insert(list.issuer().as_raw().to_vec());
        }
    }

    /// Adds a list of which [`is_legacy`] is true. Says why it cannot be used.
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
        // Without the version that has extensions, nobody can tell what they would mean (a part of the list, other issuers).
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

    /// Returns whether no certificate of the chain is revoked, and each is covered. Authorities need not be.
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
