//! Valid settings of TLS to clients and to servers.

use std::path::PathBuf;

use serde::Serialize;
use weir_model::Millis;

/// A TLS version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3.
    #[serde(rename = "1.3")]
    V1_3,
}

/// TLS settings towards clients (`[listener.NAME.tls]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TlsIn {
    /// Certificates; at least one. The first is for clients without SNI, or with a name that no certificate
    /// has. Two certificates with the same names and different key types are both used.
    pub certificates: Vec<Certificate>,
    /// Minimum TLS version.
    pub version_min: TlsVersion,
    /// Cipher suites by their IANA names, in order of preference; empty = the defaults of the library.
    pub ciphers: Vec<String>,
    /// Client certificates; `None` = Weir requests none.
    pub client_auth: Option<ClientAuth>,
    /// Rotation interval of the session ticket key; `None` = no resumption.
    pub ticket_rotation: Option<Millis>,
    /// Interval of the checks for changed files.
    pub reload_interval: Millis,
}

/// A certificate chain and its key in PEM files. Both may be in the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Certificate {
    /// Certificate chain, leaf first.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// Rules for client certificates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientAuth {
    /// True if Weir refuses clients without a certificate.
    pub required: bool,
    /// PEM file with the accepted CAs.
    pub ca: PathBuf,
    /// PEM file with the revocation lists of the CAs.
    pub crl: Option<PathBuf>,
}

/// TLS settings towards servers (`[pool.NAME.tls]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TlsOut {
    /// True if Weir verifies the server's certificate; false only after an explicit `verify = false`.
    pub verify: bool,
    /// PEM file with the accepted CAs; `None` = those of the system.
    pub ca: Option<PathBuf>,
    /// Name for SNI and verification; `None` = the server's host name, or its address.
    pub server_name: Option<String>,
    /// Client certificate of Weir.
    pub client_certificate: Option<Certificate>,
    /// Minimum TLS version.
    pub version_min: TlsVersion,
}
