//! The comments of Rust files.

use super::patterns::{banned, headless_opening};
use super::{COLUMNS_MAX, Offence, Rule};
use crate::tidy::Finding;
use crate::tidy::tree::File;

/// Comment lines of one kind that follow each other.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    /// From 1.
    line: usize,
    marker: &'static str,
    text: String,
}

pub(super) fn offences(file: &File) -> Vec<Offence> {
    let mut found = Vec::new();
    let mut report = |rule, line, message: String| {
        found.push(Offence { rule, finding: Finding::new(&file.path, line, message) });
    };
    if !has_header(&file.text) {
        report(Rule::Header, 0, "no sentence at its top that says what the module does (//!)".to_owned());
    }
    for Block { line, text, .. } in blocks(&file.text) {
        let prose = without_code(&text);
        if let Some(word) = headless_opening(&text) {
            let message =
                format!("begins with {word:?}: begin with a verb, or with the noun that it is about");
            report(Rule::Headless, line, message);
        }
        for word in banned(&prose) {
            report(Rule::Banned, line, format!("{word:?}: name who or what it is, or use a plain word"));
        }
    }
    for (at, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX && marker(line).is_some() && !line.contains("://") {
            report(Rule::Width, at + 1, format!("{columns} columns, more than {COLUMNS_MAX}"));
        }
    }
    found
}

/// Attributes may stand before the header.
fn has_header(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    first.is_none_or(|line| line.starts_with("//!"))
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut goes_on = false;
    for (at, line) in text.lines().enumerate() {
        let Some((marker, words)) = marker(line) else {
            goes_on = false;
            continue;
        };
        match blocks.last_mut() {
            Some(last) if goes_on && last.marker == marker => {
                last.text.push(' ');
                last.text.push_str(words);
            }
            _ => blocks.push(Block { line: at + 1, marker, text: words.to_owned() }),
        }
        goes_on = true;
    }
    blocks
}

/// The kind of a line that is a comment, and its text.
fn marker(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim();
    let kind = ["//!", "///", "//"].into_iter().find(|marker| line.starts_with(marker))?;
    Some((kind, line.strip_prefix(kind)?.trim()))
}

fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" x ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Rule, usize)> {
        let file = File { path: "io/net/src/a.rs".to_owned(), text: text.to_owned() };
        offences(&file).into_iter().map(|it| (it.rule, it.finding.line)).collect()
    }

    #[test]
    fn plain_comments_are_left_alone() {
        let text = "//! Reads files.\n\n/// Returns the `nobody` of a file.\nfn a() {\n    // It is empty at first.\n}\n";
        assert_eq!(found(text), []);
    }

    #[test]
    fn each_block_is_judged_by_its_first_word_and_all_its_words() {
        let text = "//! Reads.\n/// Returns the file\n/// that nobody reads.\nfn a() {}\n// Whose it is.\n";
        assert_eq!(found(text), [(Rule::Banned, 2), (Rule::Headless, 5)]);
    }

    #[test]
    fn a_module_has_a_header_behind_its_attributes() {
        assert_eq!(found("#![no_main]\n//! Reads.\n"), []);
        assert_eq!(found("use std::fs;\n//! Reads.\n"), [(Rule::Header, 0)]);
        assert_eq!(found("\n"), []);
    }

    #[test]
    fn wide_comments_are_found_and_wide_code_is_the_formatters() {
        let wide = "x".repeat(COLUMNS_MAX - 3);
        assert_eq!(found(&format!("//! Reads.\n// {wide}\nfn {wide}{wide}() {{}}\n")), []);
        assert_eq!(found(&format!("//! Reads.\n// {wide}x\n")), [(Rule::Width, 2)]);
        assert_eq!(found(&format!("//! Reads.\n// https://{wide}\n")), []);
    }
}
