//! The language of comments and documents: sentences that a reader understands the first time.
//!
//! Each rule counts places. A part of the repository that still has some is listed in `allowed` with their number,
//! which may only fall.

mod allowed;
mod comments;
mod documents;
mod patterns;

use std::collections::BTreeMap;

use super::Finding;
use super::tree::{File, Tree};

/// Columns of a line of prose. Tables, links and code may be longer.
const COLUMNS_MAX: usize = 110;
/// Words of a sentence in a document.
const WORDS_MAX: usize = 40;
/// Places shown for a part with more than its list allows.
const SHOWN_MAX: usize = 20;

/// A rule of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// A comment that begins with a clause without subject ("What is kept of ...").
    Headless,
    /// A word that a plain one replaces.
    Banned,
    /// A module without a sentence that says what it does.
    Header,
    /// A line that is too wide.
    Width,
    /// A sentence that is too long.
    Sentence,
}

impl Rule {
    const ALL: [Self; 5] = [Self::Headless, Self::Banned, Self::Header, Self::Width, Self::Sentence];

    fn name(self) -> &'static str {
        match self {
            Self::Headless => "headless",
            Self::Banned => "banned",
            Self::Header => "header",
            Self::Width => "width",
            Self::Sentence => "sentence",
        }
    }
}

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Offence {
    rule: Rule,
    finding: Finding,
}

/// No part of the repository has more offences against a rule than `allowed` lists.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let allowed = match allowed::parse(allowed::TEXT) {
        Ok(allowed) => allowed,
        Err(error) => return vec![Finding::new(allowed::PATH, 0, error)],
    };
    let mut findings = Vec::new();
    for ((part, rule), mut offences) in by_part(tree) {
        let limit = allowed.get(&(part.clone(), rule)).copied().unwrap_or(0);
        let count = offences.len();
        if count <= limit {
            continue;
        }
        if limit > 0 {
            let message =
                format!("{part} has {count} offences of kind {:?}, and {limit} are allowed", rule.name());
            findings.push(Finding::new(allowed::PATH, 0, message));
            offences.truncate(SHOWN_MAX);
        }
        findings.append(&mut offences);
    }
    findings
}

/// The lines of `allowed` for the tree as it is.
pub(super) fn counts(tree: &Tree) -> String {
    let counts = by_part(tree);
    counts.iter().map(|((part, rule), found)| format!("{part} {} {}\n", rule.name(), found.len())).collect()
}

fn by_part(tree: &Tree) -> BTreeMap<(String, Rule), Vec<Finding>> {
    let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for file in &tree.files {
        for Offence { rule, finding } in offences(file) {
            parts.entry((part_of(&file.path), rule)).or_default().push(finding);
        }
    }
    parts
}

/// The crate, or the folder of documents, that a file belongs to.
fn part_of(path: &str) -> String {
    path.split('/').take(2).collect::<Vec<_>>().join("/")
}

fn offences(file: &File) -> Vec<Offence> {
    match file.path.rsplit_once('.') {
        Some((_, "rs")) => comments::offences(file),
        // Generated from the code that the other rules see.
        Some((path, "md")) if !path.starts_with("docs/reference/") => documents::offences(file),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_listed_has_each_place_reported() {
        let tree = Tree::of(&[("io/none/src/a.rs", "//! Reads.\n\n// What is read.\nfn a() {}\n")]);
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "io/none/src/a.rs:3: begins with \"What\": begin with a verb, or with the noun that it is about"
            ]
        );
    }

    #[test]
    fn counts_are_by_crate_and_folder() {
        let tree = Tree::of(&[
            ("io/none/src/a.rs", "// Who reads.\n"),
            ("io/none/src/b.rs", "//! Nobody.\n"),
            ("docs/guide/a.md", "Ask anybody.\n"),
            ("docs/reference/config.md", "Nobody.\n"),
        ]);
        assert_eq!(
            counts(&tree),
            "docs/guide banned 1\nio/none headless 1\nio/none banned 1\nio/none header 1\n"
        );
    }
}
