//! Tests `weir convert` with the real program.
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

/// Creates a directory like /etc/storm/webdav of StoRM WebDAV.
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
             \x20 nginx:\n    enabled: false\n  authz:\n    disabled: true\n",
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
        "symlinks = \"never\"\nthird-party-copy = true\n",
    ] {
        assert!(config.contains(expected), "{expected} in\n{config}");
    }
    assert!(!config.contains("never read") && !config.contains("tape"), "{config}");
    for expected in [
        "physics.properties:5: access: vos: ",
        "physics.properties:10: tapeEnabled is not carried over",
        "physics.properties:6: access: area 'physics lab' lists https://old.example.org/, which oauth.issuers has not",
        "storm.connector.max-connections is not carried over",
        "storm.checksum-strategy: ",
        "storm.authz.disabled is not carried over",
    ] {
        assert!(notes.contains(expected), "{expected} in\n{notes}");
    }
    let printed =
        weir(&["convert", "storm", "--json", "--profile=prod,policies", directory.path().to_str().unwrap()]);
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(printed["config"], config);
    let printed = printed["notes"].as_array().unwrap();
    assert_eq!(printed.len(), notes.lines().count());
    let about_access = printed.iter().filter(|note| note["access"] == true).count();
    assert_eq!(about_access, notes.lines().filter(|line| line.contains(": access: ")).count());
    assert!((1..printed.len()).contains(&about_access), "{notes}");
}

/// Returns the code blocks of a guide page, each with its language.
fn pieces(page: &str) -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(page);
    let page = fs::read_to_string(page).unwrap();
    // Every second part is inside a code block.
    let set_off = page.split("```").skip(1).step_by(2).filter_map(|piece| piece.split_once('\n'));
    set_off.map(|(language, piece)| (language.to_owned(), piece.to_owned())).collect()
}

#[test]
fn the_example_of_the_guide_becomes_what_the_guide_shows() {
    let pieces = pieces("coming-from-storm.md");
    let piece = |wanted: &str| &pieces.iter().find(|(language, _)| language == wanted).unwrap().1;
    let directory = TempDir::new().unwrap();
    for (file, language) in [("sa.d/data.properties", "properties"), ("config/application.yml", "yaml")] {
        let file = directory.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, piece(language)).unwrap();
    }
    let path = directory.path().to_str().unwrap();
    let converted = weir(&["convert", "storm", path]);
    let notes = text(&converted.stderr).replace(path, "/etc/storm/webdav");
    assert_eq!(converted.status.code(), Some(0), "{notes}");
    assert_eq!(text(&converted.stdout), *piece(""));
    assert_eq!(notes, *piece("text"));
}

/// Tests that the check reads the membership files, like all files that a config names.
#[test]
fn files_of_members_pass_the_check_if_they_are_there() {
    let directory = TempDir::new().unwrap();
    installation(directory.path());
    let maps = directory.path().join("maps");
    fs::create_dir(&maps).unwrap();
    let service = directory.path().join("config/application.yml");
    let section = format!("  vo-map-files:\n    enabled: true\n    config-dir: {}\n", maps.display());
    let before = fs::read_to_string(&service).unwrap();
    fs::write(&service, format!("{before}{section}")).unwrap();
    let converted = weir(&["convert", "storm", "--profile", "policies", directory.path().to_str().unwrap()]);
    assert_eq!(converted.status.code(), Some(0), "{}", text(&converted.stderr));
    let file = directory.path().join("weir.toml");
    fs::write(&file, &converted.stdout).unwrap();
    let check = || weir(&["check", "--no-ports", file.to_str().unwrap()]);
    let missing = check();
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing.stderr));
    assert!(text(&missing.stderr).contains("physics.vomap"), "{}", text(&missing.stderr));
    fs::write(maps.join("physics.vomap"), "/C=IT/CN=Jo,/C=IT/CN=CA,jo@example.org\n").unwrap();
    let there = check();
    assert_eq!(there.status.code(), Some(0), "{}", text(&there.stderr));
}

/// Using such a file by mistake could grant access that is otherwise denied. Leaving it out could drop a
/// denial.
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
        text(&useless.stderr).contains("a.properties:1: access: rootPath is missing"),
        "{}",
        text(&useless.stderr)
    );
}
