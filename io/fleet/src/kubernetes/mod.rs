//! Machines that are the pods of a Deployment or a StatefulSet: its scale subresource says how many there are, the EndpointSlices of a
//! Service where they listen.
//!
//! A Deployment lets go whichever of its pods is the cheapest (`controller.kubernetes.io/pod-deletion-cost`): the one that has
//! drained is marked as that first. A StatefulSet lets go the last one, so that one has to be the one that drains. All pods of
//! the workload are the fleet's; nothing else is changed.
//!
//! How many there are to be is written in the cluster, so a creation that was cut off is not repeated: it is decided anew on what
//! there is, pods that are still to be made included. Pods cannot be stopped to be started again.

mod api;
mod cluster;
mod find;
mod look;
mod objects;
mod scale;
mod settings;

use std::cell::{Cell, RefCell};
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;

use self::api::{Api, Body};
pub use self::cluster::{Cluster, Credentials};
pub use self::find::Surroundings;
use self::look::{Look, Places};
use self::objects::{AccessReview, Autoscaler, EndpointSlice, List, Pod, Workload as Written};
pub use self::settings::{KubernetesSettings, Workload};
use crate::batch::Batch;
use crate::http::{Method, encode};
use crate::{Answer, Failure, FailureKind, Machine, MachineId, Order, Provider, Token};

/// Pods of a workload.
#[derive(Debug)]
pub struct KubernetesProvider {
    settings: KubernetesSettings,
    namespace: String,
    api: Api,
    /// The number is changed by one at a time.
    turn: Mutex<()>,
    raising: Batch<Token, Machine>,
    lowering: Batch<MachineId, ()>,
    /// As it was last; `None` = it is not known, or may be ours.
    replicas: Cell<Option<u32>>,
    /// Others who scale it.
    others: RefCell<Others>,
}

/// What is known of others who scale the same workload.
#[derive(Debug, Default)]
struct Others {
    /// They did, and it has not been said.
    change: Option<String>,
    autoscaler: Option<String>,
    asked: Option<Instant>,
}

/// How often it is looked for autoscalers.
const AUTOSCALERS_EVERY: Duration = Duration::from_secs(60);

impl KubernetesProvider {
    /// Nothing is asked yet.
    pub fn new(settings: KubernetesSettings) -> Self {
        let namespace = settings.namespace.clone().unwrap_or_else(|| settings.cluster.namespace.clone());
        let api = Api::new(settings.cluster.clone(), settings.timeout);
        Self {
            settings,
            namespace,
            api,
            turn: Mutex::new(()),
            raising: Batch::default(),
            lowering: Batch::default(),
            replicas: Cell::new(None),
            others: RefCell::default(),
        }
    }

