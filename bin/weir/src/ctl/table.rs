//! Plain tables: columns as wide as they must be, numbers to the right, states in colour where the terminal has it.

use weir_control::Tone;

/// How text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// For files, pipes and terminals without colour.
    Plain,
    /// With ANSI colours.
    Colour,
}

/// A table to be printed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A text, and how good it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Option<Tone>,
}

impl Style {
    /// Colour on a terminal, unless NO_COLOR says otherwise (no-color.org).
    pub(crate) fn of(is_terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_terminal && !refused { Self::Colour } else { Self::Plain }
    }

    /// `text` in the colour of `tone`.
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

    /// `text` so that it stands out.
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

    /// The table, each line behind `indent`.
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
        // What comes from elsewhere must not steer the terminal.
        let text: String = text.into();
        Self { text: printable(&text), tone: Some(tone) }
    }

    /// A number that is good as long as it is zero.
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

/// `text` on one line and without control characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns `text` without control characters. Keeps its lines.
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
