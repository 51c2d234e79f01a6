//! The reference page of the config file, made from the tables of keys.

use std::fmt::Write;

use crate::keys::{Key, Kind, Presence, ROOT, Section};

/// The page in Markdown.
pub fn reference() -> String {
    page(INTRODUCTION, &ROOT)
}

/// The page of a file whose outermost table is `root`.
pub(crate) fn page(introduction: &str, root: &'static Section) -> String {
    let mut page = String::from(introduction);
    let mut sections = Vec::new();
    collect(root, &mut sections);
    for section in sections {
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {}\n\n{}\n", section.title, section.meaning);
        let _ = write!(page, "\n| key | value | default | meaning |\n|---|---|---|---|\n");
        for key in section.keys {
            let _ = writeln!(page, "{}", row(key));
        }
        let _ = write!(page, "\nAn example of each key by itself:\n\n```toml\n{}```\n", example(section));
    }
    page
}

const INTRODUCTION: &str = "\
# Configuration

<!-- Made from logic/config/src/keys. After a change there: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents -->

Weir reads TOML: one file, or a directory whose `*.toml` files are taken together in the order of their names. What has
a name (`[pool.web]`) may be defined once; `[[route]]`s of several files follow each other. `weir check` proves a config
and prints the plan with every default filled in, `weir explain` says what would become of a request.

```toml
[listener.web]
bind = \"0.0.0.0:80\"
pool = \"web\"

[pool.web]
check = \"GET /health\"
servers = [\"10.0.0.11:8080\", { address = \"10.0.0.12:8080\", weight = 2 }]
```

- Durations are written `\"250ms\"`, `\"2s\"`, `\"5m\"`, `\"1h\"`, `\"7d\"`; sizes `\"512B\"`, `\"64KiB\"`, `\"10MiB\"`, or decimal
  `\"1MB\"`; rates `\"1KiB/s\"`; shares `\"20%\"`.
- Where one or many make sense, a list may be left out: `host = \"a.org\"` is `host = [\"a.org\"]`.
- Names have up to 64 letters, digits and `_ - . :`.
- `${NAME}` within a text is the environment variable of that name, `${NAME:-default}` has a default, `$${` is a literal
  `${`. A text of one variable may also stand for a number or for `true` and `false`.
- An unknown key is an error.
";

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

/// The kind with its range, and links to the tables that it names.
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

/// As the usual renderers make it of a heading.
fn anchor(section: &Section) -> String {
    let kept = section.title.chars().filter(|c| c.is_ascii_alphanumeric() || "- _".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Every key with its example.
fn example(section: &Section) -> String {
    section.keys.iter().fold(String::new(), |mut text, key| {
        let _ = writeln!(text, "{} = {}", key.name, key.example);
        text
    })
}
