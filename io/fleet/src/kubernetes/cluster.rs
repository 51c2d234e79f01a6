use std::fmt;

use kube::Config;

/// A cluster, and who we are there.
#[derive(Clone)]
pub struct Cluster {
    /// The context that names it, or "in-cluster".
    pub name: String,
    /// Where it is, who we are there, and the namespace that counts if none is named.
    pub config: Config,
}

/// Without who we are.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.name)
            .field("url", &self.config.cluster_url)
            .field("namespace", &self.config.default_namespace)
            .finish_non_exhaustive()
    }
}
