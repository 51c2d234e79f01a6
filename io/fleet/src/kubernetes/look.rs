//! State of the cluster: the workload, its pods, and their addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::apps::v1::ReplicaSet;

use super::objects::{Pod, Slice, Workload, controller};
use super::settings::KubernetesSettings;
use crate::{Machine, MachineId, MachineState};

/// Annotation with the lowest value, which makes a pod the first to be deleted. Other users of the annotation
/// hardly need this value.
pub(super) const COST_KEY: &str = "controller.kubernetes.io/pod-deletion-cost";
pub(super) const COST_LEAST: &str = "-2147483648";

/// A workload with its own pods.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) workload: Workload,
    /// Pods without those that have ended, which are replaced.
    pub(super) pods: Vec<Pod>,
}

/// Address of a pod.
#[derive(Debug, Clone)]
pub(super) struct Place {
    ip: IpAddr,
    port: Option<u16>,
    zone: Option<String>,
}

impl Look {
    /// Selects the workload's own pods among all with its labels. A Deployment's pods belong to one of its
    /// ReplicaSets.
    pub(super) fn new(workload: Workload, replica_sets: Option<&[ReplicaSet]>, pods: Vec<Pod>) -> Self {
        let own = workload.uid.as_str();
        let makers: BTreeSet<&str> = match replica_sets {
            None => BTreeSet::from([own]),
            Some(all) => {
                let of = all.iter().filter(|set| controller(&set.metadata) == Some(own));
                of.filter_map(|set| set.metadata.uid.as_deref()).collect()
            }
        };
        let is_own = |pod: &Pod| {
            !pod.is_over() && pod.controller.as_deref().is_some_and(|maker| makers.contains(maker))
        };
        let pods = pods.into_iter().filter(is_own).collect();
        Self { workload, pods }
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter().filter(|pod| pod.is_active())
    }

    /// Returns the number of pods beyond the wanted replicas, which the controllers have not deleted yet.
    pub(super) fn surplus(&self) -> u32 {
        (self.active().count() as u32).saturating_sub(self.workload.replicas)
    }

    /// Returns true if the pods belong to different ReplicaSets, one of which replaces the other.
    pub(super) fn is_rolling_out(&self) -> bool {
        self.active().filter_map(|pod| pod.controller.as_deref()).collect::<BTreeSet<_>>().len() > 1
    }

    /// Returns the ordinals of a StatefulSet's complete set of pods.
    pub(super) fn ordinals(&self) -> std::ops::Range<u32> {
        let first = self.workload.first;
        first..first.saturating_add(self.workload.replicas)
    }

    /// Returns each pod as a machine, and the pods that are not created yet.
    pub(super) fn machines(
        &self,
        settings: &KubernetesSettings,
        places: &Places,
        now: SystemTime,
    ) -> Vec<Machine> {
        let going = self.surplus() > 0;
        let stateful = settings.workload.is_stateful();
        let mut machines: Vec<Machine> = Vec::with_capacity(self.pods.len());
        for pod in &self.pods {
            let mut machine = machine(pod, places.of(pod), settings.start_timeout, now);
            let is_kept = pod.ordinal().is_some_and(|ordinal| self.ordinals().contains(&ordinal));
            let is_next = if stateful { !is_kept } else { going && pod.is_marked };
            if is_next {
                machine.state = MachineState::Deleting;
            } else if stateful && pod.is_leaving {
                machine.state = MachineState::Building;
                machine.note = Some("is made anew".to_owned());
            }
            machine.port = settings.port.or(machine.port);
            machines.push(machine);
        }
        let awaited: Vec<String> = if stateful {
            let names = self.ordinals().map(|ordinal| pod_of(settings.workload.name(), ordinal));
            names.filter(|name| self.pods.iter().all(|pod| pod.name != *name)).collect()
        } else {
            let missing = self.workload.replicas.saturating_sub(self.active().count() as u32);
            (0..missing).map(|at| format!("{}-awaited-{at}", settings.workload.name())).collect()
        };
        let why = self.workload.replica_failure.as_deref();
        machines.extend(awaited.into_iter().map(|name| self::awaited(name, why)));
        machines
    }
}

/// Addresses of the pods of a Service.
#[derive(Debug)]
pub(super) struct Places {
    slices: Vec<Slice>,
    port_name: Option<String>,
}

impl Places {
    pub(super) fn new(slices: Vec<Slice>, port_name: Option<&str>) -> Self {
        Self { slices, port_name: port_name.map(str::to_owned) }
    }

    /// Returns the address of a pod; prefers IPv4.
    pub(super) fn of(&self, pod: &Pod) -> Option<Place> {
        let all = self.slices.iter().flat_map(|slice| slice.endpoints.iter().map(move |of| (slice, of)));
        let own = all.filter(|(_, endpoint)| endpoint.pod == pod.uid);
        let (slice, endpoint) = own.max_by_key(|(slice, _)| slice.is_v4)?;
        let port = slice.port(self.port_name.as_deref());
        Some(Place { ip: endpoint.ip, port, zone: endpoint.zone.clone() })
    }
}

/// Returns the name of a StatefulSet's pod.
pub(super) fn pod_of(name: &str, ordinal: u32) -> String {
    format!("{name}-{ordinal}")
}

/// Converts a pod. A pod runs if an EndpointSlice contains it. Weir's own health checks decide about
/// requests, because they test more of the path than the kubelet's.
pub(super) fn machine(pod: &Pod, place: Option<Place>, start_timeout: Duration, now: SystemTime) -> Machine {
    let age = pod.created.and_then(|created| now.duration_since(created).ok()).unwrap_or_default();
    let (state, note) = match &place {
        _ if pod.is_leaving => (MachineState::Deleting, None),
        Some(_) => (MachineState::Running, None),
        None if age > start_timeout => {
            let why = pod.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            let (age, most) = (age.as_secs(), start_timeout.as_secs());
            (MachineState::Failed, Some(format!("has been starting for {age} s, longer than {most}{why}")))
        }
        None => (MachineState::Building, pod.reason.clone()),
    };
    let tags = pod.node.as_ref().map(|node| ("node".to_owned(), node.clone()));
    Machine {
        tags: tags.into_iter().collect(),
        created_s: pod.created.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs()),
        ip: place.as_ref().map(|place| place.ip),
        port: place.as_ref().and_then(|place| place.port),
        zone: place.and_then(|place| place.zone),
        state,
        note,
        ..awaited(pod.name.clone(), None)
    }
}

/// Returns a machine for a pod that is not created yet.
pub(super) fn awaited(name: String, why: Option<&str>) -> Machine {
    Machine {
        id: MachineId(name),
        token: None,
        ip: None,
        port: None,
        state: MachineState::Building,
        flavour: None,
        zone: None,
        cost_per_hour: None,
        tags: BTreeMap::new(),
        created_s: None,
        note: Some(why.unwrap_or("is not there yet").to_owned()),
    }
}

/// Indexes pods by name.
pub(super) fn by_name<'a>(pods: impl Iterator<Item = &'a Pod>) -> HashMap<&'a str, &'a Pod> {
    pods.map(|pod| (pod.name.as_str(), pod)).collect()
}
