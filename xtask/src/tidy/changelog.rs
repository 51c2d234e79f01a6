//! Checks that CHANGELOG.md has a section for the next change.

use super::Finding;
use super::tree::Tree;

const CHANGELOG: &str = "CHANGELOG.md";

/// Checks that the first section of the changelog is "Unreleased".
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file(CHANGELOG) else {
        return vec![Finding::new(CHANGELOG, 0, "is missing")];
    };
    match file.text.lines().enumerate().find(|(_, line)| line.starts_with("## ")) {
        Some((_, "## [Unreleased]" | "## Unreleased")) => Vec::new(),
        Some((at, _)) => vec![Finding::new(CHANGELOG, at + 1, "the first section must be \"## Unreleased\"")],
        None => vec![Finding::new(CHANGELOG, 0, "has no \"## Unreleased\" section")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreleased_changes_come_first() {
        let text = "# Changelog\n\n## Unreleased\n\n## 0.1.0\n";
        assert_eq!(check(&Tree::of(&[(CHANGELOG, text)])), []);
    }

    #[test]
    fn a_changelog_without_a_place_for_the_next_change_is_found() {
        assert_eq!(check(&Tree::of(&[(CHANGELOG, "# Changelog\n\n## 0.1.0\n")]))[0].line, 3);
        assert_eq!(check(&Tree::of(&[(CHANGELOG, "# Changelog\n")])).len(), 1);
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
