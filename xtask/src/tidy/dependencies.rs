//! Checks that every external crate has a reason in docs/dependencies.md and is used.

use toml::{Table, Value};

use super::Finding;
use super::crates::{self, Crate, Kind};
use super::tree::Tree;

const MANIFEST: &str = "Cargo.toml";
const REASONS: &str = "docs/dependencies.md";

/// Checks that `[workspace.dependencies]`, the table of reasons and the manifests of the crates agree.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(manifest) = tree.file(MANIFEST) else {
        return vec![Finding::new(MANIFEST, 0, "is missing")];
    };
    let Some(reasons) = tree.file(REASONS) else {
        return vec![Finding::new(REASONS, 0, "is missing: it says why each dependency is there")];
    };
    let declared = declared(&manifest.text);
    let rows = rows(&reasons.text);
    let crates = crates::all(tree);

    let mut findings = Vec::new();
    for name in &declared {
        match rows.iter().find(|row| row.name == *name) {
            None => findings.push(Finding::new(REASONS, 0, format!("no row says why `{name}` is there"))),
            Some(row) if row.reason.is_empty() => {
                findings.push(Finding::new(REASONS, row.line, format!("`{name}` has no reason")));
            }
            Some(row) if row.used_by != used_by(name, &crates).unwrap_or_default() => {
                let users = used_by(name, &crates).unwrap_or_default();
                findings.push(Finding::new(REASONS, row.line, format!("`{name}` is used by: {users}")));
            }
            Some(_) => {}
        }
        if used_by(name, &crates).is_none() {
            findings.push(Finding::new(MANIFEST, 0, format!("no crate uses `{name}`")));
        }
    }
    for row in rows.iter().filter(|row| !declared.iter().any(|name| name == row.name)) {
        findings.push(Finding::new(REASONS, row.line, format!("`{}` is no dependency (any more)", row.name)));
    }
    findings
}

/// Returns the names of external dependencies. Dependencies with a path are crates of the workspace.
fn declared(manifest: &str) -> Vec<String> {
    let table: Table = manifest.parse().unwrap_or_default();
    let dependencies = table.get("workspace").and_then(|workspace| workspace.get("dependencies")?.as_table());
    let from_outside = |value: &Value| value.get("path").is_none();
    let entries = dependencies.into_iter().flatten().filter(|(_, value)| from_outside(value));
    entries.map(|(name, _)| name.clone()).collect()
}

/// Returns the crates that use a dependency, written as in the table: names of their directories, or "tests"
/// if only tests use it. Returns `None` if no crate does.
fn used_by(name: &str, crates: &[Crate<'_>]) -> Option<String> {
    let mut users = Vec::new();
    let mut in_tests = false;
    for this in crates {
        let for_tests = matches!(this.directory, "testkit" | "tests/e2e" | "fuzz");
        for dependency in this.dependencies.iter().filter(|dependency| dependency.name == name) {
            if for_tests || dependency.kind == Kind::Dev {
                in_tests = true;
            } else {
                users.push(this.directory.rsplit('/').next().unwrap_or(this.directory));
            }
        }
    }
    users.sort_unstable();
    users.dedup();
    match users.is_empty() {
        false => Some(users.join(", ")),
        true => in_tests.then(|| "tests".to_owned()),
    }
}

struct Row<'a> {
    line: usize,
    name: &'a str,
    used_by: &'a str,
    reason: &'a str,
}

/// Returns the table rows that begin with a name in backquotes: users and reason.
fn rows(text: &str) -> Vec<Row<'_>> {
    let rows = text.lines().enumerate().filter_map(|(at, line)| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        let (used_by, reason) = rest.split_once('|').unwrap_or((rest, ""));
        let reason = reason.trim().trim_end_matches('|').trim();
        Some(Row { line: at + 1, name, used_by: used_by.trim(), reason })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST_TEXT: &str =
        "[workspace.dependencies]\nweir-model = { path = \"logic/model\" }\nmemchr = \"2.8\"\n";
    const USER: (&str, &str) = (
        "logic/http/Cargo.toml",
        "[package]\nname = \"weir-http\"\n[dependencies]\nmemchr.workspace = true\n",
    );

    fn findings(reasons: &str, user: (&str, &str)) -> Vec<String> {
        let tree = Tree::of(&[(MANIFEST, MANIFEST_TEXT), (REASONS, reasons), user]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dependency_with_a_reason_and_a_user_is_left_alone() {
        assert_eq!(findings("| `memchr` | http | finds line ends fast |\n", USER), [""; 0]);
    }

    #[test]
    fn a_dependency_without_a_row_or_without_a_reason_is_found() {
        assert_eq!(findings("", USER), ["docs/dependencies.md: no row says why `memchr` is there"]);
        assert_eq!(
            findings("# Why\n| `memchr` | http | |\n", USER),
            ["docs/dependencies.md:2: `memchr` has no reason"]
        );
    }

    #[test]
    fn a_dependency_that_nobody_uses_is_found() {
        let idle = ("logic/http/Cargo.toml", "[package]\nname = \"weir-http\"\n");
        assert_eq!(findings("| `memchr` | | fast |\n", idle), ["Cargo.toml: no crate uses `memchr`"]);
    }

    #[test]
    fn a_row_that_names_other_users_is_found() {
        let expected = ["docs/dependencies.md:1: `memchr` is used by: http"];
        assert_eq!(findings("| `memchr` | wire | fast |\n", USER), expected);
        let in_tests = (
            "logic/http/Cargo.toml",
            "[package]\nname = \"weir-http\"\n[dev-dependencies]\nmemchr.workspace = true\n",
        );
        assert_eq!(findings("| `memchr` | tests | fast |\n", in_tests), [""; 0]);
    }

    #[test]
    fn a_row_for_something_that_left_is_found() {
        let reasons = "| `memchr` | http | fast |\n| `rand` | - | dice |\n";
        assert_eq!(findings(reasons, USER), ["docs/dependencies.md:2: `rand` is no dependency (any more)"]);
    }
}
