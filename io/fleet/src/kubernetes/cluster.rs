//! Address and credentials of a cluster.

use std::fmt;

use kube::Config;

/// A cluster with Weir's credentials.
#[derive(Clone)]
pub struct Cluster {
    /// Name of the context, or "in-cluster".
    pub name: String,
    /// Address, credentials and default namespace.
    pub config: Config,
}

/// Omits the credentials.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.name)
            .field("url", &self.config.cluster_url)
            .field("namespace", &self.config.default_namespace)
            .finish_non_exhaustive()
    }
}
