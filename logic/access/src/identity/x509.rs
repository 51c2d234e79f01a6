//! The identity that a client certificate yields.

use serde::{Deserialize, Serialize};

/// The subject of a client certificate that TLS or a trusted proxy has verified. For a proxy certificate (RFC
/// 3820), it is the subject of the end-entity certificate that the proxy was derived from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct X509Subject {
    /// Distinguished name in the form of RFC 2253: `CN=Jo,O=Example,C=IT`.
    pub subject: String,
    /// Distinguished name of the issuer, in the same form.
    pub issuer: Option<String>,
    /// Expiry of the certificate, in seconds since 1970.
    pub not_after_unix_secs: Option<u64>,
    /// Membership from the attribute certificate of a VOMS server, verified by the caller.
    pub voms: Option<Voms>,
    /// Organisations that a [`VoMap`](super::VoMap) currently assigns to the subject. They are never stored
    /// in a token or read from one, so that a token cannot claim them.
    #[serde(skip)]
    pub mapped_vos: Vec<String>,
}

/// A membership that a VOMS server states.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Voms {
    /// Organisation.
    pub vo: String,
    /// Groups and roles, such as `/cms/Role=production`.
    pub fqans: Vec<String>,
    /// Expiry of the statement, in seconds since 1970.
    pub not_after_unix_secs: Option<u64>,
}

impl X509Subject {
    /// Returns the earlier expiry of the certificate and the VOMS statement.
    pub fn expires_unix_secs(&self) -> Option<u64> {
        let voms = self.voms.as_ref().and_then(|voms| voms.not_after_unix_secs);
        self.not_after_unix_secs.into_iter().chain(voms).min()
    }

    /// Returns true if VOMS states membership in the organisation `vo`.
    pub fn is_voms_member(&self, vo: &str) -> bool {
        self.voms.as_ref().is_some_and(|voms| voms.vo == vo)
    }
}
