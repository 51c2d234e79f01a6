//! Errors of the TLS setup.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::explain::explain;
use super::provider::cipher_names;

/// Reason why TLS cannot be set up as configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be used.
    #[error("{role} {}: {problem}", path.display())]
    File {
        /// Purpose of the file.
        role: FileRole,
        /// Path of the file.
        path: PathBuf,
        /// Problem of the file.
        problem: FileProblem,
    },
    /// Unknown name of a cipher.
    #[error("unknown cipher {0:?}; there are {list}", list = cipher_names().collect::<Vec<_>>().join(", "))]
    UnknownCipher(String),
    /// All ciphers belong to TLS 1.2, but TLS 1.3 is the minimum version.
    #[error("none of the ciphers belongs to a TLS version that is spoken")]
    NoCipherForVersion,
    /// There is no certificate.
    #[error("no certificate is configured")]
    NoCertificate,
    /// The text is neither a DNS name nor an address.
    #[error("server name {0:?}: neither a DNS name nor an address")]
    ServerName(String),
    /// The system's authorities are needed, but it has none.
    #[error("the system has no certificate authorities{}", .0.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    NoSystemAuthorities(Option<String>),
    /// The system returned no random bytes.
    #[error("no random bytes for session ticket keys")]
    NoRandomness,
    /// The library rejects the combination.
    #[error("TLS cannot be set up: {}", explain(.0))]
    Refused(#[from] rustls::Error),
}

impl TlsError {
    /// Returns true if the process has no permission to read a file. The file's content may still be valid.
    pub fn is_denied(&self) -> bool {
        let Self::File { problem: FileProblem::Unreadable(cause), .. } = self else { return false };
        cause.kind() == io::ErrorKind::PermissionDenied
    }
}

/// Purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// Certificate chain.
    Certificate,
    /// Private key.
    Key,
    /// Accepted authorities.
    Authorities,
    /// Revocation lists.
    RevocationLists,
}

/// Problem of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileProblem {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// The path is a directory, a device or a pipe.
    #[error("not a regular file")]
    NotAFile,
    /// The file is larger than the limit.
    #[error("larger than {max} MiB", max = super::files::FILE_BYTES_MAX >> 20)]
    TooLarge,
    /// The PEM is malformed.
    #[error("not valid PEM: {0}")]
    Pem(rustls::pki_types::pem::Error),
    /// The PEM lacks the required section.
    #[error("no {0} in file")]
    Missing(&'static str),
    /// The key needs a passphrase.
    #[error("the key is encrypted: store it without a passphrase, readable by Weir only")]
    EncryptedKey,
    /// The key is malformed or of an unsupported type.
    #[error(
        "key cannot be used: it must be RSA from 2048 to 8192 bits, ECDSA on P-256, P-384 or P-521, or Ed25519, in PKCS #8, PKCS #1 or SEC 1"
    )]
    BadKey,
    /// The key belongs to another certificate.
    #[error("key does not belong to certificate {}", .0.display())]
    KeyMismatch(PathBuf),
    /// The n-th certificate, counted from 1, cannot be parsed.
    #[error("certificate {0} in file is broken: {1}")]
    BadCertificate(usize, String),
    /// The revocation lists cannot be used.
    #[error("revocation lists cannot be used: {0}")]
    BadRevocationList(String),
}

impl fmt::Display for FileRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "certificate",
            Self::Key => "key",
            Self::Authorities => "authorities",
            Self::RevocationLists => "revocation lists",
        })
    }
}
