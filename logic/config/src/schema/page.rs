//! Generates the reference page of a file from the tables of its keys.

use std::fmt::Write;

use super::{Key, Kind, Presence, Section};

/// Returns the reference page of a file with the root table `root`.
pub(crate) fn page(introduction: &str, root: &'static Section) -> String {
    let mut page = String::from(introduction);
    let mut sections = Vec::new();
    collect(root, &mut sections);
    for section in sections {
        // A write to a String cannot fail.
        let _ = write!(page, "\n## {}\n\n{}\n", section.title, section.meaning);
        let _ = write!(page, "\n| key | value | default | meaning |\n|---|---|---|---|\n");
        for key in section.keys {
            let _ = writeln!(page, "{}", row(key));
        }
        let _ = write!(page, "\nAn example of each key by itself:\n\n```toml\n{}```\n", example(section));
    }
    page
}

fn collect(section: &'static Section, sections: &mut Vec<&'static Section>) {
    if sections.iter().any(|there| there.title == section.title) {
        return;
    }
    sections.push(section);
    for key in section.keys {
        tables(key.kind).into_iter().for_each(|inner| collect(inner, sections));
    }
}

fn tables(kind: Kind) -> Vec<&'static Section> {
    match kind {
        Kind::Table(section) | Kind::Named(_, section) | Kind::Tables(section) => vec![section],
        Kind::OneOrMany(kind) | Kind::Map(_, kind) => tables(*kind),
        Kind::AnyOf(kinds) => kinds.iter().flat_map(|kind| tables(*kind)).collect(),
        _ => Vec::new(),
    }
}

fn row(key: &Key) -> String {
    let default = match key.presence {
        Presence::Required => "**required**".to_owned(),
        Presence::Default(text) => format!("`{text}`"),
        Presence::Otherwise(words) => words.to_owned(),
    };
    let cells = [format!("`{}`", key.name), form(key.kind), default, key.meaning.to_owned()];
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |", cells.join(" | "))
}

/// Returns the kind with its range, and links to the tables that it names.
fn form(kind: Kind) -> String {
    match kind {
        Kind::Integer { min, max } => format!("whole number, {min} to {max}"),
        Kind::Number { min, max } => format!("number, {min} to {max}"),
        Kind::Signed { min, max } => format!("whole number, {min} to {max}"),
        Kind::Duration { .. } => with_range("duration", kind),
        Kind::Size { .. } => with_range("size", kind),
        Kind::ByteRate => "size per second".to_owned(),
        Kind::Percent { .. } => with_range("share", kind),
        Kind::Choice(names) => {
            names.iter().map(|name| format!("`\"{name}\"`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::On => "`true`".to_owned(),
        Kind::Off => "`false`".to_owned(),
        Kind::Text(what) => what.to_owned(),
        Kind::OneOrMany(kind) => format!("{}, or a list", form(*kind)),
        Kind::AnyOf(kinds) => kinds.iter().map(|kind| form(*kind)).collect::<Vec<_>>().join(", or "),
        Kind::Table(section) => {
            format!("table: [{}](#{})", section.title.replace(['[', ']'], ""), anchor(section))
        }
        Kind::Named(name, section) => format!("a [table](#{}) for each {name}", anchor(section)),
        Kind::Tables(section) => format!("[tables](#{})", anchor(section)),
        Kind::Map(what, kind) => format!("table of {what}, each with {}", form(*kind)),
    }
}

fn with_range(what: &str, kind: Kind) -> String {
    match kind.range() {
        Some(range) => format!("{what}, {range}"),
        None => what.to_owned(),
    }
}

/// Returns the anchor that common Markdown renderers give to a section's heading.
fn anchor(section: &Section) -> String {
    let kept = section.title.chars().filter(|c| c.is_ascii_alphanumeric() || "- _".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Returns an example of each key.
fn example(section: &Section) -> String {
    section.keys.iter().fold(String::new(), |mut text, key| {
        let _ = writeln!(text, "{} = {}", key.name, key.example);
        text
    })
}
