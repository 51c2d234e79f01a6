//! Writes a report as Markdown.

use super::document::{Block, Table};

pub(super) fn render(blocks: &[Block]) -> String {
    format!("{}\n", rendered(blocks).trim_end())
}

fn rendered(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        match block {
            Block::Title(text) => out.push_str(&format!("# {}\n\n", escaped(text))),
            Block::Heading(text) => out.push_str(&format!("## {}\n\n", escaped(text))),
            Block::Text(text) => out.push_str(&format!("{}\n\n", escaped(text))),
            Block::Warning(said) => {
                for sentence in said {
                    out.push_str(&format!("> **Warning:** {}\n>\n", escaped(sentence)));
                }
                out.push('\n');
            }
            Block::Verdict(entries) | Block::List(entries) => {
                entries.iter().for_each(|entry| out.push_str(&format!("- {}\n", escaped(entry))));
                out.push('\n');
            }
            Block::Grid(table) | Block::Table(table) => out.push_str(&rows(table)),
            Block::Plot(_) => {}
            Block::Fold { blocks, .. } if is_only_plots(blocks) => {}
            Block::Fold { title, blocks } => {
                out.push_str(&format!("## {}\n\n{}", escaped(title), rendered(blocks)));
            }
            Block::Config { name, text } => {
                out.push_str(&format!("{}:\n\n", escaped(name)));
                text.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
                out.push('\n');
            }
        }
    }
    out
}

/// Returns true if a section has only plots and their captions.
fn is_only_plots(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Plot(_)))
        && blocks.iter().all(|block| matches!(block, Block::Plot(_) | Block::Text(_)))
}

fn rows(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell).replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = row(&table.head);
    out.push_str(&format!("|{}\n", "---|".repeat(table.head.len())));
    table.rows.iter().for_each(|cells| out.push_str(&row(cells)));
    out.push('\n');
    out
}

/// Escapes text from outside, which must not become markup.
fn escaped(text: &str) -> String {
    text.replace('<', "&lt;").replace(['\r', '\n'], " ")
}
