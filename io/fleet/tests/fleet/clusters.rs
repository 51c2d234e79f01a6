//! Where clusters are looked for, and what is read of them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use weir_fleet::kubernetes::{Cluster, Credentials, Surroundings};
use weir_testkit::TempDir;

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
  user: { tokenFile: token, client-certificate: /etc/weir/tls.crt, client-key: tls.key }
- name: program
  user: { exec: { command: aws } }
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
    fs::create_dir(home.path().join(".kube")).unwrap();
    fs::write(home.path().join(".kube/config"), KUBECONFIG).unwrap();
    home
}

#[test]
fn the_current_context_counts_unless_one_is_named() {
    let home = home();
    let north = find(home.path(), &[], None).unwrap();
    assert_eq!((north.url.as_str(), north.namespace.as_str()), ("https://north.example:6443", "shop"));
    assert!(north.credentials == Credentials::Token("12345".to_owned()) && !north.tls.verify);
    let south = find(home.path(), &[], Some("south")).unwrap();
    let beside = |name: &str| home.path().join(".kube").join(name);
    assert_eq!((south.url.as_str(), south.namespace.as_str()), ("https://south.example/k8s", "default"));
    assert!(south.credentials == Credentials::TokenFile(beside("token")) && south.tls.verify);
    assert_eq!(south.tls.ca, Some(beside("ca.pem")));
    assert_eq!(south.tls.server_name.as_deref(), Some("kubernetes"));
    let shown = south.tls.client_certificate.unwrap();
    assert_eq!((shown.certificate.to_str(), shown.key), (Some("/etc/weir/tls.crt"), beside("tls.key")));
    assert!(!format!("{:?}", north.credentials).contains("12345"));
}

#[test]
fn what_is_not_understood_is_refused() {
    let home = home();
    let said = |context| find(home.path(), &[], Some(context)).unwrap_err();
    assert!(said("program").contains("user program: exec is not supported"), "{}", said("program"));
    assert!(said("nobody").ends_with("no cluster \"nowhere\": one of north, south"), "{}", said("nobody"));
    assert!(said("west").ends_with("no context \"west\": one of north, south, program, nobody"));
    fs::write(home.path().join(".kube/config"), "a: [").unwrap();
    assert!(said("north").contains(".kube/config: line "), "{}", said("north"));
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
    assert!(north.credentials == Credentials::Token("other".to_owned()));
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
    let cluster = find(home.path(), &variables, None).unwrap();
    assert_eq!((cluster.url.as_str(), cluster.namespace.as_str()), ("https://[fd00::1]:443", "shop"));
    assert!(cluster.credentials == Credentials::TokenFile(account.join("token")));
    assert_eq!(cluster.tls.ca, Some(account.join("ca.crt")));
}
