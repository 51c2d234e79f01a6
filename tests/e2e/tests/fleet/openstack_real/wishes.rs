//! Tests of the properties of machines (key pair, security group, image and others), and of the checks that
//! these exist.

use std::process::{self, Command, Output};
use std::{fs, thread};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_e2e::{get, program};

use super::cloud::Cloud;
use super::machines::Machines;

/// A public key without a known private key.
const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBxN6tnsq7MIs0t27jgzFMwXnRhR4ISsjLIi92Xez6pA weir";

/// A key pair and a security group with the same name. The machines in the group must be deleted before it is
/// dropped.
struct Door {
    cloud: Cloud,
    name: String,
    group: String,
}

impl Door {
    /// Creates both for the test with this name.
    fn new(test: &str) -> Self {
        let (cloud, name) = (Cloud::of("fleet"), format!("weir-{test}-{}", process::id()));
        let pair = json!({ "keypair": { "name": name, "public_key": PUBLIC_KEY } });
        cloud.told("compute", "POST", "/os-keypairs", Some(&pair));
        let group = json!({ "security_group": { "name": name } });
        let made = cloud.told("network", "POST", "/v2.0/security-groups", Some(&group));
        let group = made["security_group"]["id"].as_str().unwrap().to_owned();
        Self { cloud, name, group }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        for (service, path) in [
            ("compute", format!("/os-keypairs/{}", self.name)),
            ("network", format!("/v2.0/security-groups/{}", self.group)),
        ] {
            let deleted = self.cloud.ask(service, "DELETE", &path, None);
            let is_gone = deleted.as_ref().is_ok_and(|(status, _)| (200..300).contains(status));
            assert!(is_gone || thread::panicking(), "{path}: {deleted:?}");
        }
    }
}

#[test]
#[ignore = "make test-openstack"]
fn machines_have_the_key_the_security_group_and_all_else_that_was_asked_for() {
    let door = Door::new("made");
    let machines = Machines::new("made", "fleet");
    let user_data = machines.path("cloud-init.yaml");
    fs::write(&user_data, "#cloud-config\nhostname: {machine}\n").unwrap();
    let wishes = format!(
        "key-pair = \"{0}\"\nsecurity-groups = \"{0}\"\nuser-data = {user_data:?}\n\
         metadata = {{ service = \"web\" }}\ntags = \"web\"\nserver-group = \"apart\"",
        door.name
    );
    let weir = machines.weir("fleet", "max = 2", &wishes);
    let machine = machines.listed().remove(0);
    assert_eq!(machine["key_name"], door.name.as_str(), "{machine}");
    assert_eq!(machine["security_groups"], json!([{ "name": door.name }]), "{machine}");
    assert_eq!(machine["metadata"]["service"], "web", "{machine}");
    assert_eq!(machine["metadata"]["weir.fleet"], "made", "{machine}");
    assert!(machine["tags"].as_array().unwrap().contains(&json!("web")), "{machine}");
    let groups = door.cloud.told("compute", "GET", "/os-server-groups", None);
    let groups = groups["server_groups"].as_array().unwrap();
    let apart = groups.iter().find(|group| group["name"] == "apart").unwrap();
    assert!(apart["members"].as_array().unwrap().contains(&machine["id"]), "{apart}");
    // Only an administrator may read the user data.
    let path = format!("/servers/{}", machine["id"].as_str().unwrap());
    let shown = Cloud::of("admin").told("compute", "GET", &path, None);
    let expected = format!("#cloud-config\nhostname: {}\n", machine["name"].as_str().unwrap());
    assert_eq!(shown["server"]["OS-EXT-SRV-ATTR:user_data"], STANDARD.encode(expected), "{shown}");
    assert_eq!(weir.client().exchange(get("/")).status, 200);
}

fn check(machines: &Machines, config: &str) -> Output {
    let path = machines.path("weir.toml");
    fs::write(&path, config).unwrap();
    Command::new(program()).arg("check").arg(&path).arg("--online").output().unwrap()
}

#[test]
#[ignore = "make test-openstack"]
fn check_online_finds_what_the_cloud_does_not_have() {
    let door = Door::new("checked");
    let machines = Machines::new("checked", "fleet");
    let config = |wishes: &str| machines.config("fleet", "max = 2", wishes);
    let good = format!("key-pair = \"{0}\"\nsecurity-groups = \"{0}\"", door.name);
    let output = check(&machines, &config(&good));
    assert!(output.status.success(), "{output:?}");
    for (wrong, why) in [
        ("key-pair = \"none\"", "there is no key pair \"none\""),
        ("security-groups = \"none\"", "there is no security group \"none\""),
        ("server-group = \"none\"", "there is no server group \"none\""),
    ] {
        refused(&check(&machines, &config(wrong)), why);
    }
    // Wrong values of keys that the config always has.
    for (right, wrong, why) in [
        ("flavor = \"small\"", "flavor = \"huge\"", "there is no flavor \"huge\" (there are "),
        ("image = \"img\"", "image = \"none\"", "there is no image \"none\""),
        ("networks = \"net\"", "networks = \"none\"", "there is no network \"none\""),
    ] {
        refused(&check(&machines, &config("").replace(right, wrong)), why);
    }
    assert_eq!(machines.listed(), Vec::<Value>::new(), "it only asks");
}

#[test]
#[ignore = "make test-openstack"]
fn check_online_finds_that_machines_may_not_be_created() {
    let machines = Machines::new("read", "fleet");
    refused(
        &check(&machines, &machines.config("reader", "max = 2", "")),
        "a server cannot be created: compute, POST /servers: 403 Forbidden: \
         Policy doesn't allow os_compute_api:servers:create to be performed.",
    );
    assert_eq!(machines.listed(), Vec::<Value>::new(), "it only asks");
}

#[test]
#[ignore = "make test-openstack"]
fn check_online_finds_that_a_credential_may_not_delete_machines() {
    let machines = Machines::new("kept", "fleet");
    refused(
        &check(&machines, &machines.config("keeper", "max = 2", "")),
        "a server cannot be deleted: compute, DELETE /servers/00000000-0000-0000-0000-000000000000: 401 Unauthorized",
    );
    assert_eq!(machines.listed(), Vec::<Value>::new(), "it only asks");
}

#[test]
#[ignore = "make test-openstack"]
fn check_online_warns_of_a_quota_below_max() {
    let machines = Machines::new("large", "small");
    let output = check(&machines, &machines.config("small", "max = 100", ""));
    let said = String::from_utf8_lossy(&output.stderr);
    let why = "fleet large: max: 100 cannot be reached now: the fleet has 0, and its provider room for ";
    assert!(output.status.success() && said.contains(why), "{output:?}");
}

#[track_caller]
fn refused(output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains(why), "{said}");
}
