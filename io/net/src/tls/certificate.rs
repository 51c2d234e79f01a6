//! Configured certificates.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, SignatureAlgorithm};
use weir_config::plan::Certificate;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::error::{FileProblem, FileRole, TlsError};
use super::explain::explain;
use super::files::PemFile;

/// Summary of a configured certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateSummary {
    /// Path of its file.
    pub path: PathBuf,
    /// Names of the certificate, in lower case: its DNS subject alternative names, or its common name if it
    /// has none.
    pub names: Vec<String>,
    /// Issuer, in the form `CN=..., O=...`.
    pub issuer: String,
    /// Type of the key: `RSA`, `ECDSA` or `Ed25519`.
    pub key: &'static str,
    /// Start of validity, in seconds since 1970.
    pub not_before: i64,
    /// End of validity, in seconds since 1970.
    pub not_after: i64,
    /// Set when each certificate of the chain is issued by the next.
    pub chain_in_order: bool,
}

/// A certificate with its key, ready for use.
#[derive(Debug)]
pub(super) struct LoadedCertificate {
    pub(super) summary: CertificateSummary,
    pub(super) key: Arc<CertifiedKey>,
}

impl LoadedCertificate {
    /// Reads chain and key, and checks that they match.
    pub(super) fn load(plan: &Certificate, provider: &CryptoProvider) -> Result<Self, TlsError> {
        let file = PemFile::read(FileRole::Certificate, &plan.certificate)?;
        let chain = file.certificates()?;
        let summary = summarize(plan, &chain, &file)?;
        let key_file = PemFile::read(FileRole::Key, &plan.key)?;
        let key = provider
            .key_provider
            .load_private_key(key_file.private_key()?)
            .map_err(|_| key_file.problem(FileProblem::BadKey))?;
        let key = CertifiedKey::new(chain, key);
        match key.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(Error::InconsistentKeys(_)) => {
                return Err(key_file.problem(FileProblem::KeyMismatch(plan.certificate.clone())));
            }
            Err(error) => return Err(file.problem(FileProblem::BadCertificate(1, explain(&error)))),
        }
        let summary = CertificateSummary { key: kind_of(key.key.algorithm()), ..summary };
        Ok(Self { summary, key: Arc::new(key) })
    }
}

fn summarize(
    plan: &Certificate,
    chain: &[CertificateDer<'_>],
    file: &PemFile<'_>,
) -> Result<CertificateSummary, TlsError> {
    let mut parsed = Vec::with_capacity(chain.len());
    for (index, der) in chain.iter().enumerate() {
        let (_, certificate) = X509Certificate::from_der(der)
            .map_err(|error| file.problem(FileProblem::BadCertificate(index + 1, error.to_string())))?;
        parsed.push(certificate);
    }
    let Some(leaf) = parsed.first() else { return Err(file.problem(FileProblem::Missing("certificate"))) };
    Ok(CertificateSummary {
        path: plan.certificate.clone(),
        names: names(leaf),
        issuer: leaf.issuer().to_string(),
        key: "",
        not_before: leaf.validity().not_before.timestamp(),
        not_after: leaf.validity().not_after.timestamp(),
        chain_in_order: parsed.windows(2).all(|pair| pair[0].issuer().as_raw() == pair[1].subject().as_raw()),
    })
}

/// Returns the names. The common name counts only if there is no alternative name (RFC 6125 section 6.4.4).
fn names(leaf: &X509Certificate<'_>) -> Vec<String> {
    let alternative = leaf.subject_alternative_name().ok().flatten();
    let alternative = alternative.iter().flat_map(|extension| &extension.value.general_names);
    let mut names: Vec<String> = alternative
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        })
        .collect();
    if names.is_empty() {
        let common = leaf.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        names.extend(common.map(str::to_ascii_lowercase));
    }
    names
}

fn kind_of(algorithm: SignatureAlgorithm) -> &'static str {
    match algorithm {
        SignatureAlgorithm::RSA => "RSA",
        SignatureAlgorithm::ECDSA => "ECDSA",
        SignatureAlgorithm::ED25519 => "Ed25519",
        _ => "other",
    }
}
