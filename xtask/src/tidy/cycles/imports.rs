//! The modules of its own crate that a module names, in `use` and elsewhere.

use super::ModulePath;

/// Lists the paths below the crate's root that the text of a module names.
pub(super) fn of(module: &ModulePath, text: &str) -> Vec<ModulePath> {
    let code = without_tests_and_comments(text);
    let mut found = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = next_root(rest) {
        let path = &rest[at..];
        let mut names = Vec::new();
        let read = tree(path, &mut Vec::new(), &mut names);
        found.extend(names.into_iter().filter_map(|name| resolve(module, &name)));
        rest = &path[read.max(1)..];
    }
    found
}

/// The start of the next path that begins in this crate.
fn next_root(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let found =
            ["crate::", "super::", "self::"].iter().filter_map(|root| text[from..].find(root)).min()? + from;
        let before = text[..found].chars().next_back();
        if !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '$')) {
            return Some(found);
        }
        from = found + 1;
    }
}

/// Reads a path, or several in braces, and returns how many bytes that takes.
fn tree(text: &str, before: &mut Vec<String>, found: &mut Vec<ModulePath>) -> usize {
    let depth = before.len();
    let mut at = 0;
    loop {
        let name: String = text[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        at += name.len();
        if !name.is_empty() {
            before.push(name);
        }
        if let Some(rest) = text[at..].strip_prefix("::") {
            at = text.len() - rest.len();
            if let Some(inner) = rest.strip_prefix('{') {
                at += 1 + braces(inner, before, found);
                break;
            }
        } else {
            found.push(before.clone());
            break;
        }
    }
    before.truncate(depth);
    at
}

/// Reads the paths up to the closing brace.
fn braces(text: &str, before: &mut Vec<String>, found: &mut Vec<ModulePath>) -> usize {
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        match next {
            '}' => return at + 1,
            c if c.is_alphanumeric() || c == '_' => {
                at += tree(&text[at..], before, found).max(1);
                at += alias(&text[at..]);
            }
            c => at += c.len_utf8(),
        }
    }
    at
}

/// The length of ` as NAME`, if that comes next.
fn alias(text: &str) -> usize {
    let Some(name) = text.strip_prefix(" as ") else { return 0 };
    text.len() - name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len()
}

/// From the crate's root; `None` above it.
fn resolve(module: &ModulePath, path: &[String]) -> Option<ModulePath> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        _ => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            let below = module.get(..module.len().checked_sub(ups)?)?;
            Some([below, &path[ups..]].concat())
        }
    }
}

/// Unit tests stand at the end of a file.
fn without_tests_and_comments(text: &str) -> String {
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = product.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let module = ["http".to_owned(), "body".to_owned()];
        of(&module.to_vec(), text).into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_are_read_with_braces_and_from_above() {
        let text = "use crate::{a::{B, c::D as E}, f};\nuse super::head::Head;\nuse self::part::Part;\nuse std::fs;\n";
        assert_eq!(found(text), ["a::B", "a::c::D", "f", "http::head::Head", "http::body::part::Part"]);
    }

    #[test]
    fn paths_in_code_count_and_those_in_comments_and_tests_do_not() {
        let text = "/// Like crate::none.\nfn f() { crate::log::line(super::x()) }\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n";
        assert_eq!(found(text), ["log::line", "http::x"]);
    }

    #[test]
    fn names_that_end_like_a_root_are_none() {
        assert_eq!(found("use weir_crate::a;\nlet x = xsuper::y;\n"), [""; 0]);
    }
}
