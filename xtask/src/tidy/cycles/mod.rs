//! Modules of a crate do not import each other in a circle.
//!
//! Compared are the modules of one folder: an import from anything below one of them to anything below another one is
//! an edge. A folder that still has a circle is listed in `allowed` with the number of its modules in circles, which
//! may only fall.

mod graph;
mod imports;

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::Tree;
use graph::{Graph, circles};

const ALLOWED_PATH: &str = "xtask/src/tidy/cycles/allowed";
const ALLOWED: &str = include_str!("allowed");

/// The names from the crate's root to a module; empty for the root.
type ModulePath = Vec<String>;

/// No folder has more modules in circles than `allowed` lists.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, ALLOWED)
}

fn check_with(tree: &Tree, allowed: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, found) in by_folder(tree) {
        let limit =
            allowed.lines().find_map(|line| line.strip_prefix(&folder)?.strip_prefix(' ')?.parse().ok());
        let count: usize = found.iter().map(BTreeSet::len).sum();
        if count <= limit.unwrap_or(0) {
            continue;
        }
        for circle in found {
            let names: Vec<&str> = circle.iter().map(String::as_str).collect();
            let message = format!("modules import each other in a circle: {}", names.join(", "));
            findings.push(Finding::new(&folder, 0, message));
        }
        if let Some(limit) = limit {
            let message = format!("{folder} has {count} modules in circles, and {limit} are allowed");
            findings.push(Finding::new(ALLOWED_PATH, 0, message));
        }
    }
    findings
}

/// The lines of `allowed` for the tree as it is.
pub(super) fn counts(tree: &Tree) -> String {
    let count = |found: Vec<BTreeSet<String>>| found.iter().map(BTreeSet::len).sum::<usize>();
    by_folder(tree).into_iter().map(|(folder, found)| format!("{folder} {}\n", count(found))).collect()
}

/// The circles of each folder that has one.
fn by_folder(tree: &Tree) -> BTreeMap<String, Vec<BTreeSet<String>>> {
    let mut folders = BTreeMap::new();
    for (sources, modules) in crates(tree) {
        for (folder, graph) in graphs(&modules) {
            let found = circles(&graph);
            if !found.is_empty() {
                let path = [vec![sources.clone()], folder].concat().join("/");
                folders.insert(path, found);
            }
        }
    }
    folders
}

/// The text of each module of each crate, by the directory of its sources.
fn crates(tree: &Tree) -> BTreeMap<String, BTreeMap<ModulePath, &str>> {
    let mut crates: BTreeMap<String, BTreeMap<ModulePath, &str>> = BTreeMap::new();
    for file in tree.ending(".rs") {
        let Some((name, path)) = file.path.split_once("/src/") else { continue };
        let mut module: ModulePath = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        let is_root = module.len() == 1 && matches!(module[0].as_str(), "lib" | "main");
        if is_root || module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        // Tests may use whatever they test.
        if !module.iter().any(|name| name == "tests") {
            crates.entry(format!("{name}/src")).or_default().insert(module, &file.text);
        }
    }
    crates
}

/// For each folder which of its modules imports which.
fn graphs(modules: &BTreeMap<ModulePath, &str>) -> BTreeMap<ModulePath, Graph> {
    let mut graphs: BTreeMap<ModulePath, Graph> = BTreeMap::new();
    for (from, text) in modules {
        for import in imports::of(from, text) {
            let shared = from.iter().zip(&import).take_while(|(a, b)| a == b).count();
            let (Some(own), Some(other)) = (from.get(shared), import.get(shared)) else { continue };
            // A name of the folder itself is no module.
            let folder = &from[..shared];
            let is_module = modules.keys().any(|path| path.get(..=shared) == Some(&import[..=shared]));
            if is_module {
                let graph = graphs.entry(folder.to_vec()).or_default();
                graph.entry(own.clone()).or_default().insert(other.clone());
            }
        }
    }
    graphs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)], allowed: &str) -> Vec<String> {
        check_with(&Tree::of(files), allowed).iter().map(ToString::to_string).collect()
    }

    const CIRCLE: [(&str, &str); 4] = [
        ("io/net/src/lib.rs", "mod a;\nmod b;\n"),
        ("io/net/src/a/mod.rs", "mod deep;\n"),
        ("io/net/src/a/deep.rs", "use crate::b::B;\n"),
        ("io/net/src/b.rs", "fn f() { crate::a::go(); }\n"),
    ];

    #[test]
    fn a_circle_of_folders_is_found_wherever_its_imports_are() {
        assert_eq!(findings(&CIRCLE, ""), ["io/net/src: modules import each other in a circle: a, b"]);
        assert_eq!(findings(&CIRCLE, "io/net/src 2\n"), [""; 0]);
        assert_eq!(findings(&CIRCLE, "io/net/src 1\n").len(), 2);
        assert_eq!(counts(&Tree::of(&CIRCLE)), "io/net/src 2\n");
    }

    #[test]
    fn imports_of_parents_children_and_tests_close_no_circle() {
        let files = [
            ("io/net/src/lib.rs", "mod a;\nmod b;\nuse a::A;\n"),
            ("io/net/src/a.rs", "use super::Shared;\nuse crate::b::B;\nmod child;\n"),
            ("io/net/src/a/child.rs", "use super::A;\n"),
            ("io/net/src/b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
            ("io/net/src/b/tests.rs", "use crate::a::A;\n"),
        ];
        assert_eq!(findings(&files, ""), [""; 0]);
    }
}
