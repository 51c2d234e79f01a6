//! The parts of Kubernetes objects that a fleet uses
//! (<https://kubernetes.io/docs/reference/kubernetes-api/>).

use std::net::IpAddr;
use std::time::SystemTime;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1 as corev1;
use k8s_openapi::api::discovery::v1 as discovery;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ManagedFieldsEntry, ObjectMeta, Time};

use super::look::{COST_KEY, COST_LEAST};

/// A Deployment or a StatefulSet.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) uid: String,
    /// Resource version, which differs after each change.
    pub(super) version: Option<String>,
    pub(super) replicas: u32,
    /// Ordinal of the first pod of a StatefulSet.
    pub(super) first: u32,
    /// Label selector of the pods.
    pub(super) selector: LabelSelector,
    /// Reason why pods cannot be created.
    pub(super) replica_failure: Option<String>,
    /// Manager of the last change of the number of replicas, if recorded.
    pub(super) scaled_by: Option<String>,
}

impl Workload {
    fn new(metadata: ObjectMeta, replicas: Option<i32>, selector: LabelSelector) -> Self {
        Self {
            uid: metadata.uid.unwrap_or_default(),
            version: metadata.resource_version,
            // The default is 1.
            replicas: count(replicas.unwrap_or(1)),
            first: 0,
            selector,
            replica_failure: None,
            scaled_by: scaled_by(&metadata.managed_fields.unwrap_or_default()),
        }
    }
}

impl From<Deployment> for Workload {
    fn from(of: Deployment) -> Self {
        let spec = of.spec.unwrap_or_default();
        let conditions = of.status.unwrap_or_default().conditions.unwrap_or_default();
        let failure = conditions.into_iter().find(|of| of.type_ == "ReplicaFailure" && of.status == "True");
        Self {
            replica_failure: failure.map(|of| of.message.unwrap_or_default()),
            ..Self::new(of.metadata, spec.replicas, spec.selector)
        }
    }
}

impl From<StatefulSet> for Workload {
    fn from(of: StatefulSet) -> Self {
        let spec = of.spec.unwrap_or_default();
        Self {
            first: count(spec.ordinals.and_then(|ordinals| ordinals.start).unwrap_or(0)),
            ..Self::new(of.metadata, spec.replicas, spec.selector)
        }
    }
}

/// Converts a count; counts are signed in Kubernetes.
pub(super) fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

fn scaled_by(managed: &[ManagedFieldsEntry]) -> Option<String> {
    let sets = |of: &&ManagedFieldsEntry| {
        of.fields_v1.as_ref().is_some_and(|fields| fields.0.pointer("/f:spec/f:replicas").is_some())
    };
    let of = managed.iter().rfind(sets)?;
    let manager = of.manager.clone().unwrap_or_default();
    Some(match of.subresource.as_deref() {
        None | Some("") => manager,
        Some(subresource) => format!("{manager} ({subresource})"),
    })
}

/// Returns the uid of the controller that created the object.
pub(super) fn controller(metadata: &ObjectMeta) -> Option<&str> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

#[derive(Debug)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) uid: String,
    /// Uid of the pod's ReplicaSet or StatefulSet.
    pub(super) controller: Option<String>,
    /// True if the pod is marked as the first to be deleted.
    pub(super) is_marked: bool,
    pub(super) created: Option<SystemTime>,
    pub(super) is_leaving: bool,
    pub(super) node: Option<String>,
    phase: String,
    is_ready: bool,
    /// Reason why the pod does not run.
    pub(super) reason: Option<String>,
}

/// Rank in the order in which a ReplicaSet deletes its pods, lowest first (ActivePodsWithRanks in
/// pkg/controller/controller_utils.go). Among equal ranks, the deletion cost decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    has_node: bool,
    phase: u8,
    is_ready: bool,
}

