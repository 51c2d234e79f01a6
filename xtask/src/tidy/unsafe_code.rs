//! Checks that only two crates contain unsafe code, so that it can be reviewed in one sitting. The compiler
//! forbids it in the other crates. This rule also covers crates with their own lint table.

use super::Finding;
use super::crates::WITH_UNSAFE;
use super::tree::Tree;

/// Keyword, written so that this file does not contain it as code.
const KEYWORD: &str = concat!("un", "safe");

/// Checks that no Rust file outside the two crates contains the keyword as code.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        if WITH_UNSAFE.iter().any(|home| file.path.starts_with(&format!("{home}/"))) {
            continue;
        }
        for (at, line) in file.text.lines().enumerate() {
            if has_keyword(line) {
                let message = format!("{KEYWORD} code lives in {} only", WITH_UNSAFE.join(" and "));
                findings.push(Finding::new(&file.path, at + 1, message));
            }
        }
    }
    findings
}

/// Returns true if the line has the keyword as a separate word, followed by a token that makes it code.
/// Comments and most strings do not match.
fn has_keyword(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or("");
    code.match_indices(KEYWORD).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + KEYWORD.len()..].trim_start();
        let separate = !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"');
        separate
            && ["{", "fn ", "impl ", "impl<", "trait ", "extern "].iter().any(|next| after.starts_with(next))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> String {
        format!("let n = {KEYWORD} {{ read(fd) }};\n")
    }

    #[test]
    fn a_block_outside_the_two_crates_is_found_with_its_line() {
        let text = format!("//! Proxy.\n{}", block());
        let tree = Tree::of(&[("io/proxy/src/lib.rs", &text)]);
        let message = format!("{KEYWORD} code lives in io/net and io/kernel only");
        assert_eq!(check(&tree), [Finding::new("io/proxy/src/lib.rs", 2, message)]);
    }

    #[test]
    fn the_two_crates_may_hold_it() {
        let tree = Tree::of(&[("io/net/src/splice.rs", &block()), ("io/kernel/src/map.rs", &block())]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_crate_with_a_similar_path_may_not() {
        assert_eq!(check(&Tree::of(&[("io/network/src/lib.rs", &block())])).len(), 1);
    }

    #[test]
    fn comments_and_lint_names_are_not_code() {
        let text = format!("// {KEYWORD} {{ }} is forbidden\n#![forbid({KEYWORD}_code)]\n");
        assert_eq!(check(&Tree::of(&[("io/proxy/src/lib.rs", &text)])), []);
    }
}
