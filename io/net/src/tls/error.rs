use std::fmt;
use std::io;
use std::path::PathBuf;

use super::explain::explain;
use super::provider::cipher_names;

/// Why TLS could not be set up as configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be used.
    #[error("{role} {}: {problem}", path.display())]
    File {
        /// What it was to be.
        role: FileRole,
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        problem: FileProblem,
    },
    /// A cipher name that nobody knows.
    #[error("unknown cipher {0:?}; there are {list}", list = cipher_names().collect::<Vec<_>>().join(", "))]
    UnknownCipher(String),
    /// Ciphers of TLS 1.2 only, where TLS 1.3 is the oldest version.
    #[error("none of the ciphers belongs to a TLS version that is spoken")]
    NoCipherForVersion,
    /// No certificate at all.
    #[error("no certificate is configured")]
    NoCertificate,
    /// A text that is neither a DNS name nor an address.
    #[error("server name {0:?}: neither a DNS name nor an address")]
    ServerName(String),
    /// The system's authorities are wanted, and it has none.
    #[error("the system has no certificate authorities{}", .0.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    NoSystemAuthorities(Option<String>),
    /// The system gave no random bytes.
    #[error("no random bytes for session ticket keys")]
    NoRandomness,
    /// The library refuses the combination.
    #[error("TLS cannot be set up: {}", explain(.0))]
    Refused(#[from] rustls::Error),
}

impl TlsError {
    /// Returns whether the process may not read a file. What is in it can be as good as ever.
    pub fn is_denied(&self) -> bool {
        let Self::File { problem: FileProblem::Unreadable(cause), .. } = self else { return false };
        cause.kind() == io::ErrorKind::PermissionDenied
    }
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// A certificate chain.
    Certificate,
    /// A private key.
    Key,
    /// Accepted authorities.
    Authorities,
    /// Revocation lists.
    RevocationLists,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileProblem {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// A directory, a device, a pipe.
    #[error("not a regular file")]
    NotAFile,
    /// Larger than any such file.
    #[error("larger than {max} MiB", max = super::files::FILE_BYTES_MAX >> 20)]
    TooLarge,
    /// Broken PEM.
    #[error("not valid PEM: {0}")]
    Pem(rustls::pki_types::pem::Error),
    /// PEM without the section that is needed.
    #[error("no {0} in file")]
    Missing(&'static str),
    /// A key that needs a passphrase.
    #[error("the key is encrypted: store it without a passphrase, readable by Weir only")]
    EncryptedKey,
    /// A key of a kind that is not supported, or broken.
    #[error(
        "key cannot be used: it must be RSA from 2048 to 8192 bits, ECDSA on P-256, P-384 or P-521, or Ed25519, in PKCS #8, PKCS #1 or SEC 1"
    )]
    BadKey,
    /// The key is that of another certificate.
    #[error("key does not belong to certificate {}", .0.display())]
    KeyMismatch(PathBuf),
    /// The n-th certificate, counted from 1, cannot be understood.
    #[error("certificate {0} in file is broken: {1}")]
    BadCertificate(usize, String),
    /// Revocation lists that cannot be used.
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
