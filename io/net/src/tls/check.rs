//! Checks of TLS settings for `weir check`.

use std::time::{SystemTime, UNIX_EPOCH};

use weir_config::plan::{Certificate, TlsIn, TlsOut};

use super::certificate::{CertificateSummary, LoadedCertificate};
use super::client::ClientTls;
use super::client_auth::LoadedClientAuth;
use super::error::TlsError;
use super::provider::{provider_in, provider_out};

/// Report of `weir check` on a TLS section.
#[derive(Debug, Default)]
pub struct TlsReport {
    /// Certificates that load.
    pub certificates: Vec<CertificateSummary>,
    /// Warnings about settings that work, but not for long or not as intended.
    pub warnings: Vec<String>,
    /// All errors, not only the first.
    pub errors: Vec<TlsError>,
}

/// Checks that a certificate loads and that its key matches. Blocks on the disk.
pub fn check_certificate(certificate: &Certificate) -> Result<CertificateSummary, TlsError> {
    LoadedCertificate::load(certificate, &provider_out()).map(|loaded| loaded.summary)
}

/// Checks the TLS settings of a listener. Blocks on the disk.
pub fn check_tls_in(plan: &TlsIn) -> TlsReport {
    let mut report = TlsReport::default();
    for certificate in &plan.certificates {
        report.add(check_certificate(certificate));
    }
    if plan.certificates.is_empty() {
        report.errors.push(TlsError::NoCertificate);
    }
    if let Err(error) = provider_in(&plan.ciphers, plan.version_min) {
        report.errors.push(error);
    }
    if let Some(rules) = &plan.client_auth {
        match LoadedClientAuth::load(rules, &provider_out()) {
            Ok(loaded) => report.warnings.extend(loaded.expiry.and_then(|expiry| expiry.warning(now()))),
            Err(error) => report.errors.push(error),
        }
    }
    report
}

/// Checks the TLS settings of a pool, except the names of its servers. Blocks on the disk.
pub fn check_tls_out(plan: &TlsOut) -> TlsReport {
    let mut report = TlsReport::default();
    if let Some(certificate) = &plan.client_certificate {
        report.add(check_certificate(certificate));
    }
    if report.errors.is_empty() {
        match ClientTls::load(plan) {
            Ok(tls) => {
                // Without a name in the config, the caller checks the names of the servers.
                report.errors.extend(tls.connector("server.invalid").err());
            }
            Err(error) => report.errors.push(error),
        }
    }
    if !plan.verify {
        report.warnings.push("verify = false: anyone can answer in the servers' place".to_owned());
    }
    report
}

impl TlsReport {
    fn add(&mut self, checked: Result<CertificateSummary, TlsError>) {
        match checked {
            Ok(summary) => {
                self.warnings.extend(summary.warnings(now()));
                self.certificates.push(summary);
            }
            Err(error) => self.errors.push(error),
        }
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs().cast_signed())
}
