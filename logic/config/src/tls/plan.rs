//! Valid settings of TLS towards clients and towards servers.

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

/// TLS towards clients (`[listener.NAME.tls]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TlsIn {
    /// At least one; the first is for clients without SNI or with a name that none of them has. Two for the same names
    /// with different key types stand side by side.
    pub certificates: Vec<Certificate>,
    /// The oldest version spoken.
    pub version_min: TlsVersion,
    /// Cipher suites by their IANA names, in order of preference; empty = the library's choice.
    pub ciphers: Vec<String>,
    /// Client certificates; `None` = not asked for.
    pub client_auth: Option<ClientAuth>,
    /// Session tickets, their key renewed this often; `None` = no resumption.
    pub ticket_rotation: Option<Millis>,
    /// Files are looked at for changes this often.
    pub reload_interval: Millis,
}

/// A certificate chain and its key, PEM files. Both may be in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Certificate {
    /// Chain, leaf first.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// Which client certificates are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientAuth {
    /// A client without one is refused.
    pub required: bool,
    /// PEM file with the accepted authorities.
    pub ca: PathBuf,
    /// PEM file with their revocation lists.
    pub crl: Option<PathBuf>,
}

/// TLS towards servers (`[pool.NAME.tls]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TlsOut {
    /// The server's certificate is verified; false only by an explicit `verify = false`.
    pub verify: bool,
    /// PEM file with the accepted authorities; `None` = those of the system.
    pub ca: Option<PathBuf>,
    /// The name sent and verified; `None` = the server's host name, or its address.
    pub server_name: Option<String>,
    /// What Weir shows of itself.
    pub client_certificate: Option<Certificate>,
    /// The oldest version spoken.
    pub version_min: TlsVersion,
}
