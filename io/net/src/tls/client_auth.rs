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

/// The rules for client certificates, as the files say them.
pub(super) struct LoadedClientAuth {
    pub(super) verifier: Arc<ClientVerifier>,
    /// Two with the same rules have the same.
    pub(super) fingerprint: Vec<u8>,
    /// When the first of the revocation lists goes stale.
    pub(super) expiry: Option<Expiry>,
}

impl LoadedClientAuth {
    /// Reads authorities and revocation lists. Where there are lists, every certificate of a chain must be covered by
    /// one that is still fresh: a list that nobody renews must not let revoked clients in.
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
                    // Which list covers a certificate is then judged with those that webpki does not know.
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

/// The revocation lists of a file.
#[derive(Default)]
struct Lists {
    /// Those that webpki checks.
    current: Vec<CertificateRevocationListDer<'static>>,
    legacy: LegacyLists,
    /// When the first of them has to be renewed, in seconds of the Unix epoch.
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
            // One that does not say so counts as stale: webpki refuses it, too.
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

/// Clients choose a certificate by its issuer.
fn issuers_of_pins(pins: &Pins) -> Vec<DistinguishedName> {
    let issuer = |pin| {
        let (_, parsed) = X509Certificate::from_der(pin).ok()?;
        Some(DistinguishedName::from(parsed.issuer().as_raw().to_vec()))
    };
    pins.iter().filter(|pin| !is_authority(pin)).filter_map(|pin| issuer(pin)).collect()
}
