//! Checks the documentation: `weir check` accepts every config in the guide.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use weir_e2e::Weir;
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

/// A TOML example in a document.
struct Example {
    /// File and line.
    place: String,
    text: String,
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("above tests/e2e")
}

fn examples() -> Vec<Example> {
    let guide = fs::read_dir(repository().join("docs/guide")).expect("docs/guide");
    let mut files: Vec<PathBuf> = guide.map(|entry| entry.expect("docs/guide").path()).collect();
    files.push(repository().join("README.md"));
    files.sort();
    let mut examples: Vec<Example> = files.iter().flat_map(|file| examples_of(file)).collect();
    // The config of the packages.
    let packaged = repository().join("packaging/weir.toml");
    let text = fs::read_to_string(&packaged).expect("the config of the packages");
    examples.push(Example { place: packaged.display().to_string(), text });
    examples
}

fn examples_of(file: &Path) -> Vec<Example> {
    let text = fs::read_to_string(file).expect("a page");
    let mut examples = Vec::new();
    let mut open: Option<Example> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line) {
            (None, "```toml") => {
                open = Some(Example { place: format!("{}:{}", file.display(), at + 2), text: String::new() });
            }
            (Some(_), "```") => examples.extend(open.take()),
            (Some(example), line) => {
                example.text.push_str(line);
                example.text.push('\n');
            }
            (None, _) => {}
        }
    }
    examples
}

/// Returns the texts after each `prefix`, up to `end`.
fn after<'a>(text: &'a str, prefix: &str, end: &[char]) -> BTreeSet<&'a str> {
    text.split(prefix).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

/// Completes an example: adds the pools and listeners that it names but does not define, and replaces the
/// directories of its files by `files`.
fn completed(example: &str, files: &Path) -> String {
    let mut text = example.to_owned();
    let heads: String = text.lines().filter(|line| line.starts_with('[')).collect::<Vec<_>>().join("\n");
    let mut listeners = after(&heads, "[listener.", &['.', ']']);
    listeners.extend(after(example, "listener = \"", &['"']));
    if listeners.is_empty() {
        listeners.insert("web");
    }
    let mut pools = after(&heads, "[pool.", &['.', ']']);
    pools.extend(after(example, "pool = \"", &['"']));
    pools.insert("some");
    for listener in listeners.into_iter().filter(|name| !heads.contains(&format!("[listener.{name}]"))) {
        text.push_str(&format!("[listener.{listener}]\nbind = \"127.0.0.1:0\"\npool = \"some\"\n"));
    }
    for pool in pools.into_iter().filter(|name| !heads.contains(&format!("[pool.{name}]"))) {
        text.push_str(&format!("[pool.{pool}]\nservers = \"127.0.0.1:1\"\n"));
    }
    if !heads.contains("[weir]") {
        text.push_str("[weir]\ncontrol = false\nstate = false\n");
    }
    let files = files.to_str().expect("a path in UTF-8");
    // Adds the storage area to an example that shows only a part of one.
    let shown = text.matches("storage = \"").count() > 0 || heads.contains("[storage-area.");
    if shown && !heads.contains("[storage-area.data]") {
        text.push_str("[storage-area.data]\nroot = \"/srv/data\"\n");
    }
    if heads.contains("[storage-area.") && !example.contains("storage = \"data\"") {
        text.push_str("[[route]]\npath = \"/data\"\nstorage = \"data\"\n");
    }
    // An account that exists on every machine.
    let text = text.replace("user = \"weir\"", "user = \"nobody\"");
    let directories = ["/etc/weir/", "/var/log/weir/", "/srv/"];
    directories.iter().fold(text, |text, directory| text.replace(directory, &format!("{files}/")))
}

