//! Reads the manifests of the workspace's crates, and checks the rules for manifests and crate roots.

use toml::{Table, Value};

use super::Finding;
use super::tree::{File, Tree};

/// Kind of code that a dependency is linked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Product or build script.
    Normal,
    /// Tests only.
    Dev,
}

/// One dependency, as stated in a manifest.
#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// True if the version comes from `[workspace.dependencies]`.
    pub(super) from_workspace: bool,
}

/// One crate of the repository.
#[derive(Debug)]
pub(super) struct Crate<'a> {
    pub(super) name: String,
    /// Directory of the crate, e.g. `logic/model`.
    pub(super) directory: &'a str,
    pub(super) manifest: &'a File,
    pub(super) dependencies: Vec<Dependency>,
    inherits_lints: bool,
}

/// Crates that contain unsafe code and therefore have their own lint table.
pub(super) const WITH_UNSAFE: [&str; 2] = ["io/net", "io/kernel"];

/// Returns every crate whose manifest can be parsed. Cargo reports the others.
pub(super) fn all(tree: &Tree) -> Vec<Crate<'_>> {
    tree.ending("/Cargo.toml").filter_map(parse).collect()
}

fn parse(manifest: &File) -> Option<Crate<'_>> {
    let table: Table = manifest.text.parse().ok()?;
    let name = table.get("package")?.get("name")?.as_str()?.to_owned();
    let mut dependencies = Vec::new();
    collect(&table, &mut dependencies);
    for target in table.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values) {
        if let Some(target) = target.as_table() {
            collect(target, &mut dependencies);
        }
    }
    let inherits_lints =
        table.get("lints").and_then(|lints| lints.get("workspace")?.as_bool()).unwrap_or(false);
    let directory = manifest.path.strip_suffix("/Cargo.toml")?;
    Some(Crate { name, directory, manifest, dependencies, inherits_lints })
}

fn collect(table: &Table, dependencies: &mut Vec<Dependency>) {
    let kinds = [
        ("dependencies", Kind::Normal),
        ("build-dependencies", Kind::Normal),
        ("dev-dependencies", Kind::Dev),
    ];
    for (section, kind) in kinds {
        for (name, value) in table.get(section).and_then(Value::as_table).into_iter().flatten() {
            let from_workspace = value.get("workspace").and_then(Value::as_bool).unwrap_or(false);
            dependencies.push(Dependency { name: name.clone(), kind, from_workspace });
        }
    }
}

/// Checks that lints and versions come from the workspace, and that the crate root says what the crate is
/// for.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for this in all(tree) {
        let manifest = &this.manifest.path;
        if !this.inherits_lints && !WITH_UNSAFE.contains(&this.directory) {
            findings.push(Finding::new(manifest, 0, "must have `[lints] workspace = true`"));
        }
        for dependency in &this.dependencies {
            if !dependency.from_workspace {
                let message = format!("`{}` must take its version from the workspace", dependency.name);
                findings.push(Finding::new(manifest, 0, message));
            }
        }
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| format!("{}/{root}", this.directory));
        let roots: Vec<_> = roots.iter().filter_map(|root| tree.file(root)).collect();
        for root in &roots {
            if !root.text.starts_with("//!") {
                findings.push(Finding::new(
                    &root.path,
                    1,
                    "must open with `//!`: what the crate does and does not",
                ));
            }
        }
        if roots.is_empty() {
            findings.push(Finding::new(manifest, 0, "has neither src/lib.rs nor src/main.rs"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"weir-http\"\n[lints]\nworkspace = true\n[dependencies]\nmemchr.workspace = true\n";

    #[test]
    fn a_crate_that_follows_the_rules_is_left_alone() {
        let tree =
            Tree::of(&[("logic/http/Cargo.toml", MANIFEST), ("logic/http/src/lib.rs", "//! Framing.\n")]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_crate_root_without_a_purpose_is_found() {
        let tree =
            Tree::of(&[("logic/http/Cargo.toml", MANIFEST), ("logic/http/src/lib.rs", "mod chunk;\n")]);
        let message = "must open with `//!`: what the crate does and does not";
        assert_eq!(check(&tree), [Finding::new("logic/http/src/lib.rs", 1, message)]);
    }

    #[test]
    fn own_lints_are_for_the_crates_with_unsafe_code_only() {
        let own = "[package]\nname = \"x\"\n[lints.rust]\nunsafe_code = \"allow\"\n";
        let tree = |directory: &str| {
            let (manifest, root) = (format!("{directory}/Cargo.toml"), format!("{directory}/src/lib.rs"));
            check(&Tree::of(&[(&manifest, own), (&root, "//! Sockets.\n")]))
        };
        assert_eq!(tree("io/net"), []);
        assert_eq!(tree("io/proxy").len(), 1);
    }

    #[test]
    fn a_version_of_its_own_is_found_in_every_dependency_table() {
        let manifest = format!("{MANIFEST}[target.'cfg(unix)'.dev-dependencies]\ninsta = \"1\"\n");
        let tree =
            Tree::of(&[("logic/http/Cargo.toml", &manifest), ("logic/http/src/lib.rs", "//! Framing.\n")]);
        let message = "`insta` must take its version from the workspace";
        assert_eq!(check(&tree), [Finding::new("logic/http/Cargo.toml", 0, message)]);
    }
}
