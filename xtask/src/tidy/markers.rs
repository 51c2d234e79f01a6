//! Checks that Rust files have no marker of unfinished work, which belongs in the issue tracker.

use super::Finding;
use super::tree::Tree;

/// Markers, written in halves so that this file does not contain them.
const MARKERS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];

/// Checks that no Rust file contains a marker of unfinished work.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        for (at, line) in file.text.lines().enumerate() {
            if let Some(marker) = MARKERS.iter().find(|marker| line.contains(*marker)) {
                findings.push(Finding::new(&file.path, at + 1, format!("{marker}: finish it or file it")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_work_is_found_with_its_line() {
        let text = format!("fn pick() {{}}\n// {} weights\n", MARKERS[0]);
        let findings = check(&Tree::of(&[("logic/balance/src/lib.rs", &text)]));
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].path.as_str(), findings[0].line), ("logic/balance/src/lib.rs", 2));
    }

    #[test]
    fn finished_work_is_not() {
        assert_eq!(check(&Tree::of(&[("logic/balance/src/lib.rs", "fn pick() {}\n")])), []);
    }
}
