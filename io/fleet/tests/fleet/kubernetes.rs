//! Tests of the Kubernetes provider with a fake cluster.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::json;
use weir_fleet::kubernetes::{Cluster, KubernetesProvider, KubernetesSettings, Surroundings, Workload};
use weir_fleet::{
    Actuator, Failure, FailureKind, Lease, Machine, MachineId, MachineState, Order, Provider, Steps,
};
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

use crate::fake_cluster::{FakeCluster, Fault, PODS, WEB, pod};
use crate::tools::{run, token};

const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/web/scale";

/// Returns the cluster of a kubeconfig with this server and this user.
fn cluster(server: &str, user: &str) -> Cluster {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("config");
    let text = format!(
        "current-context: test\ncontexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n\
         clusters: [{{name: test, cluster: {{server: '{server}'}}}}]\nusers: [{{name: test, user: {{{user}}}}}]\n"
    );
    fs::write(&file, text).unwrap();
    let nowhere =
        Surroundings { variable: &|_| None, home: None, service_account: directory.path().to_owned() };
    nowhere.cluster(Some(&file), None).unwrap()
}

fn server(fake: &FakeCluster) -> String {
    format!("http://{}", fake.address)
}

fn settings(fake: &FakeCluster) -> KubernetesSettings {
    let cluster = cluster(&server(fake), "token: secret");
    let workload = match fake.state().kind {
        "Deployment" => Workload::Deployment("web".to_owned()),
        _ => Workload::StatefulSet("web".to_owned()),
    };
    let mut settings = KubernetesSettings::new("web", cluster, workload, "web");
    settings.settle_timeout = Duration::from_millis(300);
    settings
}

fn provider(fake: &FakeCluster) -> KubernetesProvider {
    KubernetesProvider::new(settings(fake))
}

fn id(text: &str) -> MachineId {
    MachineId(text.to_owned())
}

fn create(provider: &KubernetesProvider, name: &str) -> Result<Machine, Failure> {
    run(provider.create(Order { token: &token(name), again: false }))
}

fn ids(machines: &[Machine]) -> Vec<&str> {
    machines.iter().map(|machine| machine.id.as_str()).collect()
}

fn actuator(directory: &Path, provider: KubernetesProvider) -> Actuator {
    let lease = Lease::acquire(&directory.join("lease")).unwrap();
    Actuator::open("web", directory, lease, Box::new(provider), Steps::default()).unwrap()
}

#[test]
fn pods_are_told_with_the_addresses_of_the_endpoint_slices() {
    let fake = FakeCluster::start("Deployment", 2);
    {
        let mut state = fake.state();
        state.pods.push(pod("alien", "uid-alien", "alien", Some("10.9.9.9")));
        let mut ended = pod("ended", "uid-ended", "set-1", None);
        ended["status"]["phase"] = json!("Failed");
        let mut starting = pod("starting", "uid-starting", "set-1", None);
        starting["metadata"]["creationTimestamp"] = json!("2999-01-01T00:00:00Z");
        let waiting = json!({ "reason": "ImagePullBackOff", "message": "no such image" });
        starting["status"]["containerStatuses"] = json!([{ "state": { "waiting": waiting } }]);
        let mut leaving = pod("leaving", "uid-leaving", "set-1", Some("10.0.0.9"));
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:01Z");
        let overdue = pod("overdue", "uid-overdue", "set-1", None);
        state.idle = true;
        state.replicas = 5;
        state.pods.extend([ended, starting, leaving, overdue]);
    }
    let machines = run(provider(&fake).machines()).unwrap();
    let names = ["web-abc-1", "web-abc-2", "starting", "leaving", "overdue", "web-awaited-0"];
    assert_eq!(ids(&machines), names);
    use MachineState::{Building, Deleting, Failed, Running};
    let states: Vec<_> = machines.iter().map(|machine| machine.state).collect();
    assert_eq!(states, [Running, Running, Building, Deleting, Failed, Building]);
    assert_eq!(machines[0].ip, Some("10.0.0.1".parse::<IpAddr>().unwrap()));
    assert_eq!((machines[0].port, machines[0].zone.as_deref()), (Some(8080), Some("az1")));
    assert_eq!(machines[0].created_s, Some(1_767_225_600));
    assert_eq!(machines[2].note.as_deref(), Some("ImagePullBackOff: no such image"));
}

