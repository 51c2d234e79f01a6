use std::fmt;
use std::time::Duration;

use super::Cluster;

/// The pods of a fleet.
#[derive(Debug, Clone)]
pub struct KubernetesSettings {
    /// The fleet's name, for messages.
    pub fleet: String,
    /// Where.
    pub cluster: Cluster,
    /// In which namespace; `None` = that of the cluster's context.
    pub namespace: Option<String>,
    /// Whose pods they are.
    pub workload: Workload,
    /// The Service whose EndpointSlices say where pods listen.
    pub service: String,
    /// The name of the Service's port, where it has several.
    pub port_name: Option<String>,
    /// Where pods listen, whatever the Service says.
    pub port: Option<u16>,
    /// A pod that has not come up so long after it was made has failed.
    pub start_timeout: Duration,
    /// How long is waited for pods to come and go after the number of replicas was changed.
    pub settle_timeout: Duration,
    /// One request to the API server takes at most so long.
    pub timeout: Duration,
}

/// What makes pods, and is scaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workload {
    /// The Deployment of this name: of its pods any may go.
    Deployment(String),
    /// The StatefulSet of this name: the pod with the highest number goes.
    StatefulSet(String),
}

impl KubernetesSettings {
    /// Pods of a workload, with defaults for all else: ten minutes to come up, five seconds for the controllers, ten for a request.
    pub fn new(fleet: &str, cluster: Cluster, workload: Workload, service: &str) -> Self {
        Self {
            fleet: fleet.to_owned(),
            cluster,
            namespace: None,
            workload,
            service: service.to_owned(),
            port_name: None,
            port: None,
            start_timeout: Duration::from_secs(600),
            settle_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
        }
    }
}

impl Workload {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Deployment(name) | Self::StatefulSet(name) => name,
        }
    }

    pub(super) fn is_stateful(&self) -> bool {
        matches!(self, Self::StatefulSet(_))
    }

    /// As paths and permissions have it.
    pub(super) fn resource(&self) -> &'static str {
        match self {
            Self::Deployment(_) => "deployments",
            Self::StatefulSet(_) => "statefulsets",
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Deployment(_) => "Deployment",
            Self::StatefulSet(_) => "StatefulSet",
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.name())
    }
}
