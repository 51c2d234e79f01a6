//! Changes of the number of replicas, the only changed property of a workload.
//!
//! Each change names the version of the workload on which it is based, so one of two simultaneous changes is
//! refused. The number itself records the change; no other record is necessary.

use std::collections::HashSet;
use std::time::SystemTime;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec};
use k8s_openapi::api::core::v1 as corev1;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::look::{COST_KEY, COST_LEAST, Look, awaited, by_name, machine, pod_of};
use super::objects::{Pod, count};
use super::{KubernetesProvider, Workload};
use crate::{Failure, FailureKind, Machine, MachineId, Token};

/// Maximum number of attempts if a change is refused because the workload has a newer version. The pauses
/// between them grow. Refusals are common, because the status changes often.
const TRIES_MAX: u32 = 8;
const CONFLICT_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
/// Field manager under which the cluster records Weir's changes.
const MANAGER: &str = "weir";
/// Pause between two checks of the controllers' progress.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

impl KubernetesProvider {
    /// Adds pods.
    pub(super) async fn raise(&self, tokens: Vec<Token>) -> Vec<(Token, Result<Machine, Failure>)> {
        let mut made = match self.raise_by(tokens.len() as u32).await {
            Ok(made) => made.into_iter(),
            Err(failure) => return tokens.into_iter().map(|token| (token, Err(failure.clone()))).collect(),
        };
        let lost = || Err(Failure::new(FailureKind::Transient, "no pod was made"));
        tokens.into_iter().map(|token| (token, made.next().unwrap_or_else(lost))).collect()
    }

    async fn raise_by(&self, count: u32) -> Result<Vec<Result<Machine, Failure>>, Failure> {
        let look = self.look().await?;
        let from = look.workload.replicas;
        let to = from.saturating_add(count);
        self.set_replicas(&look, to).await?;
        let workload = &self.settings.workload;
        if workload.is_stateful() {
            // The names are known, and a pod may be created only when the previous one is ready.
            let first = look.workload.first;
            let names = (from..to).map(|at| pod_of(workload.name(), first.saturating_add(at)));
            return Ok(names.map(|name| Ok(awaited(name, None))).collect());
        }
        let before: HashSet<String> = look.pods.iter().map(|pod| pod.name.clone()).collect();
        let end = Instant::now() + self.settings.settle_timeout;
        loop {
            // The change has been made, so a failed request must not appear as if nothing happened.
            let uncertain = |failure| Failure { kind: FailureKind::Uncertain, ..failure };
            let look = self.look().await.map_err(uncertain)?;
            let mut fresh: Vec<&Pod> = look.active().filter(|pod| !before.contains(&pod.name)).collect();
            if fresh.len() >= count as usize || Instant::now() >= end {
                fresh.truncate(count as usize);
                let found = fresh
                    .iter()
                    .map(|pod| Ok(machine(pod, None, self.settings.start_timeout, SystemTime::now())));
                let mut results: Vec<_> = found.collect();
                let missing = count - results.len() as u32;
                if missing > 0 {
                    let failure = self.give_up(&look, missing).await;
                    results.extend((0..missing).map(|_| Err(failure.clone())));
                }
                return Ok(results);
            }
            sleep(PAUSE).await;
        }
    }

    /// Withdraws the request for pods that were not created, so that the next decision does not expect them.
    async fn give_up(&self, look: &Look, missing: u32) -> Failure {
        let why = look.workload.replica_failure.clone();
        let is_quota = why.as_ref().is_some_and(|why| why.contains("quota"));
        let kind = if is_quota { FailureKind::Quota } else { FailureKind::Transient };
        let waited = self.settings.settle_timeout.as_millis();
        let why = why.unwrap_or_else(|| "does the controller manager run?".to_owned());
        let failure =
            Failure::new(kind, format!("{}: no pod within {waited} ms: {why}", self.settings.workload));
        let back = look.workload.replicas.saturating_sub(missing);
        match self.set_replicas(look, back).await {
            Ok(()) => failure,
            Err(other) => failure.of(format_args!("{other}; {missing} are still asked for")),
        }
    }