#[test]
fn a_port_of_several_is_named_and_that_of_the_fleet_counts_more() {
    let fake = FakeCluster::start("Deployment", 1);
    fake.state().ports = json!([{ "name": "http", "port": 8080 }, { "name": "metrics", "port": 9090 }]);
    let port = |change: fn(&mut KubernetesSettings)| {
        let mut settings = settings(&fake);
        change(&mut settings);
        run(KubernetesProvider::new(settings).machines()).unwrap()[0].port
    };
    assert_eq!(port(|_| ()), None);
    assert_eq!(port(|settings| settings.port_name = Some("metrics".to_owned())), Some(9090));
    assert_eq!(port(|settings| settings.port = Some(80)), Some(80));
    let failure = run(provider(&fake).verify()).unwrap_err();
    assert_eq!(failure.message, "service web has several ports: port-name is one of http, metrics");
}

#[test]
fn pods_that_are_asked_for_together_are_one_change_of_the_number() {
    let fake = FakeCluster::start("Deployment", 1);
    let directory = TempDir::new().unwrap();
    let actuator = actuator(directory.path(), provider(&fake));
    let made = run(actuator.create(12));
    assert!(made.iter().all(Result::is_ok), "{made:?}");
    assert_eq!((fake.replicas(), fake.names().len()), (13, 13));
    assert_eq!(fake.count("PUT"), 1);
    let all: Vec<MachineId> = made.into_iter().map(|machine| machine.unwrap().id).collect();
    let gone = run(actuator.delete(&all));
    assert!(gone.iter().all(Result::is_ok), "{gone:?}");
    assert_eq!(fake.names(), ["web-abc-1"]);
    assert_eq!(fake.count("PUT"), 2);
}

#[test]
fn the_pod_that_has_drained_is_the_one_that_goes() {
    let fake = FakeCluster::start("Deployment", 4);
    let provider = provider(&fake);
    let cost = "controller.kubernetes.io/pod-deletion-cost";
    // The first pod was marked before Weir was killed, but stayed. Another client has given the second one a
    // low cost.
    fake.state().pods[0]["metadata"]["annotations"][cost] = json!("-2147483648");
    fake.state().pods[1]["metadata"]["annotations"][cost] = json!("-100");
    run(provider.delete(&id("web-abc-3"))).unwrap();
    assert_eq!(fake.names(), ["web-abc-1", "web-abc-2", "web-abc-4"]);
    let annotations = |at: usize| fake.state().pods[at]["metadata"]["annotations"].clone();
    assert_eq!((annotations(0), annotations(1)), (json!({}), json!({ cost: "-100" })));
    run(provider.delete(&id("web-abc-3"))).unwrap();
    assert_eq!(fake.names().len(), 3, "what is gone is gone");
}

#[test]
fn nobody_goes_while_another_would_go_in_its_place() {
    let fake = FakeCluster::start("Deployment", 3);
    let provider = provider(&fake);
    fake.state().pods[0]["status"]["conditions"][0]["status"] = json!("False");
    let failure = run(provider.delete(&id("web-abc-2"))).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Conflict);
    assert!(failure.message.contains("web-abc-1 is not ready"), "{failure}");
    fake.state().pods[0]["status"]["conditions"][0]["status"] = json!("True");
    fake.state().pods[0]["metadata"]["ownerReferences"][0]["uid"] = json!("set-2");
    let failure = run(provider.delete(&id("web-abc-2"))).unwrap_err();
    assert!(failure.message.contains("a rollout is under way"), "{failure}");
    assert_eq!((fake.replicas(), fake.count("PUT"), fake.count("PATCH")), (3, 0, 0));
}

#[test]
fn of_a_stateful_set_the_last_goes_and_one_from_the_middle_is_made_anew() {
    let fake = FakeCluster::start("StatefulSet", 3);
    let provider = provider(&fake);
    let made = create(&provider, "a").unwrap();
    assert_eq!((made.id.as_str(), made.state), ("web-3", MachineState::Building));
    run(provider.delete(&id("web-3"))).unwrap();
    assert_eq!((fake.replicas(), fake.names()), (3, vec!["web-0".into(), "web-1".into(), "web-2".into()]));
    run(provider.delete(&id("web-1"))).unwrap();
    assert_eq!((fake.replicas(), fake.count("DELETE")), (3, 1));
    assert_eq!(ids(&run(provider.machines()).unwrap()), ["web-0", "web-1", "web-2"]);
    assert_eq!(fake.count("PATCH"), 0);
}

#[test]
fn a_workload_whose_status_changes_meanwhile_is_scaled_all_the_same() {
    let fake = FakeCluster::start("Deployment", 1);
    fake.fail("PUT", SCALE, Fault::TouchedMeanwhile);
    fake.fail("PUT", SCALE, Fault::TouchedMeanwhile);
    create(&provider(&fake), "a").unwrap();
    assert_eq!((fake.replicas(), fake.count("PUT")), (2, 3));
}