/// Writes every file that the guide names.
fn write_files(directory: &Path) {
    let authority = Authority::new("guide");
    let issued = authority.issue(&Request::names(&["example.org", "example.net", "*.internal"]));
    let both = format!("{}{}", issued.certificate_pem, issued.key_pem);
    for name in ["example.org.pem", "example.net.pem", "internal.pem", "site.pem", "admin.pem"] {
        fs::write(directory.join(name), &both).expect("a certificate");
    }
    for name in ["ca.pem", "internal-ca.pem"] {
        fs::write(directory.join(name), authority.pem()).expect("an authority");
    }
    fs::write(directory.join("token-key.pem"), &issued.key_pem).expect("a key");
    for name in ["sticky.key", "redirect.key"] {
        fs::write(directory.join(name), "a secret of some length").expect("a secret");
    }
    for root in ["data", "www"] {
        fs::create_dir(directory.join(root)).expect("a root");
    }
    let hash = "$2y$04$abcdefghijklmnopqrstuuQ3QvGZ0XQ6t5V8H0pE1bYc5b9hJ1m2K";
    for name in ["htpasswd", "admin.htpasswd"] {
        fs::write(directory.join(name), format!("ada:{hash}\n")).expect("passwords");
    }
    fs::write(directory.join("cms.csv"), "/C=IT/CN=Jo\n").expect("members");
    fs::create_dir_all(directory.join("policies/data.d")).expect("policies");
    for file in ["policies/common.cedar", "policies/data.d/raw.cedar"] {
        fs::write(directory.join(file), "permit(principal, action, resource);\n").expect("a policy");
    }
    let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    fs::write(directory.join("ca.crl"), authority.revoke(&[], tomorrow)).expect("a revocation list");
}

#[test]
fn every_config_in_the_guide_is_valid() {
    let directory = TempDir::new().expect("temporary directory");
    write_files(directory.path());
    let examples = examples();
    assert!(examples.len() >= 15, "only {} examples found", examples.len());
    let config = directory.path().join("weir.toml");
    let mut refused = Vec::new();
    for Example { place, text } in examples {
        let text = completed(&text, directory.path());
        fs::write(&config, &text).expect("a config");
        let check =
            Command::new(weir_e2e::program()).args(["check", "--no-ports"]).arg(&config).output().unwrap();
        if !check.status.success() {
            let said = [check.stdout, check.stderr].concat();
            refused.push(format!("{place}:\n{}\n{text}", String::from_utf8_lossy(&said)));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Returns the second column of the table row that begins with this, without backquotes.
fn row(page: &str, start: &str) -> String {
    let text = fs::read_to_string(repository().join(page)).expect("a page");
    let line = text.lines().find(|line| line.starts_with(&format!("| `{start}` | `"))).expect("the row");
    line.split('`').nth(3).expect("the second column").to_owned()
}

#[test]
fn what_stands_for_a_redirect_of_nginx_keeps_the_query() {
    let directory = TempDir::new().expect("temporary directory");
    let config = directory.path().join("weir.toml");
    let redirect = row("docs/guide/coming-from.md", "return 301 https://$host$request_uri");
    fs::write(&config, format!("[listener.web]\nbind = \":80\"\n[[route]]\n{redirect}\n")).expect("a config");
    let mut explain = Command::new(weir_e2e::program());
    explain.arg("explain").arg(&config).args(["--url", "http://a.example/b/c?d=e&f"]);
    let said = explain.output().expect("weir explain");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("301 to https://a.example/b/c?d=e&f\n"), "{said}");
}

#[test]
fn the_map_of_the_code_names_every_crate() {
    let readme = fs::read_to_string(repository().join("README.md")).expect("README.md");
    let map = readme
        .split("## Map of the code")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the map");
    for side in ["logic", "io"] {
        let part = map.split(&format!("\n{side}/ ")).nth(1).expect("the side");
        let named: BTreeSet<&str> = part
            .lines()
            .skip(1)
            .map_while(|line| line.strip_prefix("  "))
            .filter_map(|line| line.split('/').next())
            .collect();
        for entry in fs::read_dir(repository().join(side)).expect("the crates") {
            let entry = entry.expect("a crate");
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            if entry.path().is_dir() {
                assert!(named.contains(name.as_str()), "{side}/{name} is not in README.md's map");
            }
        }
    }
}

#[test]
fn redirects_to_the_same_place_keep_the_query() {
    let pages = examples();
    let targets =
        pages.iter().flat_map(|example| after(&example.text, "redirect = \"https://{host}{", &['"']));
    let targets: BTreeSet<&str> = targets.collect();
    assert!(!targets.is_empty(), "no page shows the way from HTTP to HTTPS");
    for target in targets {
        let weir = Weir::start(&format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\n[[route]]\nlistener = \"web\"\nredirect = \"https://{{host}}{{{target}\"\n"
        ));
        let port = weir.addr("web").port();
        for host in ["example.org".to_owned(), "example.org:80".to_owned(), format!("example.org:{port}")] {
            let request = format!("GET /a%20b?id=7&x=%2F HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let response = weir.client().exchange(request);
            assert_eq!(
                response.header("location"),
                Some("https://example.org/a%20b?id=7&x=%2F"),
                "{target}, {host}"
            );
        }
    }
}
