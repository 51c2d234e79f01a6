//! Checks that relative links in Markdown files lead to a file and heading that exist. rustdoc checks the
//! links in doc comments.

use super::Finding;
use super::tree::{File, Tree};

/// Checks that every relative link has its file, and every `#anchor` its heading.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".md") {
        for (at, line) in prose(&file.text) {
            for target in targets(&line) {
                if let Err(why) = resolve(tree, file, target) {
                    findings.push(Finding::new(&file.path, at, format!("link {target}: {why}")));
                }
            }
        }
    }
    findings
}

fn resolve(tree: &Tree, from: &File, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { Some(from.path.clone()) } else { join(&from.path, path) };
    let Some(path) = path else { return Err("leaves the repository".to_owned()) };
    if !tree.names.contains(&path) {
        return Err(format!("no file {path}"));
    }
    let Some(file) = tree.file(&path).filter(|_| !anchor.is_empty()) else { return Ok(()) };
    let headings = prose(&file.text).into_iter().filter(|(_, line)| line.starts_with('#'));
    let mut anchors = headings.map(|(_, line)| anchor_of(&line));
    if anchors.any(|known| known == anchor) {
        Ok(())
    } else {
        Err(format!("{path} has no heading #{anchor}"))
    }
}

/// Resolves a link against the path of the file that contains it. Returns `None` if it leads above the root.
fn join(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the lines outside code blocks, numbered from 1, without their `inline code`.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            // Headings keep their inline code: an anchor is made of all their words.
            let line = if line.starts_with('#') { line.replace('`', "") } else { without_code(line) };
            lines.push((at + 1, line));
        }
    }
    lines
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Returns the targets of all links (`[text](target)`) in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

/// Returns the anchor of a heading, as GitHub and GitLab make it.
fn anchor_of(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("docs/guide/tls.md", text),
            ("docs/architecture.md", "# Shape\n\n## Who owns what?\n"),
            ("README.md", "# Weir\n"),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_left_alone() {
        let text = "[shape](../architecture.md) [owners](../architecture.md#who-owns-what)\n\
                    [top](../../README.md) [docs](..) [rfc](https://www.rfc-editor.org/rfc/rfc9112)\n";
        assert_eq!(findings(text), [""; 0]);
    }

    #[test]
    fn a_link_to_a_missing_file_is_found_with_its_line() {
        assert_eq!(
            findings("# TLS\n[gone](gone.md)\n"),
            ["docs/guide/tls.md:2: link gone.md: no file docs/guide/gone.md"]
        );
    }

    #[test]
    fn a_link_to_a_missing_heading_is_found() {
        assert_eq!(
            findings("[who](../architecture.md#who)\n"),
            ["docs/guide/tls.md:1: link ../architecture.md#who: docs/architecture.md has no heading #who"]
        );
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        assert_eq!(
            findings("[up](../../../etc/passwd)\n"),
            ["docs/guide/tls.md:1: link ../../../etc/passwd: leaves the repository"]
        );
    }

    #[test]
    fn code_is_not_searched_for_links() {
        assert_eq!(findings("```\n[a](b.md)\n```\nand `[a](b.md)`\n"), [""; 0]);
    }
}
