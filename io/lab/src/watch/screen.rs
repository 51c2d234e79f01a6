//! Formats figures as tables for people: derived figures and gauges, one line per subject.

use std::fmt::Write as _;
use std::ops::Range;

use super::moment::{Moment, Reading};

/// Returns tables of a moment, with suitable units. Rates are known from the second moment on. A table that
/// is wider than `width` continues below with further columns.
pub fn table(moment: &Moment, width: Option<usize>) -> String {
    let readings = moment.readings.iter().filter(|reading| !reading.rows.is_empty());
    let tables: Vec<_> = readings.map(|reading| one(reading, width.unwrap_or(usize::MAX))).collect();
    tables.join("\n")
}

fn one(reading: &Reading, width: usize) -> String {
    let mut columns: Vec<Vec<String>> = vec![vec![reading.name.to_owned()]];
    columns[0].extend(reading.rows.iter().map(|(row, _)| shown(&row.subject)));
    for (at, it) in reading.derived.iter().enumerate() {
        let cells =
            reading.rows.iter().map(|(_, derived)| cell(derived.get(at), |value| short(it.name, value)));
        columns.push(std::iter::once(it.name.to_owned()).chain(cells).collect());
    }
    for (at, it) in reading.columns.iter().enumerate().filter(|(_, column)| column.is_shown) {
        let cells =
            reading.rows.iter().map(|(row, _)| cell(row.values.get(at), |value| level(it.name, value)));
        columns.push(std::iter::once(it.name.to_owned()).chain(cells).collect());
    }
    let widths: Vec<usize> = columns.iter().map(|column| widest(column)).collect();
    let mut text = String::new();
    for block in blocks(&widths, width) {
        for (line, name) in columns[0].iter().enumerate() {
            // Writing to a string does not fail.
            let _ = write!(text, "{name:<0$}", widths[0]);
            for at in block.clone() {
                let _ = write!(text, "  {:>1$}", columns[at][line], widths[at]);
            }
            text.push('\n');
        }
    }
    text
}

fn widest(column: &[String]) -> usize {
    column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// Splits the columns into blocks that fit beside the names. Each block has at least one column.
fn blocks(widths: &[usize], width: usize) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut taken = 0;
    for (at, column) in widths.iter().enumerate().skip(1) {
        match blocks.last_mut() {
            Some(block) if taken + 2 + column <= width => block.end = at + 1,
            _ => {
                blocks.push(at..at + 1);
                taken = widths[0];
            }
        }
        taken += 2 + column;
    }
    blocks
}

fn cell(value: Option<&Option<f64>>, told: impl FnOnce(f64) -> String) -> String {
    value.copied().flatten().map_or("-".to_owned(), told)
}

/// Replaces control characters, because a name may contain any character and must not control the terminal.
fn shown(subject: &str) -> String {
    subject.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Formats a derived figure: bytes in binary units, shares in percent, other figures with a suitable number
/// of digits.
fn short(name: &str, value: f64) -> String {
    if name.ends_with("_per_s") || name.ends_with("_w") || name.ends_with("_ms") || name == "queue" {
        return match name.contains("bytes") {
            true => bytes(value),
            false if value >= 100.0 => format!("{value:.0}"),
            false => format!("{value:.1}"),
        };
    }
    format!("{:.1}%", value * 100.0)
}

/// Formats a gauge: bytes in binary units, other numbers in full.
fn level(name: &str, value: f64) -> String {
    match name.ends_with("_bytes") {
        true => bytes(value),
        false if value.fract() == 0.0 && !name.starts_with("load_") => format!("{value:.0}"),
        false => format!("{value:.2}"),
    }
}

fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["", "Ki", "Mi", "Gi", "Ti"];
    let (mut value, mut unit) = (value, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{value:.0}") } else { format!("{value:.1}{}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::super::moment::Watch;
    use super::super::moment::tests::{Told, row};
    use super::super::source::Derived;
    use super::super::table::{Column, Row};
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash_and_columns_are_even() {
        let told = Told(vec![vec![row("a", 1.0)], vec![row("a", 1.5), row("longer\u{1b}[31m", 1.0)]]);
        let mut watch = Watch::new(vec![Box::new(told)]);
        watch.read().unwrap();
        let lines = ["told         growth", "a             50.0%", "longer?[31m       -"];
        assert_eq!(table(&watch.read().unwrap(), None), lines.join("\n") + "\n");
    }

    #[test]
    fn what_there_is_stands_beside_what_follows_and_below_it_where_there_is_no_room() {
        let columns = const { &[Column::gauge("resident_bytes", "").shown(), Column::gauge("hidden", "")] };
        let derived = const { &[Derived { name: "cpu", help: "", of: |_| None }] };
        let row = |name: &str, bytes| (Row::new(name, vec![Some(bytes), Some(1.0)]), vec![Some(0.5)]);
        let rows = vec![row("one", 2048.0), row("three", 3.0)];
        let moment = Moment {
            at: std::time::SystemTime::UNIX_EPOCH,
            elapsed: std::time::Duration::ZERO,
            readings: vec![Reading { name: "told", columns, derived, rows }],
        };
        let wide =
            ["told     cpu  resident_bytes", "one    50.0%           2.0Ki", "three  50.0%               3"];
        assert_eq!(table(&moment, None), wide.join("\n") + "\n");
        assert_eq!(table(&moment, Some(28)), wide.join("\n") + "\n");
        let narrow = [
            "told     cpu",
            "one    50.0%",
            "three  50.0%",
            "told   resident_bytes",
            "one             2.0Ki",
            "three               3",
        ];
        assert_eq!(table(&moment, Some(27)), narrow.join("\n") + "\n");
        assert_eq!(table(&moment, Some(1)), narrow.join("\n") + "\n");
    }

    #[test]
    fn figures_have_units_that_suit_them() {
        let of = |name, value| short(name, value);
        assert_eq!(of("sent_bytes_per_s", 1023.0), "1023");
        assert_eq!(of("sent_bytes_per_s", 1536.0 * 1024.0), "1.5Mi");
        assert_eq!(
            (of("reads_per_s", 99.94), of("reads_per_s", 12345.6)),
            ("99.9".to_owned(), "12346".to_owned())
        );
        assert_eq!((of("cpu", 1.234), of("read_await_ms", 0.25)), ("123.4%".to_owned(), "0.2".to_owned()));
        let levels = [level("load_1m", 1.0), level("threads", 12.0), level("memory_bytes", 3e9)];
        assert_eq!(levels, ["1.00", "12", "2.8Gi"]);
    }
}