    /// Deletes these pods and reduces the number of replicas.
    pub(super) async fn lower(&self, ids: Vec<MachineId>) -> Vec<(MachineId, Result<(), Failure>)> {
        let looked = match self.look().await {
            Ok(look) if self.settings.workload.is_stateful() => self.lower_last(&look, &ids).await,
            Ok(look) => self.lower_marked(look, &ids).await,
            Err(failure) => Err(failure),
        };
        match looked {
            Ok(results) => ids.into_iter().zip(results).collect(),
            Err(failure) => ids.into_iter().map(|id| (id, Err(failure.clone()))).collect(),
        }
    }

    /// Reduces a Deployment: marks the pods with the lowest deletion cost, so that the ReplicaSet deletes
    /// them.
    async fn lower_marked(&self, look: Look, ids: &[MachineId]) -> Result<Vec<Result<(), Failure>>, Failure> {
        let active = by_name(look.active());
        let goers: Vec<&Pod> = ids.iter().filter_map(|id| active.get(id.as_str()).copied()).collect();
        let missing = look.workload.replicas.saturating_sub(active.len() as u32);
        // A pod that does not exist yet is withdrawn by reducing the number.
        let prefix = format!("{}-awaited-", self.settings.workload.name());
        let unmade = ids.iter().filter(|id| id.as_str().starts_with(&prefix)).count() as u32;
        let unmade = unmade.min(missing);
        self.permit(&look, &goers)?;
        let under_way = goers.iter().filter(|pod| pod.is_marked).count() as u32;
        let fewer = unmade + goers.len() as u32 - under_way.min(look.surplus());
        let is_goer = |pod: &Pod| goers.iter().any(|goer| goer.name == pod.name);
        for pod in look.active() {
            match (is_goer(pod), pod.is_marked) {
                (true, false) => self.mark(pod, &json!(COST_LEAST)).await?,
                // An earlier deletion of this pod was cancelled.
                (false, true) => self.mark(pod, &Value::Null).await?,
                _ => {}
            }
        }
        if fewer > 0 {
            self.set_replicas(&look, look.workload.replicas.saturating_sub(fewer)).await?;
        }
        let others: HashSet<String> =
            look.active().filter(|pod| !is_goer(pod)).map(|pod| pod.name.clone()).collect();
        let end = Instant::now() + self.settings.settle_timeout;
        let after = loop {
            // The change was accepted; later lists show the result.
            let Ok(after) = self.look().await else { return Ok(ids.iter().map(|_| Ok(())).collect()) };
            if after.surplus() == 0 || Instant::now() >= end {
                break after;
            }
            sleep(PAUSE).await;
        };
        let left = by_name(after.active());
        let strangers: Vec<&str> =
            others.iter().map(String::as_str).filter(|name| !left.contains_key(name)).collect();
        let stayed = |id: &MachineId| after.surplus() == 0 && left.contains_key(id.as_str());
        Ok(ids
            .iter()
            .map(|id| {
                if !stayed(id) {
                    return Ok(());
                }
                let message = format!(
                    "{}: {id} was to go, and is still there; gone is {}",
                    self.settings.workload,
                    strangers.join(", ")
                );
                Err(Failure::new(FailureKind::Conflict, message))
            })
            .collect())
    }

    /// Checks that the ReplicaSet would delete exactly these pods.
    fn permit(&self, look: &Look, goers: &[&Pod]) -> Result<(), Failure> {
        let Some(last) = goers.iter().map(|pod| pod.rank()).max() else { return Ok(()) };
        let conflict = |why: String| {
            Err(Failure::new(FailureKind::Conflict, format!("{}: {why}", self.settings.workload)))
        };
        if look.is_rolling_out() {
            return conflict("a rollout is under way, in which any pod may go: it is waited for".to_owned());
        }
        let is_goer = |pod: &Pod| goers.iter().any(|goer| goer.name == pod.name);
        match look.active().find(|pod| !is_goer(pod) && pod.rank() < last) {
            Some(other) => conflict(format!(
                "{} is not ready, and would go in place of one that has drained: it is waited for",
                other.name
            )),
            None => Ok(()),
        }
    }

