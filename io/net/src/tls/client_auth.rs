//! Rules for client certificates, loaded from files.

use std::sync::Arc;

use aws_lc_rs::digest::{self, SHA256};
use rustls::DistinguishedName;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateRevocationListDer, SignatureVerificationAlgorithm};
use rustls::server::WebPkiClientVerifier;
use weir_config::plan::ClientAuth;
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

use super::client_verifier::ClientVerifier;
use super::error::{FileProblem, FileRole, TlsError};
use super::expiry::Expiry;
use super::explain::explain_builder;
use super::files::PemFile;
use super::legacy_list::{LegacyLists, is_legacy};
use super::pins::{Pins, is_authority};

/// Rules for client certificates, as loaded from files.
pub(super) struct LoadedClientAuth {
    pub(super) verifier: Arc<ClientVerifier>,
    /// Digest of the rules; equal for equal rules.
    pub(super) fingerprint: Vec<u8>,
    /// Time at which the first revocation list becomes stale.
    pub(super) expiry: Option<Expiry>,
}

impl LoadedClientAuth {
    /// Reads authorities and revocation lists. If there are lists, a fresh list must cover every certificate
    /// of a chain: a list that is not renewed must not admit revoked clients.
    pub(super) fn load(plan: &ClientAuth, provider: &Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let mut fingerprint = digest::Context::new(&SHA256);
        fingerprint.update(&[u8::from(plan.required)]);
        let authorities = PemFile::read(FileRole::Authorities, &plan.ca)?;
        fingerprint.update(authorities.bytes());
        let (roots, pins) = authorities.authorities()?;
        let algorithms = provider.signature_verification_algorithms;
        let mut hints = roots.subjects();
        hints.extend(issuers_of_pins(&pins));
        let (mut blamed, mut lists, mut expiry) = (authorities, Lists::default(), None);
        if let Some(path) = &plan.crl {
            blamed = PemFile::read(FileRole::RevocationLists, path)?;
            fingerprint.update(blamed.bytes());
            lists = Lists::read(&blamed, &pins, algorithms.all)?;
            expiry = Some(Expiry {
                role: FileRole::RevocationLists,
                path: path.clone(),
                not_after: lists.earliest,
                names: Vec::new(),
            });
        }
        let Lists { current, legacy, .. } = lists;
        let chains =
            if roots.is_empty() {
                None
            } else {
                let mut builder = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider))
                    .with_crls(current)
                    .enforce_revocation_expiration();
                if !legacy.is_empty() {
                    // The check of legacy lists then decides which list covers a certificate.
                    builder = builder.allow_unknown_revocation_status();
                }
                let built = builder.build();
                Some(built.map_err(|error| {
                    blamed.problem(FileProblem::BadRevocationList(explain_builder(&error)))
                })?)
            };
        let verifier = ClientVerifier {
            chains,
            pins,
            legacy,
            revokes: plan.crl.is_some(),
            required: plan.required,
            hints,
            algorithms,
        };
        let fingerprint = fingerprint.finish().as_ref().to_vec();
        Ok(Self { verifier: Arc::new(verifier), fingerprint, expiry })
    }
}

/// Revocation lists of a file.
#[derive(Default)]
struct Lists {
    /// Lists that webpki checks.
    current: Vec<CertificateRevocationListDer<'static>>,
    legacy: LegacyLists,
    /// Time at which the first list must be renewed, in seconds since 1970.
    earliest: i64,
}

impl Lists {
    fn read(
        file: &PemFile<'_>,
        authorities: &Pins,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<Self, TlsError> {
        let bad = |why: String| file.problem(FileProblem::BadRevocationList(why));
        let authorities: Vec<_> = authorities.iter().filter(|one| is_authority(one)).cloned().collect();
        let mut lists = Self { earliest: i64::MAX, ..Self::default() };
        for der in file.revocation_lists()? {
            let (_, list) =
                CertificateRevocationList::from_der(&der).map_err(|error| bad(error.to_string()))?;
            // A list without `nextUpdate` counts as stale, as in webpki.
            lists.earliest = lists.earliest.min(list.next_update().map_or(0, |time| time.timestamp()));
            if is_legacy(&list) {
                lists.legacy.add(&der, &list, &authorities, algorithms).map_err(bad)?;
            } else {
                lists.legacy.note_other(&list);
                lists.current.push(der.clone());
            }
        }
        Ok(lists)
    }
}

/// Returns the issuers of pinned certificates, because clients choose a certificate by its issuer.
fn issuers_of_pins(pins: &Pins) -> Vec<DistinguishedName> {
    let issuer = |pin| {
        let (_, parsed) = X509Certificate::from_der(pin).ok()?;
        Some(DistinguishedName::from(parsed.issuer().as_raw().to_vec()))
    };
    pins.iter().filter(|pin| !is_authority(pin)).filter_map(|pin| issuer(pin)).collect()
}
