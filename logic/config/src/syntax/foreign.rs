//! Recognizes configs of other programs, so that the error names the documentation to read. Without this,
//! each of their lines would be a syntax error.

use std::ops::Range;

/// A text in the format of another program.
pub(crate) struct Foreign {
    /// Description, such as "a config of HAProxy".
    pub(crate) what: &'static str,
    /// Bytes of the line that identifies the format.
    pub(crate) at: Range<usize>,
    pub(crate) help: &'static str,
}

const COMING_FROM: &str = "Weir reads TOML: docs/guide/coming-from.md has what each of its lines is here";
const ANY: &str = "Weir reads TOML: docs/guide/first-config.md shows configs of a few lines";

/// Returns the format of a text that is not TOML. The first line that is not empty and not a comment decides.
pub(crate) fn format_of(text: &str) -> Option<Foreign> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start..start + line.trim_end().len();
        start += line.len();
        let line = line.trim_end();
        if line.trim_start().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        return kind_of(line, text).map(|(what, help)| Foreign { what, at, help });
    }
    None
}

fn kind_of(line: &str, text: &str) -> Option<(&'static str, &'static str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let first = *words.first()?;
    let is_indented = line.starts_with([' ', '\t']);
    if !is_indented
        && ["global", "defaults", "frontend", "backend", "listen"].contains(&first)
        && words.len() <= 2
    {
        return Some(("a config of HAProxy", COMING_FROM));
    }
    let nginx =
        ["user", "worker_processes", "worker_rlimit_nofile", "error_log", "pid", "include", "load_module"];
    let is_directive = nginx.contains(&first) && line.ends_with(';');
    let opens = |names: &[&str]| names.contains(&first.trim_end_matches(['{', '}'])) && line.contains('{');
    if is_directive || opens(&["events", "http", "stream", "server", "upstream", "location"]) {
        return Some(("a config of NGINX", COMING_FROM));
    }
    if first.starts_with('<') {
        return Some(("XML or a config of Apache", ANY));
    }
    if first.starts_with('{') && (first.len() > 1 || text.contains("\":")) {
        return Some(("JSON", ANY));
    }
    if first == "---" || (first.ends_with(':') && !first.contains(['=', '"', '['])) {
        return Some(("YAML", ANY));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configs_of_others_are_recognised_by_their_first_line() {
        for (text, what) in [
            ("# mine\nglobal\n  maxconn 9\n", "a config of HAProxy"),
            ("frontend web\n  bind :80\n", "a config of HAProxy"),
            ("user www-data;\n", "a config of NGINX"),
            ("\nevents {}\nhttp {\n", "a config of NGINX"),
            ("http {\n", "a config of NGINX"),
            ("upstream web { server a:1; }\nserver {\n", "a config of NGINX"),
            ("---\nhttp:\n", "YAML"),
            ("http:\n  routers:\n", "YAML"),
            ("{\n \"listener\": {}\n}\n", "JSON"),
            ("<VirtualHost *:80>\n", "XML or a config of Apache"),
        ] {
            assert_eq!(format_of(text).map(|foreign| foreign.what), Some(what), "{text}");
        }
        for text in ["", "[listener.web]\nbind = :80\n", "listener\n", "bind = \"a: b\n", "x\n"] {
            assert!(format_of(text).is_none(), "{text}");
        }
    }
}
