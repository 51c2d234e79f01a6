//! Tests of the provider with a real control plane: API server, controllers, scheduler, and pods without a
//! kubelet. `make test-kubernetes` starts one and runs these tests with WEIR_KUBERNETES set; other runs omit
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use weir_fleet::kubernetes::{Cluster, KubernetesProvider, KubernetesSettings, Surroundings, Workload};
use weir_fleet::{
    Actuator, FailureKind, Lease, Machine, MachineId, MachineState, Order, Provider, Steps, Token,
};
use weir_testkit::TempDir;

use crate::tools::run;

const PATIENCE: Duration = Duration::from_secs(120);

fn place(name: &str) -> PathBuf {
    let directory = std::env::var_os("WEIR_KUBERNETES").expect("make test-kubernetes sets WEIR_KUBERNETES");
    Path::new(&directory).join(name)
}

fn cluster(user: &str) -> Cluster {
    let surroundings = Surroundings::of_process();
    surroundings.cluster(Some(&place(&format!("{user}.kubeconfig"))), None).unwrap()
}

/// Runs kubectl as an administrator.
fn kubectl(arguments: &[&str], input: &str) -> String {
    let mut command = Command::new("kubectl");
    command.arg("--kubeconfig").arg(place("admin.kubeconfig")).args(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A workload with its service, which is deleted at the end of the test.
struct Pods {
    name: &'static str,
    kind: &'static str,
    provider: KubernetesProvider,
}

impl Pods {
    fn new(kind: &'static str, name: &'static str, replicas: u32) -> Self {
        let more = if kind == "StatefulSet" { format!("serviceName: {name}, ") } else { String::new() };
        let text = format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{{more}replicas: {replicas}, \
             selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, \
             spec: {{containers: [{{name: web, image: web}}]}}}}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\n\
             spec: {{clusterIP: None, selector: {{app: {name}}}, ports: [{{name: http, port: 8080}}]}}\n"
        );
        kubectl(&["apply", "-f", "-"], &text);
        Self { name, kind, provider: KubernetesProvider::new(settings(kind, name)) }
    }

    async fn until(&self, what: &str, condition: impl Fn(&[Machine]) -> bool) -> Vec<Machine> {
        let end = Instant::now() + PATIENCE;
        loop {
            let machines = self.provider.machines().await.unwrap();
            if condition(&machines) {
                return machines;
            }
            assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}: {machines:#?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn until_running(&self, count: usize) -> Vec<Machine> {
        let all = |machines: &[Machine]| {
            machines.len() == count && machines.iter().all(|of| of.state == MachineState::Running)
        };
        self.until(&format!("{count} run"), all).await
    }

    /// Deletes a pod. Retries while other pods are not ready, which is possible although this one has an
    /// address.
    async fn let_go(&self, id: &MachineId) {
        let end = Instant::now() + PATIENCE;
        while let Err(failure) = self.provider.delete(id).await {
            assert!(failure.kind == FailureKind::Conflict && Instant::now() < end, "{failure}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn replicas(&self) -> String {
        kubectl(&["get", self.kind, self.name, "-o", "jsonpath={.spec.replicas}"], "")
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        let _ = kubectl(&["delete", self.kind, self.name, "--wait=false"], "");
        let _ = kubectl(&["delete", "service", self.name, "--wait=false"], "");
    }
}

fn settings(kind: &str, name: &str) -> KubernetesSettings {
    let workload = match kind {
        "Deployment" => Workload::Deployment(name.to_owned()),
        _ => Workload::StatefulSet(name.to_owned()),
    };
    KubernetesSettings::new(name, cluster("weir"), workload, name)
}

fn names(machines: &[Machine]) -> BTreeSet<&str> {
    machines.iter().map(|machine| machine.id.as_str()).collect()
}

fn order(token: &Token) -> Order<'_> {
    Order { token, again: false }
}

#[test]
#[ignore = "make test-kubernetes"]
fn twelve_pods_at_once_come_and_those_that_are_named_go() {
    let pods = Pods::new("Deployment", "twelve", 2);
    let directory = TempDir::new().unwrap();
    run(async {
        pods.until_running(2).await;
        pods.provider.verify().await.unwrap();
        let open = || {
            let lease = Lease::acquire(&directory.path().join("lease")).unwrap();
            let provider = KubernetesProvider::new(settings("Deployment", "twelve"));
            Actuator::open("twelve", directory.path(), lease, Box::new(provider), Steps::default()).unwrap()
        };
        let actuator = open();
        let made = actuator.create(12).await;
        assert!(made.iter().all(Result::is_ok), "{made:?}");
        let all = pods.until_running(14).await;
        let addresses: BTreeSet<_> = all.iter().filter_map(|machine| machine.ip).collect();
        assert_eq!((addresses.len(), all[0].port), (14, Some(8080)));
        assert!(
            all.iter().all(|machine| machine.zone.as_deref().is_some_and(|zone| zone.starts_with("zone-")))
        );

        // The next process finds the same pods.
        drop(actuator);
        let actuator = open();
        assert_eq!(actuator.settle().await.unwrap(), []);
        // Deletes every second pod, so that no other order of the ReplicaSet would have the same result.
        let mut left = all;
        while left.len() > 2 {
            let goes: Vec<MachineId> = left.iter().step_by(2).map(|machine| machine.id.clone()).collect();
            let results = actuator.delete(&goes).await;
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            left.retain(|machine| !goes.contains(&machine.id));
            let now = pods.until_running(left.len()).await;
            assert_eq!(names(&now), names(&left));
        }
    });
}

#[test]
#[ignore = "make test-kubernetes"]
fn the_named_pod_goes_each_time() {
    let pods = Pods::new("Deployment", "each", 3);
    run(async {
        for round in 0..10 {
            let before = pods.until_running(3).await;
            let goes = &before[round % 3].id;
            pods.let_go(goes).await;
            let after = pods.until_running(2).await;
            assert!(!names(&after).contains(goes.as_str()), "round {round}: {goes} stayed");
            assert!(names(&after).is_subset(&names(&before)));
            let token = Token::fresh("each").unwrap();
            let made = pods.provider.create(order(&token)).await.unwrap();
            assert!(!names(&before).contains(made.id.as_str()));
        }
    });
}

#[test]
#[ignore = "make test-kubernetes"]
fn nobody_goes_while_a_pod_is_not_ready() {
    let pods = Pods::new("Deployment", "unready", 2);
    run(async {
        let all = pods.until_running(2).await;
        // The new pod finds no node and stays pending.
        let large = r#"{"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 0}}, "template": {"spec": {"nodeSelector": {"no": "such"}}}}}"#;
        kubectl(&["patch", "deployment", "unready", "-p", large], "");
        pods.until("the other generation", |machines| machines.len() == 3).await;
        let failure = pods.provider.delete(&all[0].id).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Conflict);
        assert!(failure.message.contains("a rollout is under way"), "{failure}");
        assert_eq!(pods.replicas(), "2");
    });
}

#[test]
#[ignore = "make test-kubernetes"]
fn of_a_stateful_set_the_last_goes_and_one_from_the_middle_comes_back() {
    let pods = Pods::new("StatefulSet", "numbered", 2);
    run(async {
        pods.until_running(2).await;
        pods.provider.verify().await.unwrap();
        let token = Token::fresh("numbered").unwrap();
        assert_eq!(pods.provider.create(order(&token)).await.unwrap().id.as_str(), "numbered-2");
        let all = pods.until_running(3).await;
        let middle = all.iter().find(|machine| machine.id.as_str() == "numbered-1").unwrap();
        // The new pod may have the same address.
        let uid = || {
            let which = ["get", "pod", "numbered-1", "--ignore-not-found", "-o", "jsonpath={.metadata.uid}"];
            kubectl(&which, "")
        };
        let before = uid();
        pods.provider.delete(&middle.id).await.unwrap();
        let is_anew = |machines: &[Machine]| {
            uid() != before
                && machines.iter().any(|of| of.id == middle.id && of.state == MachineState::Running)
        };
        pods.until("it comes back", is_anew).await;
        pods.provider.delete(&MachineId("numbered-2".to_owned())).await.unwrap();
        let left = pods.until_running(2).await;
        assert_eq!(names(&left), BTreeSet::from(["numbered-0", "numbered-1"]));
    });
}

#[test]
#[ignore = "make test-kubernetes"]
fn another_who_scales_is_noticed() {
    let pods = Pods::new("Deployment", "contended", 2);
    run(async {
        pods.until_running(2).await;
        pods.provider.tend().await.unwrap();
        kubectl(&["scale", "deployment", "contended", "--replicas=4"], "");
        pods.until_running(4).await;
        let failure = pods.provider.tend().await.unwrap_err();
        assert!(failure.message.contains("was scaled from 2 to 4 by kubectl"), "{failure}");
        kubectl(&["autoscale", "deployment", "contended", "--max=5", "--cpu=50%"], "");
        let failure = pods.provider.verify().await.unwrap_err();
        assert!(failure.message.starts_with("HorizontalPodAutoscaler contended scales"), "{failure}");
        kubectl(&["delete", "horizontalpodautoscaler", "contended"], "");
    });
}

#[test]
#[ignore = "make test-kubernetes"]
fn a_quota_is_said_to_be_one() {
    let text = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: small}\nspec: {hard: {pods: '2'}}\n";
    kubectl(&["create", "namespace", "small"], "");
    kubectl(&["apply", "--namespace", "small", "-f", "-"], text);
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, selector: {matchLabels: {app: web}}, \
                      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}\n";
    kubectl(&["apply", "--namespace", "small", "-f", "-"], deployment);
    let settings = KubernetesSettings {
        namespace: Some("small".to_owned()),
        cluster: cluster("admin"),
        ..settings("Deployment", "web")
    };
    let provider = KubernetesProvider::new(settings);
    run(async {
        let end = Instant::now() + PATIENCE;
        while provider.machines().await.unwrap().iter().any(|of| of.id.as_str().contains("awaited")) {
            assert!(Instant::now() < end);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let token = Token::fresh("web").unwrap();
        let failure = provider.create(order(&token)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Quota, "{failure}");
        let get = ["get", "deployment", "web", "--namespace", "small", "-o", "jsonpath={.spec.replicas}"];
        assert_eq!(kubectl(&get, ""), "2");
    });
    kubectl(&["delete", "namespace", "small", "--wait=false"], "");
}

