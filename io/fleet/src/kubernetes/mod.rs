//! Provider whose machines are the pods of a Deployment or a StatefulSet. The scale subresource holds their
//! number, and the EndpointSlices of a Service hold their addresses.
//!
//! A Deployment deletes the pod with the lowest cost (`controller.kubernetes.io/pod-deletion-cost`), so a
//! drained pod is marked first. A StatefulSet deletes its last pod, so that one must be drained. All pods of
//! the workload belong to the fleet; nothing else is changed.
//!
//! The cluster stores the wanted number of pods, so an aborted creation is not repeated. A new decision takes
//! the pods that are still to be created into account. Pods cannot be stopped and started again.

mod api;
mod cluster;
mod find;
mod look;
mod objects;
mod scale;
mod settings;

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1 as corev1;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ListParams, PostParams};
use kube::core::{NamespaceResourceScope, Selector};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::Instant;

use self::api::ApiServer;
pub use self::cluster::Cluster;
pub use self::find::Surroundings;
use self::look::{Look, Places};
use self::objects::{Pod, Slice, Workload as Written};
pub use self::settings::{KubernetesSettings, Workload};
use crate::batch::Batch;
use crate::{Answer, Failure, FailureKind, Machine, MachineId, Order, Provider, Token};

/// Provider for the pods of a workload.
#[derive(Debug)]
pub struct KubernetesProvider {
    settings: KubernetesSettings,
    namespace: String,
    server: ApiServer,
    /// Lock for changes of the number of replicas.
    turn: Mutex<()>,
    raising: Batch<Token, Machine>,
    lowering: Batch<MachineId, ()>,
    /// Last number of replicas; `None` = unknown, or possibly changed by this fleet.
    replicas: Cell<Option<u32>>,
    /// Other clients that scale the workload.
    others: RefCell<Others>,
}

/// Information about other clients that scale the workload.
#[derive(Debug, Default)]
struct Others {
    /// Message about a change by another client that was not reported yet.
    change: Option<String>,
    autoscaler: Option<String>,
    asked: Option<Instant>,
}

/// Interval between checks for autoscalers.
const AUTOSCALERS_EVERY: Duration = Duration::from_secs(60);

impl KubernetesProvider {
    /// Creates a provider; sends no request yet.
    pub fn new(settings: KubernetesSettings) -> Self {
        let of_cluster = || settings.cluster.config.default_namespace.clone();
        let namespace = settings.namespace.clone().unwrap_or_else(of_cluster);
        let server = ApiServer::new(settings.cluster.clone(), settings.timeout);
        Self {
            settings,
            namespace,
            server,
            turn: Mutex::new(()),
            raising: Batch::default(),
            lowering: Batch::default(),
            replicas: Cell::new(None),
            others: RefCell::default(),
        }
    }

    /// Names the workload in error messages.
    fn place(&self) -> String {
        format!("{} in namespace {}", self.settings.workload, self.namespace)
    }

    async fn workload(&self) -> Result<Written, Failure> {
        let (what, namespace) = (format!("get {}", self.place()), self.namespace.as_str());
        let asked = match &self.settings.workload {
            Workload::Deployment(name) => {
                let get = async |client| Api::<Deployment>::namespaced(client, namespace).get(name).await;
                self.server.ask(what, get).await.map(Written::from)
            }
            Workload::StatefulSet(name) => {
                let get = async |client| Api::<StatefulSet>::namespaced(client, namespace).get(name).await;
                self.server.ask(what, get).await.map(Written::from)
            }
        };
        asked.map_err(|failure| match failure.kind {
            FailureKind::NotFound => {
                Failure::new(FailureKind::Permanent, format!("there is no {}", self.place()))
            }
            _ => failure,
        })
    }

