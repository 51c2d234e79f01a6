//! `weir convert`, the real program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

fn weir(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory as StoRM WebDAV has it in /etc/storm/webdav.
fn installation(directory: &Path) {
    let (areas, config) = (directory.join("sa.d"), directory.join("config"));
    for wanted in [&areas, &config, &directory.join("physics"), &directory.join("public")] {
        fs::create_dir_all(wanted).unwrap();
    }
    let files = Authority::new("test").issue(&Request::names(&["a.example"])).write_to(directory, "host");
    let root = |name: &str| directory.join(name).display().to_string();
    fs::write(
        areas.join("physics.properties"),
        format!(
            "# storage of an experiment\nname=physics lab\nrootPath={}\naccessPoints=/physics,/vo/physics\nvos=physics\n\
             orgs=https://iam.example.org/,https://old.example.org/\nauthenticatedReadEnabled=false\n\
             wlcgScopeAuthzEnabled=true\nfineGrainedAuthzEnabled=true\ntapeEnabled=true\n",
            root("physics")
        ),
    )
    .unwrap();
    fs::write(
        areas.join("public.properties"),
        format!(
            "name=public\nrootPath={}\naccessPoints=/public\nanonymousReadEnabled=true\n",
            root("public")
        ),
    )
    .unwrap();
    fs::write(areas.join("other.properties.template"), "name=never read\n").unwrap();
    fs::write(
        config.join("application.yml"),
        format!(
            "oauth:\n  issuers:\n  - name: iam\n    issuer: https://iam.example.org/\n\
             storm:\n  connector:\n    port: 18085\n    secure-port: 18443\n    max-connections: 300\n\
             \x20 tls:\n    certificate-path: {}\n    private-key-path: {}\n  checksum-strategy: late\n\
             \x20 nginx:\n    enabled: true\n  authz:\n    disabled: false\n",
            files.certificate.display(),
            files.key.display()
        ),
    )
    .unwrap();
    fs::write(
        config.join("application-policies.yml"),
        "storm:\n  authz:\n    policies:\n    - sa: physics lab\n      actions: [read, list]\n      paths: [/raw/**]\n\
         \x20     effect: permit\n      description: \"students of ${year} read\"\n      principals:\n      - type: jwt-group\n\
         \x20       params: {iss: \"https://iam.example.org/\", group: /students}\n",
    )
    .unwrap();
}

#[test]
fn what_storm_had_becomes_a_config_that_passes_its_check() {
    let directory = TempDir::new().unwrap();
    installation(directory.path());
    let converted = weir(&["convert", "storm", "--profile", "policies", directory.path().to_str().unwrap()]);
    let (config, notes) = (text(&converted.stdout), text(&converted.stderr));
    assert_eq!(converted.status.code(), Some(0), "{notes}");
    let file = directory.path().join("weir.toml");
    fs::write(&file, &config).unwrap();
    let checked = weir(&["check", "--no-ports", file.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(0), "{config}\n{}", text(&checked.stderr));
    for expected in [
        "[storage-area.physics-lab]",
        "path = \"/vo/physics\"\nstorage = \"physics-lab\"",
        "bind = \":18443\"",
        "students of $${year} read",
        "token-scopes = true",
    ] {
        assert!(config.contains(expected), "{expected} in\n{config}");
    }
    assert!(!config.contains("never read") && !config.contains("tape"), "{config}");
    for expected in [
        "physics.properties:5: vos: ",
        "physics.properties:10: tapeEnabled is not carried over",
        "physics.properties:6: area 'physics lab' lists https://old.example.org/, which oauth.issuers has not",
        "storm.connector.max-connections is not carried over",
        "storm.nginx is not carried over",
        "storm.checksum-strategy: ",
        "storm.authz.disabled is not carried over",
    ] {
        assert!(notes.contains(expected), "{expected} in\n{notes}");
    }
    let printed =
        weir(&["convert", "storm", "--json", "--profile=prod,policies", directory.path().to_str().unwrap()]);
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(printed["config"], config);
    assert_eq!(printed["notes"].as_array().unwrap().len(), notes.lines().count());
}

/// Read without need, such a file could permit what nobody may; left out, deny nothing any more.
#[test]
fn files_of_profiles_count_only_if_the_profiles_are_stated() {
    let directory = TempDir::new().unwrap();
    installation(directory.path());
    let path = directory.path().to_str().unwrap();
    let unstated = weir(&["convert", "storm", path]);
    assert_eq!((unstated.status.code(), unstated.stdout.is_empty()), (Some(2), true));
    assert!(text(&unstated.stderr).contains("--profile"), "{}", text(&unstated.stderr));
    let without = weir(&["convert", "storm", "--profile", "default", path]);
    assert_eq!(without.status.code(), Some(0), "{}", text(&without.stderr));
    assert!(!text(&without.stdout).contains("students of"), "{}", text(&without.stdout));
    fs::write(directory.path().join("config/application.yml"), "storm:\n  a: b: c\n").unwrap();
    let unreadable = weir(&["convert", "storm", "--profile", "default", path]);
    assert_eq!((unreadable.status.code(), unreadable.stdout.is_empty()), (Some(2), true));
    assert!(text(&unreadable.stderr).contains("application.yml:2: "), "{}", text(&unreadable.stderr));
}

#[test]
fn properties_in_latin_1_are_read_as_java_reads_them() {
    let directory = TempDir::new().unwrap();
    let area = [&b"# donn\xe9es\nname=a\naccessPoints=/a\nrootPath=/donn\xe9es\n"[..]].concat();
    fs::write(directory.path().join("a.properties"), area).unwrap();
    let converted = weir(&["convert", "storm", directory.path().to_str().unwrap()]);
    assert_eq!(converted.status.code(), Some(0), "{}", text(&converted.stderr));
    assert!(text(&converted.stdout).contains("root = \"/donn\u{e9}es\""), "{}", text(&converted.stdout));
}

#[test]
fn where_there_is_nothing_to_carry_over_that_is_said() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let empty = weir(&["convert", "storm", path]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(text(&empty.stderr).contains("there is no sa.d/*.properties"), "{}", text(&empty.stderr));
    fs::write(directory.path().join("a.properties"), "name=a\n").unwrap();
    let useless = weir(&["convert", "storm", path]);
    assert_eq!((useless.status.code(), useless.stdout.is_empty()), (Some(1), true));
    assert!(
        text(&useless.stderr).contains("a.properties:1: rootPath is missing"),
        "{}",
        text(&useless.stderr)
    );
}
