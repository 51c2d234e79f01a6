//! The choice of a certificate for a client.

use std::collections::HashMap;
use std::sync::Arc;

use rustls::SignatureAlgorithm;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate::LoadedCertificate;
use super::sni;

/// Chooses the certificate for a client by the requested name and the signatures that the client can verify.
#[derive(Debug)]
pub(super) struct CertificateChooser {
    exact: HashMap<String, Candidates>,
    /// Certificates by the part of the name after `*.`.
    wildcard: HashMap<String, Candidates>,
    /// Certificates for clients that request no name or an unknown one.
    default: Candidates,
}

/// Certificates for one name, cheapest signature first.
type Candidates = Vec<Arc<CertifiedKey>>;

impl CertificateChooser {
    /// Creates the chooser. The first certificate is the default, together with certificates of other key
    /// types that share one of its names.
    pub(super) fn new(certificates: &[LoadedCertificate]) -> Self {
        let mut chooser = Self { exact: HashMap::new(), wildcard: HashMap::new(), default: Vec::new() };
        for certificate in certificates {
            for name in &certificate.summary.names {
                let (map, name) = match name.strip_prefix("*.") {
                    Some(parent) => (&mut chooser.wildcard, parent),
                    None => (&mut chooser.exact, name.as_str()),
                };
                map.entry(name.to_owned()).or_default().push(Arc::clone(&certificate.key));
            }
        }
        if let Some(first) = certificates.first() {
            let shares_a_name = |other: &&LoadedCertificate| {
                other.summary.names.iter().any(|name| first.summary.names.contains(name))
            };
            let others = certificates[1..].iter().filter(shares_a_name);
            chooser.default = std::iter::once(first)
                .chain(others)
                .map(|certificate| Arc::clone(&certificate.key))
                .collect();
        }
        for candidates in chooser.exact.values_mut().chain(chooser.wildcard.values_mut()) {
            cheapest_first(candidates);
        }
        cheapest_first(&mut chooser.default);
        chooser
    }

    fn candidates(&self, name: &str) -> &Candidates {
        let name = name.strip_suffix('.').unwrap_or(name);
        // A wildcard stands for exactly one label (RFC 6125 section 6.4.3).
        let parent = || name.split_once('.').and_then(|(_, parent)| self.wildcard.get(parent));
        self.exact.get(name).or_else(parent).unwrap_or(&self.default)
    }
}

impl ResolvesServerCert for CertificateChooser {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // rustls returns the name in lower case.
        let name = hello.server_name();
        sni::note(name);
        let candidates = name.map_or(&self.default, |name| self.candidates(name));
        let fits = |key: &&Arc<CertifiedKey>| key.key.choose_scheme(hello.signature_schemes()).is_some();
        // If none fits, rustls rejects the first with the right alert.
        candidates.iter().find(fits).or(candidates.first()).cloned()
    }
}

/// Sorts RSA last, because an RSA signature costs the server many times as much as an elliptic-curve one.
/// Otherwise keeps the order of the config.
fn cheapest_first(candidates: &mut Candidates) {
    candidates.sort_by_key(|key| key.key.algorithm() == SignatureAlgorithm::RSA);
}
