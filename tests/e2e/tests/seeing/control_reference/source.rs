//! Parses structs and enums and their comments from Rust source in this project's style, with the names that
//! they have in JSON.

use std::path::Path;

/// Struct or enum.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) meaning: String,
    pub(super) is_enum: bool,
    pub(super) members: Vec<Member>,
}

/// Field of a struct, or variant of an enum.
#[derive(Debug)]
pub(super) struct Member {
    /// Name in JSON.
    pub(super) name: String,
    /// Type. Empty for a variant without a value.
    pub(super) of: String,
    pub(super) meaning: String,
    /// True if the field may be left out.
    pub(super) is_optional: bool,
    /// Fields of a variant.
    pub(super) fields: Vec<Member>,
}

/// Returns the declarations of every file below `directory`.
pub(super) fn read(directory: &Path) -> Vec<Declared> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let of = |path: &std::path::PathBuf| match path.is_dir() {
        true => read(path),
        false => parse(&std::fs::read_to_string(path).unwrap()),
    };
    paths.iter().flat_map(of).collect()
}

fn parse(source: &str) -> Vec<Declared> {
    let mut all: Vec<Declared> = Vec::new();
    let mut open = false;
    let (mut comment, mut attributes) = (String::new(), String::new());
    for line in source.lines().take_while(|line| !line.starts_with("#[cfg(test)]")) {
        let text = line.trim();
        let depth = line.len() - line.trim_start().len();
        if let Some(words) = text.strip_prefix("///") {
            comment.push_str(words);
            continue;
        }
        if text.starts_with("#[") {
            attributes.push_str(text);
            continue;
        }
        let (meaning, serde) =
            (std::mem::take(&mut comment).trim().to_owned(), std::mem::take(&mut attributes));
        let text = text.strip_prefix("pub ").unwrap_or(text);
        if depth == 0 {
            let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
            open = matches!(kind, "struct" | "enum") && rest.ends_with(" {");
            if open {
                let name = rest.trim_end_matches(" {").to_owned();
                all.push(Declared { name, meaning, is_enum: kind == "enum", members: Vec::new() });
            }
            continue;
        }
        let Some(declared) = all.last_mut().filter(|_| open) else { continue };
        let is_field = |depth| depth == if declared.is_enum { 8 } else { 4 };
        if text.starts_with('}') || serde.contains("serde(skip)") {
            continue;
        }
        if is_field(depth) {
            let Some((name, of)) = text.trim_end_matches(',').split_once(": ") else { continue };
            let name = renamed(&serde).unwrap_or_else(|| name.to_owned());
            let is_optional = serde.contains("default");
            let member = Member { name, of: of.to_owned(), meaning, is_optional, fields: Vec::new() };
            match declared.members.last_mut().filter(|_| declared.is_enum) {
                Some(variant) => variant.fields.push(member),
                None => declared.members.push(member),
            }
        } else if declared.is_enum && depth == 4 {
            let text = text.trim_end_matches([',', '{', ' ']);
            let (name, of) = text.split_once('(').unwrap_or((text, ""));
            let name = renamed(&serde).unwrap_or_else(|| kebab(name));
            let of = of.trim_end_matches(')').to_owned();
            declared.members.push(Member { name, of, meaning, is_optional: false, fields: Vec::new() });
        }
    }
    all
}

/// Returns the name in `#[serde(rename = "x")]`.
fn renamed(attributes: &str) -> Option<String> {
    let (_, rest) = attributes.split_once("rename = \"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(c.to_lowercase());
    }
    kebab
}
