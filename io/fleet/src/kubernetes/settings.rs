//! Settings of a fleet of pods.

use std::fmt;
use std::time::Duration;

use super::Cluster;

/// Settings of a fleet of pods.
#[derive(Debug, Clone)]
pub struct KubernetesSettings {
    /// Name of the fleet, for messages.
    pub fleet: String,
    /// Cluster of the workload.
    pub cluster: Cluster,
    /// Namespace; `None` = that of the cluster's context.
    pub namespace: Option<String>,
    /// Workload that creates the pods.
    pub workload: Workload,
    /// Service whose EndpointSlices hold the addresses of the pods.
    pub service: String,
    /// Name of the Service's port, if it has several.
    pub port_name: Option<String>,
    /// Port of the pods, instead of that of the Service.
    pub port: Option<u16>,
    /// Time after which a pod that has not started counts as failed.
    pub start_timeout: Duration,
    /// Maximum time to wait for pods to appear and disappear after a change of the number of replicas.
    pub settle_timeout: Duration,
    /// Timeout of a request to the API server.
    pub timeout: Duration,
}

/// Workload that creates pods and is scaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workload {
    /// The Deployment of this name; any of its pods may be deleted.
    Deployment(String),
    /// The StatefulSet of this name; it deletes the pod with the highest ordinal.
    StatefulSet(String),
}

impl KubernetesSettings {
    /// Creates settings with defaults: ten minutes for a pod to start, five seconds for the controllers, ten
    /// seconds for a request.
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
    /// Returns the name of the workload.
    pub fn name(&self) -> &str {
        match self {
            Self::Deployment(name) | Self::StatefulSet(name) => name,
        }
    }

    pub(super) fn is_stateful(&self) -> bool {
        matches!(self, Self::StatefulSet(_))
    }

    /// Returns the name of the resource in paths and permissions.
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
