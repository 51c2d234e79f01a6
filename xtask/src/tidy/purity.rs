//! Checks that logic/ decides from its arguments alone: no clock, sockets, files, randomness, threads or
//! environment. Clippy enforces this with logic/clippy.toml. This rule checks that the bans are complete and
//! that no dependency bypasses them.

use super::Finding;
use super::crates::{self, Kind};
use super::tree::Tree;

const CLIPPY: &str = "logic/clippy.toml";

/// Paths that logic/clippy.toml must ban.
const BANNED: [&str; 10] = [
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "std::thread::spawn",
    "std::thread::sleep",
    "std::env::var",
    "std::process::exit",
    "std::net::TcpStream",
    "std::net::UdpSocket",
    "std::fs::File",
    "std::hash::RandomState",
];

/// Crates that perform I/O or start threads, which logic crates may not depend on.
const IMPURE: [&str; 16] = [
    "aws-lc-rs",
    "crossterm",
    "fastrand",
    "getrandom",
    "hickory-resolver",
    "hyper",
    "hyper-util",
    "libc",
    "mio",
    "quinn",
    "rand",
    "rustix",
    "rustls",
    "socket2",
    "tempfile",
    "tokio",
];

/// Checks that the bans are complete and that no logic crate depends on an impure one.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    match tree.file(CLIPPY) {
        None => findings.push(Finding::new(CLIPPY, 0, "is missing: it bans clocks, sockets and randomness")),
        Some(file) => {
            for path in BANNED.iter().filter(|path| !file.text.contains(&format!("\"{path}\""))) {
                findings.push(Finding::new(CLIPPY, 0, format!("must ban {path}")));
            }
        }
    }
    for this in crates::all(tree).iter().filter(|this| this.directory.starts_with("logic/")) {
        for dependency in &this.dependencies {
            if dependency.kind == Kind::Normal && IMPURE.contains(&dependency.name.as_str()) {
                let message = format!("must not depend on {}: logic decides, io acts", dependency.name);
                findings.push(Finding::new(&this.manifest.path, 0, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_bans_are_complete() {
        let shipped = include_str!("../../../logic/clippy.toml");
        assert_eq!(check(&Tree::of(&[(CLIPPY, shipped)])), []);
    }

    #[test]
    fn a_ban_that_was_taken_back_is_found() {
        let weakened = include_str!("../../../logic/clippy.toml").replace("std::time::Instant::now", "");
        let findings = check(&Tree::of(&[(CLIPPY, &weakened)]));
        assert_eq!(findings, [Finding::new(CLIPPY, 0, "must ban std::time::Instant::now")]);
    }

    #[test]
    fn logic_that_depends_on_a_runtime_is_found_and_its_tests_may() {
        let manifest =
            |section: &str| format!("[package]\nname = \"weir-http\"\n[{section}]\ntokio = \"1\"\n");
        let shipped = include_str!("../../../logic/clippy.toml");
        let findings = |section: &str| {
            check(&Tree::of(&[(CLIPPY, shipped), ("logic/http/Cargo.toml", &manifest(section))])).len()
        };
        assert_eq!(findings("dependencies"), 1);
        assert_eq!(findings("dev-dependencies"), 0);
    }
}
