//! Address and credentials of an OpenStack cloud.

use std::collections::BTreeMap;
use std::fmt;

use weir_config::plan::TlsOut;

/// A cloud with Weir's credentials.
#[derive(Clone)]
pub struct Cloud {
    /// Name in clouds.yaml; "envvars" for a cloud from the environment.
    pub name: String,
    /// Address of Keystone, with or without `/v3`.
    pub auth_url: String,
    /// Credentials of Weir.
    pub credentials: Credentials,
    /// Region of the services; `None` = the first of each in the catalogue.
    pub region: Option<String>,
    /// Kind of a service's address: public, internal or admin.
    pub interface: String,
    /// TLS settings.
    pub tls: TlsOut,
    /// Addresses of services by type (compute, network, image), with priority over the catalogue.
    pub overrides: BTreeMap<String, String>,
}

/// Credentials of Weir. The secrets are never printed.
#[derive(Clone)]
pub enum Credentials {
    /// A user with a password, in a project.
    Password {
        /// The user.
        user: User,
        /// Secret.
        password: String,
        /// The project.
        project: Project,
    },
    /// An application credential, which belongs to a project.
    ApplicationCredential {
        /// The credential.
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