    /// Lists the objects of a kind.
    async fn list<K>(&self, wanted: &ListParams) -> Result<Vec<K>, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let what = format!("list {} in namespace {}", K::plural(&()), self.namespace);
        let list = async |client| Api::<K>::namespaced(client, &self.namespace).list(wanted).await;
        Ok(self.server.ask(what, list).await?.items)
    }

    /// Reads the workload and its pods.
    async fn look(&self) -> Result<Look, Failure> {
        let workload = self.workload().await?;
        self.compare(&workload);
        let selector = Selector::try_from(workload.selector.clone()).map_err(|cause| {
            Failure::new(FailureKind::Permanent, format!("{}: selector: {cause}", self.place()))
        })?;
        let labelled = ListParams::default().labels_from(&selector);
        // ReplicaSets are read first, because each exists before its pods.
        let sets = match self.settings.workload {
            Workload::Deployment(_) => Some(self.list::<ReplicaSet>(&labelled).await?),
            Workload::StatefulSet(_) => None,
        };
        let pods = self.list::<corev1::Pod>(&labelled).await?.into_iter().map(Pod::from).collect();
        Ok(Look::new(workload, sets.as_deref(), pods))
    }

    /// Detects a change of the number by another client.
    fn compare(&self, workload: &Written) {
        let now = workload.replicas;
        if let Some(before) = self.replicas.replace(Some(now)).filter(|before| *before != now) {
            let by = workload.scaled_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            self.others.borrow_mut().change = Some(format!(
                "{} was scaled from {before} to {now}{by}, and not by this fleet: two that scale work against each other",
                self.settings.workload
            ));
        }
    }

    async fn slices(&self) -> Result<Vec<Slice>, Failure> {
        let of_service = format!("kubernetes.io/service-name={}", self.settings.service);
        let slices = self.list::<EndpointSlice>(&ListParams::default().labels(&of_service)).await?;
        Ok(slices.into_iter().map(Slice::from).collect())
    }

    /// Returns a message about a HorizontalPodAutoscaler for the same workload. Returns nothing if Weir lacks
    /// the permission to list them.
    async fn autoscaler(&self) -> Option<String> {
        let all = self.list::<HorizontalPodAutoscaler>(&ListParams::default()).await.ok()?;
        let workload = &self.settings.workload;
        let found = all.into_iter().find(|of| {
            let target = &of.spec.scale_target_ref;
            target.kind == workload.kind() && target.name == workload.name()
        })?;
        let name = found.metadata.name.unwrap_or_default();
        Some(format!("HorizontalPodAutoscaler {name} scales {workload}, too: one of the two has to go"))
    }

    /// Reports other clients that scale the workload.
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
        if slices.is_empty() {
            let namespace = &self.namespace;
            return permanent(format!("there is no service {service:?} with EndpointSlices in {namespace}"));
        }
        if self.settings.port_name.is_none() && self.settings.port.is_none() {
            let ports = slices.iter().flat_map(|slice| &slice.ports);
            let mut names: Vec<&str> = ports.map(|(name, _)| name.as_str()).collect();
            names.sort_unstable();
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
        let attributes = ResourceAttributes {
            namespace: Some(self.namespace.clone()),
            verb: Some(verb.to_owned()),
            group: Some(group.to_owned()),
            resource: Some(resource.to_owned()),
            subresource: Some(subresource.to_owned()),
            ..ResourceAttributes::default()
        };
        let spec =
            SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let question = SelfSubjectAccessReview { spec, ..Default::default() };
        let ask = async |client| Api::all(client).create(&PostParams::default(), &question).await;
        let answer = self.server.ask("ask what is permitted", ask).await?;
        if answer.status.is_some_and(|status| status.allowed) {
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
            // A list during this fleet's own scaling would look like a change by another client.
            let _turn = self.turn.lock().await;
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

    /// Returns the timeout of a request, because an aborted request may take effect until then.
    fn settling(&self) -> Duration {
        self.settings.timeout
    }
}

fn never(what: &str) -> Failure {
    Failure::new(FailureKind::Permanent, format!("a pod cannot be {what}: a fleet of pods has no standby"))
}
