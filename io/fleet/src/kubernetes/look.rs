//! What there is: the workload, its pods, and where they listen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::apps::v1::ReplicaSet;

use super::objects::{Pod, Slice, Workload, controller};
use super::settings::KubernetesSettings;
use crate::{Machine, MachineId, MachineState};

/// What makes a pod the first to go: nobody else asks for so low a cost, which is the lowest there is.
pub(super) const COST_KEY: &str = "controller.kubernetes.io/pod-deletion-cost";
pub(super) const COST_LEAST: &str = "-2147483648";

/// A workload with the pods that are its own.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) workload: Workload,
    /// Without those that have ended: others come in their place.
    pub(super) pods: Vec<Pod>,
}

/// Where a pod listens.
#[derive(Debug, Clone)]
pub(super) struct Place {
    ip: IpAddr,
    port: Option<u16>,
    zone: Option<String>,
}

impl Look {
    /// Of all pods that carry the labels those that the workload has made: through one of its ReplicaSets, if it has such.
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

    /// More of them than replicas that are wanted: the controllers have not come to it yet.
    pub(super) fn surplus(&self) -> u32 {
        (self.active().count() as u32).saturating_sub(self.workload.replicas)
    }

    /// Pods of different ReplicaSets: one replaces the other.
    pub(super) fn is_rolling_out(&self) -> bool {
        self.active().filter_map(|pod| pod.controller.as_deref()).collect::<BTreeSet<_>>().len() > 1
    }

    /// The numbers that a StatefulSet's pods have when all are there.
    pub(super) fn ordinals(&self) -> std::ops::Range<u32> {
        let first = self.workload.first;
        first..first.saturating_add(self.workload.replicas)
    }

    /// Every pod as a machine, and those that are yet to be made.
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

/// Where the pods of a Service listen.
#[derive(Debug)]
pub(super) struct Places {
    slices: Vec<Slice>,
    port_name: Option<String>,
}

impl Places {
    pub(super) fn new(slices: Vec<Slice>, port_name: Option<&str>) -> Self {
        Self { slices, port_name: port_name.map(str::to_owned) }
    }

    /// By IPv4 rather than by IPv6.
    pub(super) fn of(&self, pod: &Pod) -> Option<Place> {
        let all = self.slices.iter().flat_map(|slice| slice.endpoints.iter().map(move |of| (slice, of)));
        let own = all.filter(|(_, endpoint)| endpoint.pod == pod.uid);
        let (slice, endpoint) = own.max_by_key(|(slice, _)| slice.is_v4)?;
        let port = slice.port(self.port_name.as_deref());
        Some(Place { ip: endpoint.ip, port, zone: endpoint.zone.clone() })
    }
}

/// How a StatefulSet calls its pods.
pub(super) fn pod_of(name: &str, ordinal: u32) -> String {
    format!("{name}-{ordinal}")
}

/// A pod. That it is in an EndpointSlice is what makes it run: whether it gets requests is for Weir's own checks to say, and not for
/// the kubelet's, which see less of the way to it.
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

/// A pod that nobody has made yet.
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

/// Names of pods, each with whatever is known of it.
pub(super) fn by_name<'a>(pods: impl Iterator<Item = &'a Pod>) -> HashMap<&'a str, &'a Pod> {
    pods.map(|pod| (pod.name.as_str(), pod)).collect()
}
