use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use weir_config::plan::TlsOut;

/// A cluster, and who we are there.
#[derive(Clone)]
pub struct Cluster {
    /// The context that names it, or "in-cluster".
    pub name: String,
    /// The API server's address, perhaps with a path.
    pub url: String,
    /// The namespace that counts if none is named.
    pub namespace: String,
    /// Who we are.
    pub credentials: Credentials,
    /// How https is spoken; a client certificate is in it.
    pub tls: TlsOut,
    /// Files without a name in which what `tls` names is kept.
    pub(super) kept: Vec<Arc<OwnedFd>>,
}

/// Who we are, beside a client certificate. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Nothing more is said.
    None,
    /// A token, as it is.
    Token(String),
    /// A file with a token, which somebody renews.
    TokenFile(PathBuf),
}

impl Cluster {
    /// A cluster whose certificates, if any, are in files.
    pub fn new(name: &str, url: &str, credentials: Credentials, tls: TlsOut) -> Self {
        Self {
            name: name.to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            namespace: "default".to_owned(),
            credentials,
            tls,
            kept: Vec::new(),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Token(_) => f.debug_struct("Token").finish_non_exhaustive(),
            Self::TokenFile(path) => f.debug_tuple("TokenFile").field(path).finish(),
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.name)
            .field("url", &self.url)
            .field("namespace", &self.namespace)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}
