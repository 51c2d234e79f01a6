//! Provider for fleets of pods, in builds with Kubernetes.

use weir_config::plan::{FleetPlan, FleetPods};

use crate::Provider;

/// Creates the provider of a fleet; sends no request yet.
#[cfg(feature = "kubernetes")]
pub(crate) fn provider(plan: &FleetPlan, of: &FleetPods) -> Result<Box<dyn Provider>, String> {
    use weir_config::plan::FleetWorkload;

    use crate::kubernetes::{KubernetesProvider, KubernetesSettings, Surroundings, Workload};

    let surroundings = Surroundings::of_process();
    let cluster = surroundings.cluster(of.kubeconfig.as_deref(), of.context.as_deref())?;
    let workload = match &of.workload {
        FleetWorkload::Deployment(name) => Workload::Deployment(name.clone()),
        FleetWorkload::StatefulSet(name) => Workload::StatefulSet(name.clone()),
    };
    Ok(Box::new(KubernetesProvider::new(KubernetesSettings {
        namespace: of.namespace.clone(),
        port_name: of.port_name.clone(),
        port: plan.port,
        start_timeout: of.start_timeout.duration(),
        timeout: of.timeout.duration(),
        ..KubernetesSettings::new(plan.name.as_str(), cluster, workload, &of.service)
    })))
}

/// Returns an error, because this build has no Kubernetes.
#[cfg(not(feature = "kubernetes"))]
pub(crate) fn provider(_: &FleetPlan, _: &FleetPods) -> Result<Box<dyn Provider>, String> {
    Err("this build has no Kubernetes: build with --features kubernetes".to_owned())
}
