//! Checks house rules that neither the compiler nor clippy knows. Each rule is a function from the tree to
//! findings, so that its tests use a small tree of their own.

mod changelog;
mod crates;
mod cycles;
mod dependencies;
mod layers;
mod links;
mod markers;
mod prose;
mod purity;
mod size;
mod tree;
mod unsafe_code;

use std::fmt;
use std::path::Path;

use tree::Tree;

use crate::arguments::Arguments;

/// Violation of a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Line number from 1; 0 = the file as a whole.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, message } = self;
        if *line == 0 { write!(f, "{path}: {message}") } else { write!(f, "{path}:{line}: {message}") }
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [(&str, Rule); 11] = [
    ("layers", layers::check),
    ("purity", purity::check),
    ("crates", crates::check),
    ("dependencies", dependencies::check),
    ("unsafe", unsafe_code::check),
    ("size", size::check),
    ("markers", markers::check),
    ("links", links::check),
    ("changelog", changelog::check),
    ("prose", prose::check),
    ("cycles", cycles::check),
];

/// Runs the command `tidy`: checks every rule, or prints the number of violations by part with `--counts`.
///
/// # Errors
/// If a rule is violated.
pub(crate) fn run(root: &Path, mut arguments: Arguments) -> Result<(), String> {
    let counts = arguments.flag("--counts");
    arguments.finish()?;
    if !counts {
        return check(root);
    }
    let tree = Tree::load(root)?;
    print!("{}\n{}", prose::counts(&tree), cycles::counts(&tree));
    Ok(())
}

/// Checks every rule over the whole repository.
///
/// # Errors
/// If a rule is violated.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let tree = Tree::load(root)?;
    let mut found = 0;
    for (name, rule) in RULES {
        let mut findings = rule(&tree);
        findings.sort();
        for finding in &findings {
            eprintln!("{finding} [{name}]");
        }
        found += findings.len();
    }
    let files = tree.files.len();
    if found > 0 {
        return Err(format!("tidy: {found} findings in {files} files"));
    }
    println!("tidy: {} rules, {files} files, nothing found", RULES.len());
    Ok(())
}
