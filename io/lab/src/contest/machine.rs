//! Facts about the machine of a comparison. Figures of different machines are not comparable.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Kernel settings that influence TCP.
const SETTINGS: [&str; 8] = [
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
];

/// Returns names and values for the report.
pub(crate) fn facts() -> Vec<(String, String)> {
    let mut facts = vec![("weir".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    facts.extend(lasting());
    facts.push(("memory".to_owned(), named("/proc/meminfo", "MemTotal")));
    facts.push(("started".to_owned(), now()));
    facts.extend(commit(Path::new(".")).map(|commit| (DIRECTORY_COMMIT.to_owned(), commit)));
    facts
}

/// Key of the commit of the directory in which the lab was started. The programs may be built from other
/// commits. They are identified by version and checksum; see [`super::identity`].
pub(super) const DIRECTORY_COMMIT: &str = "directory-commit";

/// Returns the commit of a directory in a Git repository, and a note if files differ from it.
fn commit(directory: &Path) -> Option<String> {
    let mut command = Command::new("git");
    command.args(["describe", "--always", "--dirty=, with changes", "--abbrev=40", "--exclude=*"]);
    let output = command.current_dir(directory).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the facts that must not change between the runs of one file.
pub(crate) fn lasting() -> Vec<(String, String)> {
    let processors = std::thread::available_parallelism().map_or(String::new(), |count| count.to_string());
    let mut facts = vec![
        ("kernel".to_owned(), line("/proc/sys/kernel/osrelease")),
        ("processor".to_owned(), named("/proc/cpuinfo", "model name")),
        ("processors".to_owned(), processors),
    ];
    for name in SETTINGS {
        let value = line(&format!("/proc/sys/{}", name.replace('.', "/")));
        facts.push((name.to_owned(), value.replace('\t', " ")));
    }
    facts
}

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn named(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.split_once(':').map(|(_, value)| value.trim().to_owned()));
    value.unwrap_or_default()
}

/// Returns the seconds since 1970 as text.
fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(String::new(), |since| since.as_secs().to_string())
}

/// Returns the time of a fixed piece of work, in nanoseconds. If it grows, the machine has become slower, and
/// not the measured rival.
pub(crate) fn calibrate() -> u64 {
    let start = std::time::Instant::now();
    let mut sum = 0;
    for at in 0..4_000_000_u64 {
        sum ^= crate::rng::at(sum, at);
    }
    std::hint::black_box(sum);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_of_its_commit_and_says_so_if_files_differ_from_it() {
        let directory = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
            let output = command.current_dir(directory.path()).output();
            output.is_ok_and(|output| output.status.success())
        };
        assert_eq!(commit(directory.path()), None);
        if !git(&["init", "--quiet"]) {
            return weir_testkit::untested("needs git");
        }
        fs::write(directory.path().join("file"), "one").unwrap();
        assert!(git(&["add", "file"]) && git(&["commit", "--quiet", "--message", "one"]));
        let clean = commit(directory.path()).unwrap();
        assert!(clean.len() == 40 && clean.bytes().all(|byte| byte.is_ascii_hexdigit()), "{clean}");
        // A tag must not replace the commit.
        assert!(git(&["tag", "v1"]));
        assert_eq!(commit(directory.path()), Some(clean.clone()));
        fs::write(directory.path().join("file"), "two").unwrap();
        assert_eq!(commit(directory.path()), Some(format!("{clean}, with changes")));
    }
}
