//! Writes a report as HTML.

use weir_sim::chart::{STYLE, escaped};

use super::document::{Block, Table};

const OWN_STYLE: &str = "td small { display: block; margin-left: auto; max-width: 140px; white-space: normal; }\n\
    .verdict p:first-child { font-weight: inherit; } .verdict .scroll { margin-top: 0; }\n\
    .verdict td { white-space: normal; } .warning { border-color: #e07b00; margin-top: 12px; } .says { margin: 6px 0; }\n\
    pre { background: var(--panel); padding: 10px 14px; overflow-x: auto; font-size: 12.5px; }\n\
    details { margin-top: 8px; } summary { cursor: pointer; }\n\
    .fold > summary { font-size: 17px; font-weight: 600; margin: 18px 0 6px; }\n";

pub(super) fn render(blocks: &[Block]) -> String {
    let title = blocks.iter().find_map(|block| match block {
        Block::Title(text) => Some(escaped(text)),
        _ => None,
    });
    let title = title.unwrap_or_default();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}{OWN_STYLE}</style>\n\
         </head>\n<body>\n<main>\n"
    );
    blocks.iter().for_each(|block| page.push_str(&rendered(block)));
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn rendered(block: &Block) -> String {
    match block {
        Block::Title(text) => format!("<h1>{}</h1>\n", escaped(text)),
        Block::Heading(text) => format!("<h2>{}</h2>\n", escaped(text)),
        Block::Text(text) => format!("<p class=\"hint\">{}</p>\n", escaped(text)),
        Block::Grid(table) => format!("<div class=\"verdict\">\n{}\n</div>\n", rows(table)),
        Block::Warning(said) => {
            let said: String = said.iter().map(|it| format!("<p>{}</p>\n", escaped(it))).collect();
            format!("<div class=\"verdict warning\">\n<p><b>Warning</b></p>\n{said}</div>\n")
        }
        Block::Verdict(entries) => {
            let entries: String = entries.iter().map(|it| format!("<li>{}</li>\n", escaped(it))).collect();
            format!("<ul class=\"says\">\n{entries}</ul>\n")
        }
        Block::List(entries) => {
            let entries: String = entries.iter().map(|it| format!("<li>{}</li>\n", escaped(it))).collect();
            format!("<ul>\n{entries}</ul>\n")
        }
        Block::Table(table) => rows(table) + "\n",
        Block::Plot(svg) => format!("{svg}\n"),
        Block::Fold { title, blocks } => {
            let within: String = blocks.iter().map(rendered).collect();
            format!("<details class=\"fold\"><summary>{}</summary>\n{within}</details>\n", escaped(title))
        }
        Block::Config { name, text } => {
            let (name, text) = (escaped(name), escaped(text));
            format!("<details><summary>{name}</summary>\n<pre>{text}</pre></details>\n")
        }
    }
}

fn rows(table: &Table) -> String {
    let cells = |tag: &str, cells: &[String]| {
        let cell = |(at, text): (usize, &String)| {
            if at == 0 {
                return format!("<{tag} class=\"name\">{}</{tag}>", escaped(text));
            }
            format!("<{tag}>{}</{tag}>", two_lines(text))
        };
        cells.iter().enumerate().map(cell).collect::<String>()
    };
    let body: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells("td", row))).collect();
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>",
        cells("th", &table.head)
    )
}

/// Formats a value with its interval in a smaller font below it, so that a table of eight cases fits on a
/// page.
fn two_lines(text: &str) -> String {
    match text.split_once(" (") {
        None => escaped(text),
        Some((figure, more)) => {
            format!("{} <small>{}</small>", escaped(figure), escaped(&more.replacen(')', "", 1)))
        }
    }
}