    fn apps(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}", encode(&self.namespace))
    }

    fn workload_path(&self) -> String {
        let workload = &self.settings.workload;
        format!("{}/{}/{}", self.apps(), workload.resource(), encode(workload.name()))
    }

    async fn workload(&self) -> Result<Written, Failure> {
        let asked = self.api.get::<Written>(&self.workload_path()).await;
        asked.map_err(|failure| match failure.kind {
            FailureKind::NotFound => {
                let (workload, namespace) = (&self.settings.workload, &self.namespace);
                let message = format!("there is no {workload} in namespace {namespace}");
                Failure::new(FailureKind::Permanent, message)
            }
            _ => failure,
        })
    }

    /// The workload and its pods.
    async fn look(&self) -> Result<Look, Failure> {
        let workload = self.workload().await?;
        self.compare(&workload);
        let selector = encode(&workload.selector());
        let pods = format!("/api/v1/namespaces/{}/pods?labelSelector={selector}", encode(&self.namespace));
        let sets = format!("{}/replicasets?labelSelector={selector}", self.apps());
        let sets = async {
            if self.settings.workload.is_stateful() {
                return Ok(None);
            }
            self.api.get::<List<Written>>(&sets).await.map(Some)
        };
        // Sets first: a pod's set is there before it.
        let (sets, pods) = (sets.await?, self.api.get::<List<Pod>>(&pods).await?);
        Ok(Look::new(workload, sets, pods))
    }

    /// Notices that somebody else has scaled.
    fn compare(&self, workload: &Written) {
        let now = workload.replicas();
        if let Some(before) = self.replicas.replace(Some(now)).filter(|before| *before != now) {
            let by = workload.metadata.scaled_by();
            let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
            self.others.borrow_mut().change = Some(format!(
                "{} was scaled from {before} to {now}{by}, and not by this fleet: two that scale work against each other",
                self.settings.workload
            ));
        }
    }

    async fn slices(&self) -> Result<List<EndpointSlice>, Failure> {
        let selector = encode(&format!("kubernetes.io/service-name={}", self.settings.service));
        let namespace = encode(&self.namespace);
        let path = format!(
            "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector={selector}"
        );
        self.api.get(&path).await
    }

    /// An autoscaler of the cluster's that scales the same. Whoever may not ask is not told.
    async fn autoscaler(&self) -> Option<String> {
        let namespace = encode(&self.namespace);
        let path = format!("/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers");
        let all: List<Autoscaler> = self.api.get(&path).await.ok()?;
        let workload = &self.settings.workload;
        let found = all.items.iter().find(|of| of.scales(workload.kind(), workload.name()))?;
        Some(format!(
            "HorizontalPodAutoscaler {} scales {workload}, too: one of the two has to go",
            found.metadata.name
        ))
    }

    /// Says what is known of others who scale.
    async fn complain(&self) -> Result<(), Failure> {
        let due = self.others.borrow().asked.is_none_or(|asked| asked.elapsed() >= AUTOSCALERS_EVERY);
        if due {
            self.others.borrow_mut().asked = Some(Instant::now());
            let found = self.autoscaler().await;
            self.others.borrow_mut().autoscaler = found;
        }
        let mut others = self.others.borrow_mut();
        match others.change.take().or_else(|| others.autoscaler.clone()) {
            Some(message) => Err(Failure::new(FailureKind::Conflict, message)),
            None => Ok(()),
        }
    }

    async fn check(&self) -> Result<(), Failure> {
        let permanent = |message: String| Err(Failure::new(FailureKind::Permanent, message));
        let look = self.look().await?;
        let slices = self.slices().await?;
        let service = &self.settings.service;
        if slices.items.is_empty() {
            let namespace = &self.namespace;
            return permanent(format!("there is no service {service:?} with EndpointSlices in {namespace}"));
        }
        if self.settings.port_name.is_none() && self.settings.port.is_none() {
            let names: Vec<_> = slices.items.iter().flat_map(EndpointSlice::port_names).collect();
            let mut names: Vec<_> = names.into_iter().map(str::to_owned).collect();
            names.sort();
            names.dedup();
            if names.len() > 1 {
                let names = names.join(", ");
                return permanent(format!(
                    "service {service} has several ports: port-name is one of {names}"
                ));
            }
        }
        let workload = &self.settings.workload;
        let mut needed = vec![("update", "apps", workload.resource(), "scale")];
        needed.push(if workload.is_stateful() {
            ("delete", "", "pods", "")
        } else {
            ("patch", "", "pods", "")
        });
        for (verb, group, resource, subresource) in needed {
            self.may(verb, group, resource, subresource).await?;
        }
        if let Some(other) = self.autoscaler().await {
            return permanent(other);
        }
        drop(look);
        Ok(())
    }

    async fn may(&self, verb: &str, group: &str, resource: &str, subresource: &str) -> Result<(), Failure> {
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": {
                "namespace": self.namespace, "verb": verb, "group": group, "resource": resource, "subresource": subresource,
            } },
        });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let review: AccessReview = self.api.send(&Method::POST, path, Body::Json(&body)).await?;
        if review.status.allowed {
            return Ok(());
        }
        let of = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
        let message = format!("may not {verb} {resource}{of} in namespace {}: give a Role", self.namespace);
        Err(Failure::new(FailureKind::Auth, message))
    }
}

impl Provider for KubernetesProvider {
    fn machines(&self) -> Answer<'_, Vec<Machine>> {
        Box::pin(async {
            let look = self.look().await?;
            let places = Places::new(self.slices().await?, self.settings.port_name.as_deref());
            Ok(look.machines(&self.settings, &places, SystemTime::now()))
        })
    }

    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine> {
        Box::pin(async move {
            if order.again {
                let message = "was begun, and is not done again: it is decided anew on what there is";
                return Err(Failure::new(FailureKind::Conflict, message));
            }
            let work = async |tokens| self.raise(tokens).await;
            self.raising.join(order.token.clone(), &self.turn, work).await
        })
    }

    fn start<'a>(&'a self, _: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async { Err(never("started")) })
    }

    fn stop<'a>(&'a self, _: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async { Err(never("stopped")) })
    }

    fn delete<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async {
            let work = async |ids| self.lower(ids).await;
            self.lowering.join(id.clone(), &self.turn, work).await
        })
    }

    fn room(&self) -> Answer<'_, Option<u32>> {
        Box::pin(async { Ok(None) })
    }

    fn verify(&self) -> Answer<'_, ()> {
        Box::pin(self.check())
    }

    fn tend(&self) -> Answer<'_, ()> {
        Box::pin(self.complain())
    }

    /// A request that was cut off may still be on its way.
    fn settling(&self) -> Duration {
        self.settings.timeout
    }
}

fn never(what: &str) -> Failure {
    Failure::new(FailureKind::Permanent, format!("a pod cannot be {what}: a fleet of pods has no standby"))
}
