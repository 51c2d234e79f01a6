//! Checks that dependencies point one way: bin -> io -> logic -> logic/model. Crate boundaries keep decisions
//! apart from sockets.

use super::Finding;
use super::crates::{self, Kind};
use super::tree::Tree;

/// Logic crates that combine other logic crates and may depend on them.
const MAY_USE_OTHER_LOGIC: [&str; 3] = ["logic/config", "logic/control", "logic/sim"];

/// Crate that all crates under io/ may use: sockets, workers and TLS.
const SHARED_IO: &str = "io/net";

/// Only other pair of crates under io/ of which the first may use the second.
const GATEWAY_PAIR: (&str, &str) = ("io/gateway", "io/storage");

/// Test web server. Tests of crates under io/ may use it.
const TEST_SERVER: &str = "io/origin";

/// Checks that every dependency between two crates of the repository has a permitted direction.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let crates = crates::all(tree);
    let directory_of =
        |name: &str| crates.iter().find(|other| other.name == name).map(|other| other.directory);
    let mut findings = Vec::new();
    for this in &crates {
        for dependency in &this.dependencies {
            let Some(to) = directory_of(&dependency.name) else { continue };
            if let Err(why) = permitted(this.directory, to, dependency.kind) {
                let message = format!("must not depend on {} ({to}): {why}", dependency.name);
                findings.push(Finding::new(&this.manifest.path, 0, message));
            }
        }
    }
    findings
}

fn permitted(from: &str, to: &str, kind: Kind) -> Result<(), &'static str> {
    let (from_layer, to_layer) = (layer(from), layer(to));
    if to_layer == "testkit" {
        // Tests may use it freely; the product may not.
        let tests_only = kind == Kind::Dev || matches!(from_layer, "tests" | "benches" | "testkit");
        return if tests_only { Ok(()) } else { Err("testkit is for tests only") };
    }
    match (from_layer, to_layer) {
        ("tests" | "benches" | "fuzz", _) | ("bin", "io" | "logic") | ("io", "logic") => Ok(()),
        ("testkit", "logic") => Ok(()),
        ("xtask", _) => Err("repository chores build without the product"),
        ("io", "io") if to == SHARED_IO || (from, to) == GATEWAY_PAIR => Ok(()),
        ("io", "io") if to == TEST_SERVER && kind == Kind::Dev => Ok(()),
        ("io", "io") => Err("siblings under io/ meet only in bin/"),
        ("logic", "logic") if from == "logic/model" => {
            Err("logic/model is the ground that the others stand on")
        }
        ("logic", "logic") if to == "logic/model" || MAY_USE_OTHER_LOGIC.contains(&from) => Ok(()),
        ("logic", "logic") => Err("of its siblings a logic crate uses logic/model only"),
        ("logic", _) => Err("logic decides without io"),
        _ => Err("dependencies point one way: bin -> io -> logic -> logic/model"),
    }
}

/// Returns the first component of a crate's directory.
fn layer(directory: &str) -> &str {
    directory.split('/').next().unwrap_or(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_that_point_downwards_are_permitted() {
        for (from, to) in [
            ("bin/weir", "io/proxy"),
            ("bin/weir", "logic/config"),
            ("io/proxy", "io/net"),
            ("io/proxy", "logic/http"),
            ("io/gateway", "io/storage"),
            ("logic/http", "logic/model"),
            ("logic/config", "logic/balance"),
            ("logic/control", "logic/stats"),
            ("tests/e2e", "bin/weir"),
            ("benches", "logic/stats"),
        ] {
            assert_eq!(permitted(from, to, Kind::Normal), Ok(()), "{from} -> {to}");
        }
    }

    #[test]
    fn dependencies_that_point_upwards_or_sideways_are_not() {
        for (from, to) in [
            ("logic/http", "io/net"),
            ("logic/http", "logic/balance"),
            ("logic/model", "logic/config"),
            ("io/net", "bin/weir"),
            ("io/proxy", "io/admin"),
            ("io/storage", "io/gateway"),
            ("io/net", "testkit"),
            ("xtask", "logic/model"),
            ("logic/http", "bin/weir"),
        ] {
            assert!(permitted(from, to, Kind::Normal).is_err(), "{from} -> {to}");
        }
    }

    #[test]
    fn tests_of_any_crate_may_use_the_testkit() {
        assert_eq!(permitted("io/net", "testkit", Kind::Dev), Ok(()));
        assert_eq!(permitted("logic/http", "testkit", Kind::Dev), Ok(()));
        assert_eq!(permitted("io/lab", "io/origin", Kind::Dev), Ok(()));
        assert!(permitted("io/lab", "io/origin", Kind::Normal).is_err());
    }

    #[test]
    fn a_finding_names_both_crates() {
        let tree = Tree::of(&[
            (
                "logic/http/Cargo.toml",
                "[package]\nname = \"weir-http\"\n[dependencies]\nweir-net.workspace = true",
            ),
            ("io/net/Cargo.toml", "[package]\nname = \"weir-net\""),
        ]);
        let message = "must not depend on weir-net (io/net): logic decides without io";
        assert_eq!(check(&tree), [Finding::new("logic/http/Cargo.toml", 0, message)]);
    }
}