    /// Reduces a StatefulSet, which deletes its last pods. A pod before them can only be recreated by the
    /// StatefulSet.
    async fn lower_last(&self, look: &Look, ids: &[MachineId]) -> Result<Vec<Result<(), Failure>>, Failure> {
        let name = self.settings.workload.name();
        let all: Vec<String> = look.ordinals().map(|ordinal| pod_of(name, ordinal)).collect();
        let is_asked = |pod: &&String| ids.iter().any(|id| id.as_str() == pod.as_str());
        let last = all.iter().rev().take_while(is_asked).count();
        let kept = all.len() - last;
        if last > 0 {
            self.set_replicas(look, kept as u32).await?;
        }
        let mut results = Vec::with_capacity(ids.len());
        for id in ids {
            let at = all.iter().position(|pod| pod == id.as_str());
            results.push(match at {
                Some(at) if at < kept => self.renew(look, id).await,
                // The pod is being deleted, or is gone.
                _ => Ok(()),
            });
        }
        Ok(results)
    }

    async fn renew(&self, look: &Look, id: &MachineId) -> Result<(), Failure> {
        let Some(pod) = look.active().find(|pod| pod.name == id.as_str()) else { return Ok(()) };
        let same = Preconditions { uid: Some(pod.uid.clone()), resource_version: None };
        let wanted = DeleteParams { preconditions: Some(same), ..DeleteParams::default() };
        let delete = async |client| {
            Api::<corev1::Pod>::namespaced(client, &self.namespace).delete(&pod.name, &wanted).await
        };
        let what = format!("delete pod {} in namespace {}", pod.name, self.namespace);
        match self.server.change(what, delete).await {
            Err(failure) if failure.kind == FailureKind::NotFound => Ok(()),
            result => result.map(drop),
        }
    }

    async fn mark(&self, pod: &Pod, cost: &Value) -> Result<(), Failure> {
        let body = json!({ "metadata": { "uid": pod.uid, "annotations": { COST_KEY: cost } } });
        let ours = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(&body);
        let mark = async |client| {
            Api::<corev1::Pod>::namespaced(client, &self.namespace).patch(&pod.name, &ours, &patch).await
        };
        let what = format!("mark pod {} in namespace {}", pod.name, self.namespace);
        match self.server.change(what, mark).await {
            Err(failure) if failure.kind == FailureKind::NotFound => Ok(()),
            // A mark alone has no effect, so it may be set again.
            Err(failure) if failure.kind == FailureKind::Uncertain => {
                Err(Failure { kind: FailureKind::Transient, ..failure })
            }
            result => result.map(drop),
        }
    }

    async fn set_replicas(&self, look: &Look, to: u32) -> Result<(), Failure> {
        let from = look.workload.replicas;
        let mut version = look.workload.version.clone();
        for tries in 0..TRIES_MAX {
            match self.put_scale(version, to).await {
                Ok(scale) => {
                    self.replicas.set(Some(scale.spec.and_then(|spec| spec.replicas).map_or(0, count)));
                    return Ok(());
                }
                Err(failure) if failure.kind == FailureKind::Conflict => {
                    sleep(CONFLICT_PAUSE * (1 << tries)).await;
                    let now = self.workload().await?;
                    if now.replicas != from || now.uid != look.workload.uid {
                        return Err(failure.of("somebody else scales it, too: it is decided anew"));
                    }
                    version = now.version;
                }
                Err(failure) => {
                    // The next change may be this fleet's own.
                    self.replicas.set(None);
                    return Err(failure);
                }
            }
        }
        Err(Failure::new(FailureKind::Conflict, format!("{} changes all the time", self.settings.workload)))
    }

    /// Uses the scale subresource, so that Weir needs no permission for the whole workload.
    async fn put_scale(&self, version: Option<String>, to: u32) -> Result<Scale, Failure> {
        let (workload, namespace) = (&self.settings.workload, self.namespace.as_str());
        let wanted = Scale {
            metadata: ObjectMeta {
                name: Some(workload.name().to_owned()),
                namespace: Some(namespace.to_owned()),
                resource_version: version,
                ..ObjectMeta::default()
            },
            spec: Some(ScaleSpec { replicas: Some(i32::try_from(to).unwrap_or(i32::MAX)) }),
            status: None,
        };
        let ours = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let what = format!("scale {} to {to}", self.place());
        let put = async |client| match workload {
            Workload::Deployment(name) => {
                Api::<Deployment>::namespaced(client, namespace).replace_scale(name, &ours, &wanted).await
            }
            Workload::StatefulSet(name) => {
                Api::<StatefulSet>::namespaced(client, namespace).replace_scale(name, &ours, &wanted).await
            }
        };
        self.server.change(what, put).await
    }
}
