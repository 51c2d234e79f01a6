//! What there is: the workload, its pods, and where they listen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::objects::{Endpoint, EndpointSlice, List, Pod, Workload};
use super::settings::KubernetesSettings;
use crate::{Machine, MachineId, MachineState, time};

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
    pub(super) fn new(workload: Workload, replica_sets: Option<List<Workload>>, pods: List<Pod>) -> Self {
        let own = workload.metadata.uid.clone();
        let makers: BTreeSet<String> = match replica_sets {
            None => BTreeSet::from([own]),
            Some(all) => {
                let of = all.items.into_iter().filter(|set| set.metadata.controller() == Some(&own));
                of.map(|set| set.metadata.uid).collect()
            }
        };
        let is_own = |pod: &Pod| {
            !pod.is_over() && pod.metadata.controller().is_some_and(|maker| makers.contains(maker))
        };
        Self { workload, pods: pods.items.into_iter().filter(is_own).collect() }
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter().filter(|pod| pod.is_active())
    }

    /// More of them than replicas that are wanted: the controllers have not come to it yet.
    pub(super) fn surplus(&self) -> u32 {
        (self.active().count() as u32).saturating_sub(self.workload.replicas())
    }

    /// Pods of different ReplicaSets: one replaces the other.
    pub(super) fn is_rolling_out(&self) -> bool {
        self.active().filter_map(|pod| pod.metadata.controller()).collect::<BTreeSet<_>>().len() > 1
    }

    /// The numbers that a StatefulSet's pods have when all are there.
    pub(super) fn ordinals(&self) -> std::ops::Range<u32> {
        let first = self.workload.first();
        first..first.saturating_add(self.workload.replicas())
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
            let is_next = if stateful { !is_kept } else { going && is_marked(pod) };
            if is_next {
                machine.state = MachineState::Deleting;
            } else if stateful && pod.is_leaving() {
                machine.state = MachineState::Building;
                machine.note = Some("is made anew".to_owned());
            }
            machine.port = settings.port.or(machine.port);
            machines.push(machine);
        }
        let awaited: Vec<String> = if stateful {
            let names = self.ordinals().map(|ordinal| pod_of(settings.workload.name(), ordinal));
            names.filter(|name| self.pods.iter().all(|pod| pod.name() != name)).collect()
        } else {
            let missing = self.workload.replicas().saturating_sub(self.active().count() as u32);
            (0..missing).map(|at| format!("{}-awaited-{at}", settings.workload.name())).collect()
        };
        let why = self.workload.replica_failure();
        machines.extend(awaited.into_iter().map(|name| self::awaited(name, why)));
        machines
    }
}

/// Where the pods of a Service listen.
#[derive(Debug)]
pub(super) struct Places(Vec<(Endpoint, Option<u16>, bool)>);

impl Places {
    pub(super) fn new(slices: List<EndpointSlice>, port_name: Option<&str>) -> Self {
        let mut all = Vec::new();
        for slice in slices.items {
            let port = slice.port(port_name);
            let is_v4 = slice.address_type == "IPv4";
            all.extend(slice.endpoints.into_iter().flatten().map(|endpoint| (endpoint, port, is_v4)));
        }
        Self(all)
    }

    /// By IPv4 rather than by IPv6.
    pub(super) fn of(&self, pod: &Pod) -> Option<Place> {
        let own = self.0.iter().filter(|(endpoint, _, _)| endpoint.is_of(pod));
        let (endpoint, port, _) = own.max_by_key(|(_, _, is_v4)| *is_v4)?;
        Some(Place { ip: endpoint.ip()?, port: *port, zone: endpoint.zone.clone() })
    }
}

impl EndpointSlice {
    /// Of several ports the one of that name.
    pub(super) fn port(&self, name: Option<&str>) -> Option<u16> {
        let ports = self.ports.as_deref().unwrap_or_default();
        match (name, ports) {
            (Some(name), ports) => ports.iter().find(|port| port.name.as_deref() == Some(name))?.port,
            (None, [port]) => port.port,
            (None, _) => None,
        }
    }

    pub(super) fn port_names(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().flatten().map(|port| port.name.as_deref().unwrap_or(""))
    }
}

pub(super) fn is_marked(pod: &Pod) -> bool {
    pod.metadata.annotations.get(COST_KEY).is_some_and(|cost| cost == COST_LEAST)
}

/// How a StatefulSet calls its pods.
pub(super) fn pod_of(name: &str, ordinal: u32) -> String {
    format!("{name}-{ordinal}")
}

/// A pod. That it is in an EndpointSlice is what makes it run: whether it gets requests is for Weir's own checks to say, and not for
/// the kubelet's, which see less of the way to it.
pub(super) fn machine(pod: &Pod, place: Option<Place>, start_timeout: Duration, now: SystemTime) -> Machine {
    let created = pod.metadata.creation_timestamp.as_deref().and_then(time::parse);
    let age = created.and_then(|created| now.duration_since(created).ok()).unwrap_or_default();
    let (state, note) = match &place {
        _ if pod.is_leaving() => (MachineState::Deleting, None),
        Some(_) => (MachineState::Running, None),
        None if age > start_timeout => {
            let why = pod.reason().map(|why| format!(": {why}")).unwrap_or_default();
            let (age, most) = (age.as_secs(), start_timeout.as_secs());
            (MachineState::Failed, Some(format!("has been starting for {age} s, longer than {most}{why}")))
        }
        None => (MachineState::Building, pod.reason()),
    };
    let tags = pod.node().map(|node| ("node".to_owned(), node.to_owned()));
    Machine {
        tags: tags.into_iter().collect(),
        created_s: created.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs()),
        ip: place.as_ref().map(|place| place.ip),
        port: place.as_ref().and_then(|place| place.port),
        zone: place.and_then(|place| place.zone),
        state,
        note,
        ..awaited(pod.name().to_owned(), None)
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
    pods.map(|pod| (pod.name(), pod)).collect()
}