#[test]
fn a_workload_that_somebody_else_scales_meanwhile_is_left_to_a_new_decision() {
    let fake = FakeCluster::start("Deployment", 1);
    let provider = provider(&fake);
    fake.fail("PUT", SCALE, Fault::ScaledMeanwhile(4));
    let failure = create(&provider, "a").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Conflict);
    assert!(failure.message.starts_with("somebody else scales it, too"), "{failure}");
    assert_eq!(fake.replicas(), 4);
}

#[test]
fn another_who_scales_is_noticed_and_named() {
    let fake = FakeCluster::start("Deployment", 2);
    let provider = provider(&fake);
    run(provider.tend()).unwrap();
    run(provider.machines()).unwrap();
    create(&provider, "a").unwrap();
    run(provider.tend()).unwrap();
    fake.fail("GET", PODS, Fault::ScaledMeanwhile(7));
    run(provider.machines()).unwrap();
    run(provider.machines()).unwrap();
    let failure = run(provider.tend()).unwrap_err();
    assert_eq!(
        failure.message,
        "Deployment web was scaled from 3 to 7 by kube-controller-manager (scale), and not by this fleet: two that scale work \
         against each other"
    );
    run(provider.tend()).unwrap();
    let target = |kind: &str| json!({ "metadata": { "name": "busy" }, "spec": { "scaleTargetRef": { "kind": kind, "name": "web" } } });
    fake.state().autoscalers.push(target("StatefulSet"));
    run(provider.verify()).unwrap();
    fake.state().autoscalers.push(target("Deployment"));
    let failure = run(provider.verify()).unwrap_err();
    assert_eq!(
        failure.message,
        "HorizontalPodAutoscaler busy scales Deployment web, too: one of the two has to go"
    );
    let failure = run(KubernetesProvider::new(settings(&fake)).tend()).unwrap_err();
    assert!(failure.message.starts_with("HorizontalPodAutoscaler busy"), "{failure}");
    fake.state().forbidden.push("list horizontalpodautoscalers");
    run(provider.verify()).unwrap();
}

#[test]
fn what_is_forbidden_is_named() {
    let fake = FakeCluster::start("Deployment", 2);
    let provider = provider(&fake);
    fake.state().forbidden.push("update deployments/scale");
    let failure = create(&provider, "a").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth);
    assert!(
        failure.message.contains("User \"weir\" cannot update resource \"deployments/scale\""),
        "{failure}"
    );
    let failure = run(provider.verify()).unwrap_err();
    assert_eq!(failure.message, "may not update deployments/scale in namespace default: give a Role");
    fake.state().forbidden = vec!["patch pods"];
    let failure = run(provider.verify()).unwrap_err();
    assert_eq!(failure.message, "may not patch pods in namespace default: give a Role");
}

#[test]
fn what_is_not_there_is_found_in_advance() {
    let fake = FakeCluster::start("Deployment", 2);
    let said = |change: fn(&mut KubernetesSettings)| {
        let mut settings = settings(&fake);
        change(&mut settings);
        run(KubernetesProvider::new(settings).verify()).unwrap_err().message
    };
    assert_eq!(
        said(|settings| settings.workload = Workload::Deployment("wep".to_owned())),
        "there is no Deployment wep in namespace default"
    );
    assert_eq!(
        said(|settings| settings.service = "wep".to_owned()),
        "there is no service \"wep\" with EndpointSlices in default"
    );
    run(provider(&fake).verify()).unwrap();
}

#[test]
fn a_creation_whose_answer_is_lost_makes_one_pod() {
    let fake = FakeCluster::start("Deployment", 1);
    let directory = TempDir::new().unwrap();
    let mut settings = settings(&fake);
    settings.timeout = Duration::from_millis(500);
    let actuator = actuator(directory.path(), KubernetesProvider::new(settings));
    fake.fail("PUT", SCALE, Fault::DoSilently);
    let failure = run(actuator.create(1)).remove(0).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Uncertain);
    assert_eq!(actuator.pending(), 1);
    // The creation is pending while the request may still take effect. Then the number of replicas decides.
    while actuator.pending() > 0 {
        run(actuator.settle()).unwrap();
        std::thread::yield_now();
    }
    assert_eq!((fake.replicas(), fake.count("PUT")), (2, 1));
    assert_eq!(run(actuator.machines()).unwrap().len(), 2);
}

