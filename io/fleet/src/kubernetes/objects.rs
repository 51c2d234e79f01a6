//! Kubernetes' objects, as far as we look at them (<https://kubernetes.io/docs/reference/kubernetes-api/>).

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) owner_references: Vec<Owner>,
    pub(super) creation_timestamp: Option<String>,
    pub(super) deletion_timestamp: Option<String>,
    pub(super) managed_fields: Vec<ManagedFields>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Owner {
    uid: String,
    controller: bool,
}

/// Who has set which fields.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ManagedFields {
    manager: String,
    subresource: String,
    fields_v1: Value,
}

impl Metadata {
    /// Whose it is.
    pub(super) fn controller(&self) -> Option<&str> {
        self.owner_references.iter().find(|owner| owner.controller).map(|owner| owner.uid.as_str())
    }

    /// Who has set `spec.replicas` last, as far as that is kept.
    pub(super) fn scaled_by(&self) -> Option<String> {
        let sets = |of: &&ManagedFields| of.fields_v1.pointer("/f:spec/f:replicas").is_some();
        let of = self.managed_fields.iter().rfind(sets)?;
        Some(match of.subresource.as_str() {
            "" => of.manager.clone(),
            subresource => format!("{} ({subresource})", of.manager),
        })
    }
}

/// A Deployment, a StatefulSet or a ReplicaSet.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Workload {
    pub(super) metadata: Metadata,
    spec: WorkloadSpec,
    status: WorkloadStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WorkloadSpec {
    /// Not written = 1.
    replicas: Option<u32>,
    selector: Selector,
    ordinals: Ordinals,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Ordinals {
    start: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WorkloadStatus {
    conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    match_labels: BTreeMap<String, String>,
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl Workload {
    pub(super) fn replicas(&self) -> u32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// The number of the first pod of a StatefulSet.
    pub(super) fn first(&self) -> u32 {
        self.spec.ordinals.start
    }

    /// Why its pods cannot be made.
    pub(super) fn replica_failure(&self) -> Option<&str> {
        let is = |of: &&Condition| of.kind == "ReplicaFailure" && of.status == "True";
        self.status.conditions.iter().find(is).map(|of| of.message.as_str())
    }

    /// Its selector as a query has it.
    pub(super) fn selector(&self) -> String {
        let selector = &self.spec.selector;
        let labels = selector.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
        let expressions = selector.match_expressions.iter().map(|of| {
            let values = of.values.join(",");
            match of.operator.as_str() {
                "In" => format!("{} in ({values})", of.key),
                "NotIn" => format!("{} notin ({values})", of.key),
                "DoesNotExist" => format!("!{}", of.key),
                _ => of.key.clone(),
            }
        });
        labels.chain(expressions).collect::<Vec<_>>().join(",")
    }
}

/// What is asked for when a workload is scaled.
#[derive(Debug, Deserialize)]
pub(super) struct Scale {
    pub(super) spec: ScaleSpec,
}

#[derive(Debug, Deserialize)]
pub(super) struct ScaleSpec {
    #[serde(default)]
    pub(super) replicas: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Metadata,
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    node_name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodStatus {
    phase: String,
    conditions: Vec<Condition>,
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    state: ContainerState,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    waiting: Option<Waiting>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Waiting {
    reason: String,
    message: String,
}

/// By which of the pods of a ReplicaSet the next one to go is chosen: the least goes first
/// (ActivePodsWithRanks in pkg/controller/controller_utils.go). Among equals the deletion cost counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    has_node: bool,
    phase: u8,
    is_ready: bool,
}

impl Pod {
    pub(super) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(super) fn node(&self) -> Option<&str> {
        Some(self.spec.node_name.as_str()).filter(|node| !node.is_empty())
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// It counts as one of the replicas.
    pub(super) fn is_active(&self) -> bool {
        !self.is_leaving() && !self.is_over()
    }

    /// It has ended, and is kept for people to look at.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    pub(super) fn is_ready(&self) -> bool {
        self.status.conditions.iter().any(|of| of.kind == "Ready" && of.status == "True")
    }

    pub(super) fn rank(&self) -> Rank {
        let phase = match self.status.phase.as_str() {
            "Running" => 2,
            "Unknown" => 1,
            _ => 0,
        };
        Rank { has_node: self.node().is_some(), phase, is_ready: self.is_ready() }
    }

    /// Why it does not run.
    pub(super) fn reason(&self) -> Option<String> {
        let waiting = self.status.container_statuses.iter().find_map(|of| of.state.waiting.as_ref());
        let unscheduled = || {
            let all = &self.status.conditions;
            let of = all.iter().find(|of| of.kind == "PodScheduled" && of.status == "False")?;
            Some(of.message.clone()).filter(|message| !message.is_empty())
        };
        match waiting {
            Some(waiting) if waiting.message.is_empty() => Some(waiting.reason.clone()),
            Some(waiting) => Some(format!("{}: {}", waiting.reason, waiting.message)),
            None => unscheduled(),
        }
    }

    /// The number at the end of its name, if it is of a StatefulSet.
    pub(super) fn ordinal(&self) -> Option<u32> {
        self.name().rsplit_once('-')?.1.parse().ok()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EndpointSlice {
    pub(super) address_type: String,
    /// Null if there are none.
    pub(super) endpoints: Option<Vec<Endpoint>>,
    pub(super) ports: Option<Vec<Port>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Endpoint {
    #[serde(default)]
    addresses: Vec<String>,
    pub(super) zone: Option<String>,
    target_ref: Option<Target>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Target {
    kind: String,
    uid: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Port {
    /// Empty where there is one only.
    pub(super) name: Option<String>,
    pub(super) port: Option<u16>,
}

impl Endpoint {
    pub(super) fn is_of(&self, pod: &Pod) -> bool {
        self.target_ref.as_ref().is_some_and(|of| of.kind == "Pod" && of.uid == pod.metadata.uid)
    }

    pub(super) fn ip(&self) -> Option<IpAddr> {
        self.addresses.first()?.parse().ok()
    }
}

/// Somebody else who scales.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Autoscaler {
    pub(super) metadata: Metadata,
    spec: AutoscalerSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AutoscalerSpec {
    scale_target_ref: ScaleTarget,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScaleTarget {
    kind: String,
    name: String,
}

impl Autoscaler {
    pub(super) fn scales(&self, kind: &str, name: &str) -> bool {
        self.spec.scale_target_ref.kind == kind && self.spec.scale_target_ref.name == name
    }
}

/// Whether we may do something.
#[derive(Debug, Deserialize)]
pub(super) struct AccessReview {
    pub(super) status: AccessStatus,
}

#[derive(Debug, Deserialize)]
pub(super) struct AccessStatus {
    pub(super) allowed: bool,
}
