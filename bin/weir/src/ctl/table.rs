//! Prints plain tables. Columns are as wide as their content, numbers are aligned right, and states are
//! colored if the terminal supports it.

use weir_control::Tone;

/// Style of text output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Without color: for files, pipes and terminals without color.
    Plain,
    /// With ANSI colors.
    Colour,
}

/// Table to print.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Text with an optional tone (good to bad).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Option<Tone>,
}

impl Style {
    /// Returns `Colour` for a terminal, unless NO_COLOR is set (no-color.org).
    pub(crate) fn of(is_terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_terminal && !refused { Self::Colour } else { Self::Plain }
    }

    /// Returns `text` in the color of `tone`.
    pub(crate) fn paint(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => 32,
            Tone::Calm => 36,
            Tone::Warning => 33,
            Tone::Bad => 31,
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    /// Returns `text` in bold.
    pub(crate) fn bold(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[1m{text}\u{1b}[0m"),
        }
    }
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Returns the table as text, each line prefixed with `indent`.
    pub(crate) fn render(&self, indent: &str, style: Style) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(Cell::width);
            cells.chain([self.columns[at].0.len()]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.columns.len()).map(width).collect();
        let heads: Vec<_> = self.columns.iter().map(|(head, _)| Cell::from(*head)).collect();
        let mut out = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            let mut line = indent.to_owned();
            for ((cell, (_, align)), width) in row.iter().zip(&self.columns).zip(&widths) {
                let blanks = " ".repeat(width.saturating_sub(cell.width()));
                let text = cell.tone.map_or(cell.text.clone(), |tone| style.paint(&cell.text, tone));
                match align {
                    Align::Left => line.extend([&text, blanks.as_str(), "  "]),
                    Align::Right => line.extend([blanks.as_str(), &text, "  "]),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        // Text from outside must not control the terminal.
        let text: String = text.into();
        Self { text: printable(&text), tone: Some(tone) }
    }

    /// Makes a cell for a count that is bad unless it is zero.
    pub(crate) fn fault(count: u64) -> Self {
        let tone = (count > 0).then_some(Tone::Bad);
        Self { text: weir_control::human::count(count), tone }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        let text: String = text.into();
        Self { text: printable(&text), tone: None }
    }
}

/// Replaces control characters in `text` by spaces, so that it is one line.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Replaces control characters within each line of `text` by spaces. Keeps the line breaks.
pub(crate) fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_with_and_without_colour() {
        let mut table = Table::new(&[("NAME", Align::Left), ("N", Align::Right), ("STATE", Align::Left)]);
        table.row(vec!["a".into(), "1".into(), Cell::toned("up", Tone::Good)]);
        table.row(vec!["longer".into(), Cell::fault(1_000), Cell::toned("do\u{1b}wn\n", Tone::Bad)]);
        insta::assert_snapshot!(table.render("  ", Style::Plain), @r"
          NAME       N  STATE
          a          1  up
          longer  1000  do wn
        ");
        let colour = table.render("  ", Style::Colour);
        assert!(colour.contains("  a          1  \u{1b}[32mup\u{1b}[0m\n"), "{colour:?}");
        assert!(
            colour.contains("  longer  \u{1b}[31m1000\u{1b}[0m  \u{1b}[31mdo wn \u{1b}[0m\n"),
            "{colour:?}"
        );
    }
}
