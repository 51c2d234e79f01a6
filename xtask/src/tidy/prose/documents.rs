//! The prose of Markdown files.

use super::patterns::banned;
use super::{COLUMNS_MAX, Offence, Rule, WORDS_MAX};
use crate::tidy::Finding;
use crate::tidy::tree::File;

/// Lines that belong together: a paragraph, an item of a list, a cell of a table.
#[derive(Debug, PartialEq, Eq)]
struct Paragraph {
    /// From 1.
    line: usize,
    text: String,
}

pub(super) fn offences(file: &File) -> Vec<Offence> {
    let mut found = Vec::new();
    let mut report = |rule, line, message: String| {
        found.push(Offence { rule, finding: Finding::new(&file.path, line, message) });
    };
    for Paragraph { line, text } in paragraphs(&file.text) {
        let text = without_code(&text);
        for word in banned(&text) {
            report(Rule::Banned, line, format!("{word:?}: name who or what it is, or use a plain word"));
        }
        for words in lengths(&text) {
            if words > WORDS_MAX {
                report(Rule::Sentence, line, format!("a sentence of {words} words, more than {WORDS_MAX}"));
            }
        }
    }
    for (at, line) in prose(&file.text) {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX && !line.starts_with('|') && !line.contains("](") && !line.contains("://") {
            report(Rule::Width, at, format!("{columns} columns, more than {COLUMNS_MAX}"));
        }
    }
    found
}

fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let mut goes_on = false;
    let mut last_line = 0;
    for (at, line) in prose(text) {
        let line = line.trim();
        // A block of code between.
        goes_on &= at == last_line + 1;
        last_line = at;
        if line.starts_with('|') {
            let cells = line.split('|').filter(|cell| !cell.trim().is_empty());
            paragraphs.extend(cells.map(|cell| Paragraph { line: at, text: cell.to_owned() }));
            goes_on = false;
            continue;
        }
        let begins = line.starts_with(['#', '-', '*', '>']) || line.starts_with(|c: char| c.is_ascii_digit());
        match paragraphs.last_mut() {
            Some(last) if goes_on && !begins => {
                last.text.push(' ');
                last.text.push_str(line);
            }
            _ if line.is_empty() => {}
            _ => paragraphs.push(Paragraph { line: at, text: line.to_owned() }),
        }
        goes_on = !line.is_empty() && !line.starts_with('#');
    }
    paragraphs
}

/// Lines outside of code blocks, numbered from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((at + 1, line));
        }
    }
    lines
}

/// Code counts as one word, and the full stops in it end no sentence.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("code")
}

/// The number of words of each sentence. One ends with a word that ends with a stop.
fn lengths(text: &str) -> Vec<usize> {
    let mut lengths = vec![0];
    for word in text.split_whitespace() {
        if let Some(last) = lengths.last_mut() {
            *last += 1;
        }
        if word.trim_end_matches([')', '"', '*']).ends_with(['.', '!', '?']) {
            lengths.push(0);
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Rule, usize)> {
        let file = File { path: "docs/guide/a.md".to_owned(), text: text.to_owned() };
        offences(&file).into_iter().map(|it| (it.rule, it.finding.line)).collect()
    }

    #[test]
    fn plain_documents_are_left_alone() {
        assert_eq!(found("# Serve files\n\nWeir serves `nobody`.\n\n```\nnobody\n```\n"), []);
    }

    #[test]
    fn a_sentence_counts_over_lines_and_ends_with_its_paragraph() {
        let twenty = "a ".repeat(20);
        assert_eq!(found(&format!("{twenty}\n{twenty}\n")), []);
        assert_eq!(found(&format!("First.\n{twenty}\n{twenty} a.\n")), [(Rule::Sentence, 1)]);
        assert_eq!(found(&format!("{twenty}\n\n{twenty}\n- {twenty}\n- {twenty}\n")), []);
        assert_eq!(found(&format!("{twenty} (yes.) {twenty}\n")), []);
        assert_eq!(found(&format!("| {twenty} | {twenty} |\n")), []);
    }

    #[test]
    fn wide_lines_are_found_and_tables_and_links_may_be_wide() {
        let wide = "x".repeat(COLUMNS_MAX);
        assert_eq!(found(&format!("{wide}\n| {wide} |\n[a]({wide})\n```\nx{wide}\n```\n")), []);
        assert_eq!(found(&format!("\nx{wide}\n")), [(Rule::Width, 2)]);
    }
}