#[test]
fn pods_that_nobody_makes_are_not_asked_for_any_longer() {
    let fake = FakeCluster::start("Deployment", 1);
    let provider = provider(&fake);
    fake.state().full = Some("pods \"web-abc-\" is forbidden: exceeded quota: small");
    let failure = create(&provider, "a").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Quota);
    assert!(failure.message.ends_with("exceeded quota: small"), "{failure}");
    assert_eq!(fake.replicas(), 1);
    fake.state().full = None;
    fake.state().idle = true;
    let failure = create(&provider, "b").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Transient);
    assert_eq!(fake.replicas(), 1);
}

#[test]
fn a_token_that_is_renewed_in_its_file_is_used_from_then_on() {
    let fake = FakeCluster::start("Deployment", 1);
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, "secret\n").unwrap();
    let mut settings = settings(&fake);
    settings.cluster = cluster(&server(&fake), &format!("token: other, tokenFile: '{}'", file.display()));
    let provider = KubernetesProvider::new(settings);
    run(provider.machines()).unwrap();
    fake.state().token = "renewed".to_owned();
    assert_eq!(run(provider.machines()).unwrap_err().kind, FailureKind::Auth);
    fs::write(&file, "renewed\n").unwrap();
    run(provider.machines()).unwrap();
}

#[test]
fn a_token_that_cannot_be_one_is_refused() {
    let fake = FakeCluster::start("Deployment", 1);
    for token in ["two\nlines", "a\u{7f}b"] {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("token");
        fs::write(&file, token).unwrap();
        let mut settings = settings(&fake);
        settings.cluster = cluster(&server(&fake), &format!("tokenFile: '{}'", file.display()));
        let failure = run(KubernetesProvider::new(settings).machines()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.message.ends_with("the token has a character that no token has"), "{failure}");
    }
    assert_eq!(fake.count("GET"), 0);
}

#[test]
fn what_was_asked_where_is_said_with_a_refusal() {
    let fake = FakeCluster::start("Deployment", 1);
    fake.fail("GET", WEB, Fault::Answer(403, "no access"));
    let failure = run(provider(&fake).machines()).unwrap_err();
    assert_eq!(failure.message, "test: get Deployment web in namespace default: 403 Forbidden: no access");
    fake.fail("GET", PODS, Fault::Answer(429, "too many requests"));
    let failure = run(provider(&fake).machines()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Transient);
    assert_eq!(
        failure.message,
        "test: list pods in namespace default: 429 Too Many Requests: too many requests"
    );
    assert_eq!(fake.count(&format!("GET {PODS}")), 1, "when it is tried again is for the fleet to say");
}

#[test]
fn a_failure_of_the_list_is_never_an_empty_list() {
    let fake = FakeCluster::start("Deployment", 1);
    let provider = provider(&fake);
    for path in [WEB, PODS, "/apis/apps/v1/namespaces/default/replicasets", "/apis/discovery.k8s.io/"] {
        fake.fail("GET", path, Fault::Answer(503, "etcdserver: request timed out"));
        let failure = run(provider.machines()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Transient);
        assert!(failure.message.contains("etcdserver: request timed out"), "{failure}");
    }
}

#[test]
fn a_client_certificate_within_the_kubeconfig_is_shown_to_the_server() {
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    let issued = servers.issue(&Request::names(&["127.0.0.1"]));
    let shown = clients.issue(&Request::names(&["weir"]));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(clients.pem().as_bytes()).unwrap()).unwrap();
    let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&crypto)).build();
    let chain = CertificateDer::pem_slice_iter(issued.certificate_pem.as_bytes());
    let config = rustls::ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.unwrap())
        .with_single_cert(
            chain.collect::<Result<_, _>>().unwrap(),
            PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap(),
        )
        .unwrap();
    let fake = FakeCluster::start_with("Deployment", 1, Some(Arc::new(config)));
    let base64 = |text: &str| {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode(text)
    };
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("config");
    let text = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\nclusters:\n- name: k\n  cluster:\n    \
         server: https://127.0.0.1:{}\n    certificate-authority-data: {}\nusers:\n- name: u\n  user:\n    token: secret\n    \
         client-certificate-data: {}\n    client-key-data: {}\n",
        fake.address.port(),
        base64(&servers.pem()),
        base64(&shown.certificate_pem),
        base64(&shown.key_pem)
    );
    fs::write(&file, text).unwrap();
    let surroundings =
        Surroundings { variable: &|_| None, home: None, service_account: directory.path().to_owned() };
    let settings = settings(&fake);
    let cluster = surroundings.cluster(Some(&file), None).unwrap();
    let provider = KubernetesProvider::new(KubernetesSettings { cluster, ..settings });
    assert_eq!(run(provider.machines()).unwrap().len(), 1);
}
