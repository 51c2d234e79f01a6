use std::sync::Arc;

use aws_lc_rs::digest::{self, SHA256};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateRevocationListDer;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use weir_config::plan::ClientAuth;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

use super::error::{FileProblem, FileRole, TlsError};
use super::expiry::Expiry;
use super::files::PemFile;

/// The rules for client certificates, as the files say them.
pub(super) struct LoadedClientAuth {
    pub(super) verifier: Arc<dyn ClientCertVerifier>,
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
        let roots = Arc::new(authorities.authorities()?);
        let mut builder = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider));
        if !plan.required {
            builder = builder.allow_unauthenticated();
        }
        let mut blamed = authorities;
        let mut expiry = None;
        if let Some(path) = &plan.crl {
            blamed = PemFile::read(FileRole::RevocationLists, path)?;
            fingerprint.update(blamed.bytes());
            let lists = blamed.revocation_lists()?;
            expiry = Some(Expiry {
                role: FileRole::RevocationLists,
                path: path.clone(),
                not_after: earliest(&blamed, &lists)?,
                names: Vec::new(),
            });
            builder = builder.with_crls(lists).enforce_revocation_expiration();
        }
        let verifier = builder
            .build()
            .map_err(|error| blamed.problem(FileProblem::BadRevocationList(error.to_string())))?;
        Ok(Self { verifier, fingerprint: fingerprint.finish().as_ref().to_vec(), expiry })
    }
}

/// When the first of `lists` has to be renewed. One that does not say so counts as stale: rustls refuses it, too.
fn earliest(file: &PemFile<'_>, lists: &[CertificateRevocationListDer<'_>]) -> Result<i64, TlsError> {
    let mut earliest = i64::MAX;
    for list in lists {
        let (_, list) = CertificateRevocationList::from_der(list)
            .map_err(|error| file.problem(FileProblem::BadRevocationList(error.to_string())))?;
        earliest = earliest.min(list.next_update().map_or(0, |time| time.timestamp()));
    }
    Ok(earliest)
}