impl From<corev1::Pod> for Pod {
    fn from(of: corev1::Pod) -> Self {
        let metadata = of.metadata;
        let status = of.status.unwrap_or_default();
        let mut conditions = status.conditions.iter().flatten();
        let cost = metadata.annotations.as_ref().and_then(|annotations| annotations.get(COST_KEY));
        Self {
            controller: controller(&metadata).map(str::to_owned),
            is_marked: cost.is_some_and(|cost| cost == COST_LEAST),
            created: metadata.creation_timestamp.map(|Time(at)| SystemTime::from(at)),
            is_leaving: metadata.deletion_timestamp.is_some(),
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            node: of.spec.and_then(|spec| spec.node_name).filter(|node| !node.is_empty()),
            is_ready: conditions.any(|of| of.type_ == "Ready" && of.status == "True"),
            reason: reason(&status),
            phase: status.phase.unwrap_or_default(),
        }
    }
}

fn reason(status: &corev1::PodStatus) -> Option<String> {
    let mut containers = status.container_statuses.iter().flatten();
    let Some(waiting) = containers.find_map(|of| of.state.as_ref()?.waiting.as_ref()) else {
        let mut conditions = status.conditions.iter().flatten();
        let of = conditions.find(|of| of.type_ == "PodScheduled" && of.status == "False")?;
        return of.message.clone().filter(|message| !message.is_empty());
    };
    let reason = waiting.reason.clone().unwrap_or_default();
    Some(match waiting.message.as_deref() {
        None | Some("") => reason,
        Some(message) => format!("{reason}: {message}"),
    })
}

impl Pod {
    /// Returns true if the pod counts as a replica.
    pub(super) fn is_active(&self) -> bool {
        !self.is_leaving && !self.is_over()
    }

    /// Returns true if the pod has ended and is only kept for inspection.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    pub(super) fn rank(&self) -> Rank {
        let phase = match self.phase.as_str() {
            "Running" => 2,
            "Unknown" => 1,
            _ => 0,
        };
        Rank { has_node: self.node.is_some(), phase, is_ready: self.is_ready }
    }

    /// Returns the number at the end of the pod's name, if it belongs to a StatefulSet.
    pub(super) fn ordinal(&self) -> Option<u32> {
        self.name.rsplit_once('-')?.1.parse().ok()
    }
}

/// An EndpointSlice, with the addresses of a Service's pods.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) is_v4: bool,
    /// Endpoints with a known pod and address.
    pub(super) endpoints: Vec<Endpoint>,
    /// Ports with their names; the name of a single port may be empty.
    pub(super) ports: Vec<(String, Option<u16>)>,
}

#[derive(Debug)]
pub(super) struct Endpoint {
    /// Uid of the pod.
    pub(super) pod: String,
    pub(super) ip: IpAddr,
    pub(super) zone: Option<String>,
}

impl From<discovery::EndpointSlice> for Slice {
    fn from(of: discovery::EndpointSlice) -> Self {
        let port = |of: discovery::EndpointPort| {
            (of.name.unwrap_or_default(), of.port.and_then(|port| u16::try_from(port).ok()))
        };
        Self {
            is_v4: of.address_type == "IPv4",
            endpoints: of.endpoints.into_iter().flatten().filter_map(endpoint).collect(),
            ports: of.ports.into_iter().flatten().map(port).collect(),
        }
    }
}

fn endpoint(of: discovery::Endpoint) -> Option<Endpoint> {
    let target = of.target_ref.filter(|target| target.kind.as_deref() == Some("Pod"))?;
    let ip = of.addresses.first()?.parse().ok()?;
    Some(Endpoint { pod: target.uid?, ip, zone: of.zone })
}

impl Slice {
    /// Returns the port of that name, or the only port.
    pub(super) fn port(&self, name: Option<&str>) -> Option<u16> {
        match (name, self.ports.as_slice()) {
            (Some(name), ports) => ports.iter().find(|(of, _)| of == name)?.1,
            (None, [(_, port)]) => *port,
            (None, _) => None,
        }
    }
}
