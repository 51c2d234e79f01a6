use std::time::{SystemTime, UNIX_EPOCH};

use weir_config::plan::{Certificate, TlsIn, TlsOut};

use super::certificate::{CertificateSummary, LoadedCertificate};
use super::client::ClientTls;
use super::client_auth::LoadedClientAuth;
use super::error::TlsError;
use super::provider::{provider_in, provider_out};

/// What `weir check` has to say of a TLS section.
#[derive(Debug, Default)]
pub struct TlsReport {
    /// The certificates that load.
    pub certificates: Vec<CertificateSummary>,
    /// What works, but not for long or not as meant.
    pub warnings: Vec<String>,
    /// What does not work: all of it, not only the first.
    pub errors: Vec<TlsError>,
}

/// Proves that a certificate loads, and that its key belongs to it. Blocks on the disk.
pub fn check_certificate(certificate: &Certificate) -> Result<CertificateSummary, TlsError> {
    LoadedCertificate::load(certificate, &provider_out()).map(|loaded| loaded.summary)
}

/// Tries everything that a listener's TLS needs. Blocks on the disk.
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

/// Tries everything that a pool's TLS needs, but for its servers. Blocks on the disk.
pub fn check_tls_out(plan: &TlsOut) -> TlsReport {
    let mut report = TlsReport::default();
    if let Some(certificate) = &plan.client_certificate {
        report.add(check_certificate(certificate));
    }
    if report.errors.is_empty() {
        match ClientTls::load(plan) {
            Ok(tls) => {
                // Without a name in the config, the servers' own are checked where they are known.
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
