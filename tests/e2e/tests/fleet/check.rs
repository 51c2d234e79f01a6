//! Tests of the checks of fleets by `weir check`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use weir_e2e::program;
use weir_testkit::TempDir;

const POOL: &str = "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\ncheck = \"tcp\"\n\
                    [fleet.web]\npool = \"web\"\nmax = 3\ncapacity = 10\n";

fn check(directory: &Path, fleet: &str, more: &[&str]) -> Output {
    let config = directory.join("weir.toml");
    fs::write(&config, format!("{POOL}{fleet}\n")).unwrap();
    let mut command = Command::new(program());
    command.arg("check").arg(&config).args(more);
    // Hides the clouds of the user that runs the test.
    command.env_remove("OS_CLOUD").env_remove("OS_AUTH_URL").env("HOME", directory);
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    command.output().unwrap()
}

fn script(directory: &Path, name: &str, answer: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\ncat > /dev/null\necho '{answer}'\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[track_caller]
fn refused(output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains(why), "{said}");
}

#[test]
fn a_program_that_is_not_there_is_found_without_asking_anybody() {
    let directory = TempDir::new().unwrap();
    let found = check(directory.path(), "process = { command = \"/nowhere/app\" }", &[]);
    refused(&found, "fleet web: process: /nowhere/app: no such program");
    let found = check(directory.path(), "exec = { command = \"/nowhere/cloud.py\" }", &[]);
    refused(&found, "fleet web: exec: /nowhere/cloud.py: no such program");
    let found = check(directory.path(), "port = 80\nopenstack = { image = \"a\", flavor = \"b\" }", &[]);
    refused(&found, "no clouds.yaml");
}

#[test]
fn a_fleet_of_pods_needs_a_cluster_and_a_build_that_can_ask_it() {
    let directory = TempDir::new().unwrap();
    let pods = "kubernetes = { deployment = \"a\", service = \"b\" }";
    let why = if cfg!(feature = "kubernetes") {
        "no kubeconfig (KUBECONFIG, ~/.kube/config)"
    } else {
        "this build has no Kubernetes: build with --features kubernetes"
    };
    for more in [&[][..], &["--online"]] {
        refused(&check(directory.path(), pods, more), &format!("fleet web: kubernetes: {why}"));
    }
}

#[test]
fn providers_are_asked_when_that_is_wanted() {
    let directory = TempDir::new().unwrap();
    let refusing = script(
        directory.path(),
        "refusing",
        r#"{"error": {"kind": "auth", "message": "this key may not create machines"}}"#,
    );
    let fleet = format!("exec = {{ command = {refusing:?} }}");
    assert!(check(directory.path(), &fleet, &[]).status.success());
    refused(&check(directory.path(), &fleet, &["--online"]), "this key may not create machines");
    let willing = script(directory.path(), "willing", "{}");
    let output = check(directory.path(), &format!("exec = {{ command = {willing:?} }}"), &["--online"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_list_that_is_not_as_the_contract_says_is_an_error_that_names_field_and_place() {
    let directory = TempDir::new().unwrap();
    let odd = script(
        directory.path(),
        "odd",
        r#"{"machines": [{"id": "m1", "state": "stopped"}, {"id": "m2", "state": "stopped", "created": 1700000000.5}]}"#,
    );
    let fleet = format!("exec = {{ command = {odd:?} }}");
    assert!(check(directory.path(), &fleet, &[]).status.success());
    let why = "machines[1].created: 1700000000.5 is not whole seconds since 1970; read as 1700000000";
    refused(&check(directory.path(), &fleet, &["--online"]), why);
}

#[test]
fn that_a_provider_has_no_room_for_all_machines_is_a_warning() {
    let directory = TempDir::new().unwrap();
    let online = |name: &str, answer: &str| {
        let program = script(directory.path(), name, answer);
        let output = check(directory.path(), &format!("exec = {{ command = {program:?} }}"), &["--online"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let of = |room: u32| format!(r#"{{"room": {room}, "machines": [{{"id": "m1", "state": "stopped"}}]}}"#);
    let little = online("little", &of(1));
    let why = "fleet web: max: 3 cannot be reached now: the fleet has 1, and its provider room for 1 more";
    assert!(little.starts_with("warning") && little.contains(why), "{little}");
    let enough = online("enough", &of(2));
    assert!(!enough.contains("max: 3"), "{enough}");
    let silent = online("silent", r#"{"room": 1}"#);
    assert!(silent.contains("fleet web: max: whether there is room for 3 is not known: "), "{silent}");
}
