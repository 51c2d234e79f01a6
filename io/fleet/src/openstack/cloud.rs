use std::collections::BTreeMap;
use std::fmt;

use weir_config::plan::TlsOut;

/// A cloud, and who we are there.
#[derive(Clone)]
pub struct Cloud {
    /// As clouds.yaml names it; "envvars" if it came from the environment.
    pub name: String,
    /// Keystone's address, with or without `/v3`.
    pub auth_url: String,
    /// Who we are.
    pub credentials: Credentials,
    /// Only services of this region; `None` = whichever come first.
    pub region: Option<String>,
    /// Which of the addresses of a service: public, internal or admin.
    pub interface: String,
    /// How https is spoken.
    pub tls: TlsOut,
    /// Addresses of services (by type: compute, network, image) that count more than the catalogue.
    pub overrides: BTreeMap<String, String>,
}

/// Who we are. Its secrets are never printed.
#[derive(Clone)]
pub enum Credentials {
    /// A user with a password, in a project.
    Password {
        /// The user.
        user: User,
        /// Secret.
        password: String,
        /// In which project.
        project: Project,
    },
    /// An application credential, which knows its project.
    ApplicationCredential {
        /// Which one.
        credential: ApplicationCredential,
        /// Secret.
        secret: String,
    },
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum User {
    /// By id.
    Id(String),
    /// By name, which is unique within its domain.
    Name(String, Domain),
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Project {
    /// By id.
    Id(String),
    /// By name, which is unique within its domain.
    Name(String, Domain),
}

/// A domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domain {
    /// By id.
    Id(String),
    /// By name.
    Name(String),
}

/// An application credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplicationCredential {
    /// By id.
    Id(String),
    /// By name, which is unique for its user.
    Name(String, User),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password { user, project, .. } => f
                .debug_struct("Password")
                .field("user", user)
                .field("project", project)
                .finish_non_exhaustive(),
            Self::ApplicationCredential { credential, .. } => {
                f.debug_tuple("ApplicationCredential").field(credential).finish()
            }
        }
    }
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cloud")
            .field("name", &self.name)
            .field("auth_url", &self.auth_url)
            .field("credentials", &self.credentials)
            .field("region", &self.region)
            .field("interface", &self.interface)
            .finish_non_exhaustive()
    }
}
