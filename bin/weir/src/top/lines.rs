//! Fits texts, lines of figures and names into the width of a terminal.

use ratatui::text::{Line, Span};

/// Breaks a text into lines of this width, at spaces if possible.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > width {
        // Leading spaces indent the line.
        let indent = rest.iter().take_while(|c| **c == ' ').count();
        let blank = rest[..=width].iter().rposition(|c| *c == ' ').filter(|at| *at > indent);
        let next = rest.split_off(blank.unwrap_or(width));
        lines.push(rest.into_iter().collect::<String>().trim_end().to_owned());
        rest = next.into_iter().skip_while(|c| *c == ' ').collect();
    }
    lines.push(rest.into_iter().collect());
    lines
}

/// Keeps the leading parts that fit completely: half a number would be another number.
pub(super) fn whole_parts(parts: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let mut taken = 0;
    let fitting = parts.into_iter().enumerate().take_while(|(at, part)| {
        taken += part.width();
        // The first part is a name, which may be cut.
        taken <= width || *at == 0
    });
    Line::from(fitting.map(|(_, part)| part).collect::<Vec<_>>())
}

/// Shortens a name to this width. Keeps its end, by which servers of a fleet differ.
pub(super) fn shortened(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let end = kept / 2;
    let beginning = name.chars().take(kept - end);
    beginning.chain(['…']).chain(name.chars().skip(length - end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_blanks_and_a_long_word_anywhere() {
        assert_eq!(wrapped("one two three", 80), ["one two three"]);
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("  indented", 8), ["  indent", "ed"]);
        assert_eq!(wrapped("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("ab", 0), ["a", "b"]);
    }

    #[test]
    fn a_part_that_does_not_fit_is_left_out_with_all_behind_it() {
        let shown = |width| {
            let parts = ["web open", "  p50 17.4ms", "  p99 151ms"].map(Span::raw).to_vec();
            whole_parts(parts, width).to_string()
        };
        assert_eq!(shown(80), "web open  p50 17.4ms  p99 151ms");
        assert_eq!(shown(31), "web open  p50 17.4ms  p99 151ms");
        assert_eq!(shown(30), "web open  p50 17.4ms");
        assert_eq!(shown(3), "web open");
    }

    #[test]
    fn a_long_name_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("app-01ab23cd45ef", 16), "app-01ab23cd45ef");
        assert_eq!(shortened("app-01ab23cd45ef", 9), "app-…45ef");
        assert_eq!(shortened("app-01ab23cd45ef", 1), "…");
    }
}
