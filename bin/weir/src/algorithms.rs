//! `weir algorithms`: lists the balancing algorithms and describes each.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use weir_balance::{ALGORITHMS, Algorithm, AlgorithmEntry};

use crate::ctl::table::Style;

/// List the balancing algorithms: whose formula it is, what it computes, when to use it, what it costs
#[derive(Debug, clap::Args)]
pub(crate) struct AlgorithmsArgs {
    /// Only this one.
    name: Option<Algorithm>,
    /// Print for programs.
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(crate) fn run(args: &AlgorithmsArgs) -> ExitCode {
    let entries = ALGORITHMS.iter().filter(|entry| args.name.is_none_or(|name| name == entry.algorithm));
    let text = if args.json { json(entries) } else { text(entries, Style::of(io::stdout().is_terminal())) };
    // Ignores a closed pipe: the reader needs no more.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn text<'a>(entries: impl Iterator<Item = &'a AlgorithmEntry>, style: Style) -> String {
    let blocks: Vec<_> = entries.map(|entry| block(entry, style)).collect();
    blocks.join("\n")
}

fn block(entry: &AlgorithmEntry, style: Style) -> String {
    let default = if entry.algorithm == Algorithm::default() { " (the default)" } else { "" };
    let mut out = format!("{}{default}\n", style.bold(entry.algorithm.name()));
    let parts = [
        ("from", entry.origin),
        ("formula", entry.formula),
        ("use", entry.when_to_use),
        ("cost", entry.cost),
    ];
    for (name, text) in parts {
        for (at, line) in wrapped(text).into_iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            out.push_str(&format!("  {name:<8} {line}\n"));
        }
    }
    out
}

/// Breaks `text` into lines that fit a terminal of 100 columns.
fn wrapped(text: &str) -> Vec<String> {
    const LINE_CHARS_MAX: usize = 88;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines.last().is_some_and(|line| line.len() + 1 + word.len() > LINE_CHARS_MAX);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn json<'a>(entries: impl Iterator<Item = &'a AlgorithmEntry>) -> String {
    let entries: Vec<_> = entries
        .map(|entry| {
            serde_json::json!({
                "name": entry.algorithm.name(),
                "default": entry.algorithm == Algorithm::default(),
                "origin": entry.origin,
                "formula": entry.formula,
                "when_to_use": entry.when_to_use,
                "cost": entry.cost,
            })
        })
        .collect();
    format!("{}\n", serde_json::Value::from(entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_told_of_and_one_is_the_default() {
        let text = text(ALGORITHMS.iter(), Style::Plain);
        for algorithm in Algorithm::ALL {
            assert!(text.contains(&format!("{algorithm}")), "{text}");
        }
        assert_eq!(text.matches("(the default)").count(), 1);
        assert!(text.lines().all(|line| line.len() < 100 && line == line.trim_end()), "{text}");
    }

    #[test]
    fn json_has_the_same() {
        let values: serde_json::Value = serde_json::from_str(&json(ALGORITHMS.iter())).unwrap();
        let names: Vec<_> =
            values.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
        assert_eq!(names, Algorithm::ALL.map(Algorithm::name));
    }

    #[test]
    fn words_are_not_lost_between_lines() {
        let text = "aa bb ".repeat(60);
        let lines = wrapped(&text);
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= 88));
        assert_eq!(lines.join(" "), text.trim());
    }
}
