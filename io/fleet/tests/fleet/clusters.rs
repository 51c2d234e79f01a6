//! Tests of the search for clusters, and of kubeconfig files.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::to_value;
use weir_fleet::kubernetes::{Cluster, Surroundings};
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: north
contexts:
- name: north
  context: { cluster: north, user: robot, namespace: shop }
- name: south
  context: { cluster: south, user: files }
- name: program
  context: { cluster: south, user: program }
- name: half
  context: { cluster: south, user: half }
- name: other
  context: { cluster: south, user: other }
- name: nobody
  context: { cluster: nowhere, user: robot }
clusters:
- name: north
  cluster: { server: 'https://north.example:6443/', insecure-skip-tls-verify: true }
- name: south
  cluster: { server: 'https://south.example/k8s', certificate-authority: ca.pem, tls-server-name: kubernetes }
users:
- name: robot
  user: { token: 12345 }
- name: files
  user: { tokenFile: token, client-certificate: HOME/tls.crt, client-key: tls.key }
- name: program
  user: { exec: { command: aws } }
- name: half
  user: { client-certificate: HOME/tls.crt }
- name: other
  user: { token: t, as: root }
";

fn find(directory: &Path, variables: &[(&str, &str)], context: Option<&str>) -> Result<Cluster, String> {
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    let surroundings = Surroundings {
        variable: &|name| variables.get(name).map(|value| (*value).to_owned()),
        home: Some(directory.to_owned()),
        service_account: directory.join("account"),
    };
    surroundings.cluster(None, context)
}

fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    let kube = home.path().join(".kube");
    fs::create_dir(&kube).unwrap();
    fs::write(kube.join("config"), KUBECONFIG.replace("HOME", &home.path().display().to_string())).unwrap();
    let authority = Authority::new("cluster");
    let issued = authority.issue(&Request::names(&["weir"]));
    fs::write(kube.join("ca.pem"), authority.pem()).unwrap();
    fs::write(home.path().join("tls.crt"), issued.certificate_pem).unwrap();
    fs::write(kube.join("tls.key"), issued.key_pem).unwrap();
    home
}

/// Returns the address and the namespace.
fn place(cluster: &Cluster) -> (String, &str) {
    (cluster.config.cluster_url.to_string(), &cluster.config.default_namespace)
}

fn token(cluster: &Cluster) -> String {
    to_value(&cluster.config.auth_info).unwrap()["token"].as_str().unwrap().to_owned()
}

#[test]
fn the_current_context_counts_unless_one_is_named() {
    let home = home();
    let north = find(home.path(), &[], None).unwrap();
    assert_eq!(place(&north), ("https://north.example:6443/".to_owned(), "shop"));
    assert!(token(&north) == "12345" && north.config.accept_invalid_certs);
    let south = find(home.path(), &[], Some("south")).unwrap();
    let beside = |name: &str| Some(home.path().join(".kube").join(name).display().to_string());
    assert_eq!(place(&south), ("https://south.example/k8s".to_owned(), "default"));
    assert!(!south.config.accept_invalid_certs);
    let user = &south.config.auth_info;
    assert_eq!((&user.token_file, &user.client_key), (&beside("token"), &beside("tls.key")));
    assert_eq!(user.client_certificate, Some(home.path().join("tls.crt").display().to_string()));
    assert_eq!(south.config.root_cert.as_ref().map(Vec::len), Some(1));
    assert_eq!(south.config.tls_server_name.as_deref(), Some("kubernetes"));
    assert!(!format!("{north:?}").contains("12345"));
}

#[test]
fn what_is_not_understood_is_refused() {
    let home = home();
    let said = |context| find(home.path(), &[], Some(context)).unwrap_err();
    assert!(said("program").contains("user program: exec is not supported"), "{}", said("program"));
    assert!(said("other").contains("user other: as is not supported"), "{}", said("other"));
    assert!(said("half").contains("failed to load client key"), "{}", said("half"));
    assert!(said("nobody").ends_with("no cluster \"nowhere\": one of north, south"), "{}", said("nobody"));
    let west = said("west");
    assert!(
        west.ends_with("no context \"west\": one of north, south, program, half, other, nobody"),
        "{west}"
    );
    fs::write(home.path().join(".kube/config"), "users: [{name: a, user: {token: s3cr3t}}]\ncontexts: {")
        .unwrap();
    let broken = said("north");
    assert!(broken.contains(".kube/config: ") && broken.contains("line 2"), "{broken}");
    assert!(!broken.contains("s3cr3t"), "{broken}");
}

#[test]
fn of_several_files_the_first_that_has_a_name_counts() {
    let home = home();
    let (first, second) = (home.path().join("first"), home.path().join(".kube/config"));
    fs::write(&first, "users: [{name: robot, user: {token: other}}]\ncurrent-context: south\n").unwrap();
    let list = format!("{}:{}", first.display(), second.display());
    let variables = [("KUBECONFIG", list.as_str())];
    assert_eq!(find(home.path(), &variables, None).unwrap().name, "south");
    let north = find(home.path(), &variables, Some("north")).unwrap();
    assert_eq!(token(&north), "other");
    let missing = find(home.path(), &[("KUBECONFIG", "/nowhere/config")], None).unwrap_err();
    assert_eq!(missing, "/nowhere/config: there is no such file");
}

#[test]
fn within_a_pod_its_service_account_counts() {
    let home = TempDir::new().unwrap();
    let nowhere = find(home.path(), &[], None).unwrap_err();
    assert!(nowhere.starts_with("no kubeconfig (KUBECONFIG, ~/.kube/config)"), "{nowhere}");
    let variables = [("KUBERNETES_SERVICE_HOST", "fd00::1"), ("KUBERNETES_SERVICE_PORT", "443")];
    let without = find(home.path(), &variables, None).unwrap_err();
    assert!(without.ends_with("has no service account (automountServiceAccountToken)"), "{without}");
    let account = home.path().join("account");
    fs::create_dir(&account).unwrap();
    fs::write(account.join("token"), "t").unwrap();
    fs::write(account.join("namespace"), "shop\n").unwrap();
    let untrusting = find(home.path(), &variables, None).unwrap_err();
    assert!(untrusting.contains("account/ca.crt"), "{untrusting}");
    fs::write(account.join("ca.crt"), Authority::new("cluster").pem()).unwrap();
    let cluster = find(home.path(), &variables, None).unwrap();
    assert_eq!(place(&cluster), ("https://[fd00::1]:443/".to_owned(), "shop"));
    assert_eq!(cluster.config.auth_info.token_file, Some(account.join("token").display().to_string()));
    assert_eq!(cluster.config.root_cert_file, Some(account.join("ca.crt")));
}
