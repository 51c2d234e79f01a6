//! Limits the length of Rust files: a longer file holds several concepts.

use super::Finding;
use super::tree::Tree;

const LINES_MAX: usize = 500;

/// Files that may be longer, each with its reason.
const EXCEPTIONS: [(&str, &str); 0] = [];

/// Checks that no Rust file is longer than [`LINES_MAX`] without an exception, and that no exception is
/// outdated.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, &EXCEPTIONS)
}

fn check_with(tree: &Tree, exceptions: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        let lines = file.text.lines().count();
        if lines > LINES_MAX && !exceptions.iter().any(|(path, _)| *path == file.path) {
            findings.push(Finding::new(
                &file.path,
                0,
                format!("{lines} lines, more than {LINES_MAX}: split it"),
            ));
        }
    }
    for (path, _) in exceptions {
        if tree.file(path).is_none_or(|file| file.text.lines().count() <= LINES_MAX) {
            findings.push(Finding::new(*path, 0, "needs no exception from the length limit (any more)"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_five_hundred_lines_is_long_enough() {
        let text = "\n".repeat(LINES_MAX);
        assert_eq!(check(&Tree::of(&[("io/net/src/tls.rs", &text)])), []);
    }

    #[test]
    fn a_longer_file_is_found_unless_a_reason_is_given() {
        let text = "\n".repeat(LINES_MAX + 1);
        let tree = Tree::of(&[("io/net/src/tls.rs", &text)]);
        let message = "501 lines, more than 500: split it";
        assert_eq!(check(&tree), [Finding::new("io/net/src/tls.rs", 0, message)]);
        assert_eq!(check_with(&tree, &[("io/net/src/tls.rs", "one table")]), []);
    }

    #[test]
    fn a_reason_that_is_no_longer_needed_is_found() {
        let tree = Tree::of(&[("io/net/src/tls.rs", "\n")]);
        assert_eq!(check_with(&tree, &[("io/net/src/tls.rs", "one table")]).len(), 1);
    }
}