#[test]
#[ignore = "make test-kubernetes"]
fn who_may_not_is_told_what() {
    let pods = Pods::new("Deployment", "forbidden", 1);
    let settings = KubernetesSettings { cluster: cluster("nobody"), ..settings("Deployment", "forbidden") };
    let provider = KubernetesProvider::new(settings);
    run(async {
        pods.until_running(1).await;
        let failure = provider.machines().await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.message.contains("User \"nobody\" cannot get resource \"deployments\""), "{failure}");
        assert_eq!(provider.verify().await.unwrap_err().kind, FailureKind::Auth);
        // The user may read, but not change anything.
        let resources = "--resource=deployments.apps,replicasets.apps,pods,endpointslices.discovery.k8s.io";
        kubectl(&["create", "role", "viewer", "--verb=get,list", resources], "");
        kubectl(&["create", "rolebinding", "viewer", "--role=viewer", "--user=nobody"], "");
        let end = Instant::now() + PATIENCE;
        while provider.machines().await.is_err() {
            assert!(Instant::now() < end);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let failure = provider.verify().await.unwrap_err();
        assert_eq!(failure.message, "may not update deployments/scale in namespace default: give a Role");
        let token = Token::fresh("forbidden").unwrap();
        let failure = provider.create(order(&token)).await.unwrap_err();
        assert!(failure.message.contains("cannot update resource \"deployments/scale\""), "{failure}");
        kubectl(&["delete", "rolebinding", "viewer"], "");
        assert_eq!(pods.replicas(), "1");
    });
}

#[test]
#[ignore = "make test-kubernetes"]
fn a_pod_s_service_account_is_enough() {
    let pods = Pods::new("Deployment", "within", 1);
    let account = TempDir::new().unwrap();
    fs::write(account.path().join("token"), kubectl(&["create", "token", "weir"], "")).unwrap();
    fs::copy(place("pki/apiserver.crt"), account.path().join("ca.crt")).unwrap();
    fs::write(account.path().join("namespace"), "default").unwrap();
    let surroundings = Surroundings {
        variable: &|name| match name {
            "KUBERNETES_SERVICE_HOST" => Some("127.0.0.1".to_owned()),
            "KUBERNETES_SERVICE_PORT" => Some("6443".to_owned()),
            _ => None,
        },
        home: None,
        service_account: account.path().to_owned(),
    };
    let cluster = surroundings.cluster(None, None).unwrap();
    let settings = KubernetesSettings { cluster, ..settings("Deployment", "within") };
    let provider = KubernetesProvider::new(settings);
    run(async {
        pods.until_running(1).await;
        provider.verify().await.unwrap();
        let token = Token::fresh("within").unwrap();
        provider.create(order(&token)).await.unwrap();
        pods.until_running(2).await;
    });
}
