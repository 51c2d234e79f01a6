use std::fmt::Write;

use weir_sim::chart::{STYLE, escaped};

use super::document::{Block, Table};

const OWN_STYLE: &str = "pre { background: var(--panel); padding: 10px 14px; overflow-x: auto; font-size: 12.5px; }\n\
    details { margin-top: 8px; } summary { cursor: pointer; }\n";

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
    for block in blocks {
        // Writing into a string cannot fail, here and below.
        let _ = match block {
            Block::Title(text) => writeln!(page, "<h1>{}</h1>", escaped(text)),
            Block::Heading(text) => writeln!(page, "<h2>{}</h2>", escaped(text)),
            Block::Text(text) => writeln!(page, "<p class=\"hint\">{}</p>", escaped(text)),
            Block::Verdict(said) => {
                let said: String = said.iter().map(|it| format!("<p>{}</p>\n", escaped(it))).collect();
                writeln!(page, "<div class=\"verdict\">\n{said}</div>")
            }
            Block::List(entries) => {
                let entries: String =
                    entries.iter().map(|it| format!("<li>{}</li>\n", escaped(it))).collect();
                writeln!(page, "<ul>\n{entries}</ul>")
            }
            Block::Table(table) => writeln!(page, "{}", rows(table)),
            Block::Plot(svg) => writeln!(page, "{svg}"),
            Block::Config { name, text } => {
                let (name, text) = (escaped(name), escaped(text));
                writeln!(page, "<details><summary>{name}</summary>\n<pre>{text}</pre></details>")
            }
        };
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn rows(table: &Table) -> String {
    let cells = |tag: &str, cells: &[String]| {
        let cell = |(at, text): (usize, &String)| {
            let class = if at == 0 { " class=\"name\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escaped(text))
        };
        cells.iter().enumerate().map(cell).collect::<String>()
    };
    let body: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells("td", row))).collect();
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>",
        cells("th", &table.head)
    )
}
