use serde::{Deserialize, Serialize};

/// The subject of a client certificate that TLS, or a trusted proxy, has verified. For a proxy certificate (RFC 3820) this
/// is the subject of the certificate at its root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct X509Subject {
    /// Distinguished name as RFC 2253 writes it: `CN=Jo,O=Example,C=IT`.
    pub subject: String,
    /// The issuer's, in the same form.
    pub issuer: Option<String>,
    /// The end of the certificate, in seconds since 1970.
    pub not_after_unix_secs: Option<u64>,
    /// From the attribute certificate of a VOMS server, verified by whoever filled this in.
    pub voms: Option<Voms>,
    /// Organisations that a [`VoMap`](super::VoMap) gives the subject, at this moment: a token does not keep them, and what it says
    /// of them does not count.
    #[serde(skip)]
    pub mapped_vos: Vec<String>,
}

/// Membership that a VOMS server has stated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Voms {
    /// The organisation.
    pub vo: String,
    /// Groups and roles: `/cms/Role=production`.
    pub fqans: Vec<String>,
    /// The end of the statement, in seconds since 1970.
    pub not_after_unix_secs: Option<u64>,
}

impl X509Subject {
    /// The first end of certificate and VOMS statement.
    pub fn expires_unix_secs(&self) -> Option<u64> {
        let voms = self.voms.as_ref().and_then(|voms| voms.not_after_unix_secs);
        self.not_after_unix_secs.into_iter().chain(voms).min()
    }

    /// Whether the organisation `vo` is among those that VOMS states.
    pub fn is_voms_member(&self, vo: &str) -> bool {
        self.voms.as_ref().is_some_and(|voms| voms.vo == vo)
    }
}
