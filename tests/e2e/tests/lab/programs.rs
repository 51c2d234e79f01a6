//! Tests that every available program of a rival starts with the lab's configurations and responds. By
//! default, it is the program with the usual name. A variable can name others
//! (`HAPROXY=/usr/sbin/haproxy,/opt/haproxy-3.4/haproxy`, as for `make bench`).

use std::path::PathBuf;

use weir_e2e::{Lab, Said};

/// Name, usual program names, algorithms that the lab uses, and true if it supports TLS to clients and to
/// servers.
const PRODUCTS: [(&str, &[&str], &[&str], bool); 8] = [
    ("haproxy", &["haproxy"], &["round-robin", "least-connections", "source", "random"], true),
    ("nginx", &["nginx"], &["round-robin", "least-connections", "source", "random"], true),
    ("apache", &["apache2", "httpd"], &["round-robin", "least-connections"], true),
    ("envoy", &["envoy"], &["round-robin", "least-connections", "source", "random"], true),
    ("caddy", &["caddy"], &["round-robin", "least-connections", "source", "random"], true),
    ("traefik", &["traefik"], &["round-robin"], true),
    ("pound", &["pound"], &["round-robin", "random"], false),
    ("sozu", &["sozu"], &["round-robin", "least-connections", "random"], false),
];

const SETUP: &str = "repeats = 1\nwarm-up = \"0ms\"\npause = \"0ms\"\nwatch = \"50ms\"\n";
const TEST: &str = "[[test]]\nname = \"one\"\nservers = 2\nconnections = 1\nrequests = 4\nsize = \"1KiB\"\ncheck-balance = false\n";

/// Among the lab's servers, storage areas support TLS. They have no page for active checks.
const TLS: &str = "servers = { kind = \"storage\" }\n[balancer]\ntls-in = true\ntls-out = true";

/// Returns the programs of a product: those in its variable, or else the one with a usual name.
fn programs(product: &str, names: &[&str]) -> Vec<PathBuf> {
    if let Ok(named) = std::env::var(product.to_uppercase()) {
        return named.split(',').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"].map(PathBuf::from);
    let directories: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    let found = names.iter().flat_map(|name| directories.iter().map(move |directory| directory.join(name)));
    found.filter(|path| path.is_file()).take(1).collect()
}

fn play(product: &str, programs: &[PathBuf], algorithms: &[&str], setup: &str) -> (Said, usize) {
    let rival = |(at, program): (usize, &PathBuf)| {
        format!(
            "{{ product = {product:?}, name = \"{product}-{at}\", program = {:?} }}",
            program.display().to_string()
        )
    };
    let rivals: Vec<String> = programs.iter().enumerate().map(rival).collect();
    let lab = Lab::new(&format!(
        "rivals = [{}]\nalgorithms = {algorithms:?}\n{SETUP}{setup}\n{TEST}",
        rivals.join(", ")
    ));
    let said = lab.run(&["run", "tiny.toml", "--csv", "all.csv"]);
    assert!(lab.path("all.csv").exists(), "{product}: {}", said.text());
    let answered = lab.csv("all.csv").into_iter().filter(|run| run.get("succeeded") == "4").count();
    (said, answered)
}

#[test]
fn every_program_of_a_rival_starts_with_every_configuration_that_it_is_given() {
    for (product, names, algorithms, is_tls) in PRODUCTS {
        let programs = programs(product, names);
        if programs.is_empty() {
            weir_testkit::untested(format!("needs {product}, or {}=its program", product.to_uppercase()));
            continue;
        }
        let (said, answered) = play(product, &programs, algorithms, "[balancer]\ncheck = \"/health\"");
        assert_eq!(answered, programs.len() * algorithms.len(), "{product}: {}", said.text());
        assert!(!said.text().contains("left out"), "{product}: {}", said.text());
        if is_tls {
            let (said, answered) = play(product, &programs, &algorithms[..1], TLS);
            assert_eq!(answered, programs.len(), "{product}, TLS: {}", said.text());
        }
    }
}
