//! Figures for people: what follows from them, a line for each thing.

use std::fmt::Write as _;

use super::moment::{Moment, Reading};

/// What changes, as tables below each other, numbers with the units that suit them. Empty before the second moment.
pub fn table(moment: &Moment) -> String {
    let mut all = String::new();
    for reading in moment.readings.iter().filter(|reading| !reading.rows.is_empty()) {
        if !all.is_empty() {
            all.push('\n');
        }
        all.push_str(&one(reading));
    }
    all
}

fn one(reading: &Reading) -> String {
    let mut lines = vec![
        std::iter::once(reading.name.to_owned())
            .chain(reading.derived.iter().map(|it| it.name.to_owned()))
            .collect::<Vec<_>>(),
    ];
    for (row, derived) in &reading.rows {
        let cells = reading
            .derived
            .iter()
            .zip(derived)
            .map(|(it, value)| value.map_or("-".to_owned(), |value| short(it.name, value)));
        lines.push(std::iter::once(shown(&row.subject)).chain(cells).collect());
    }
    let widths: Vec<usize> = (0..=reading.derived.len())
        .map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in lines {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            // Writing to a string does not fail.
            let _ = if at == 0 { write!(text, "{cell:<width$}") } else { write!(text, "  {cell:>width$}") };
        }
        text.push('\n');
    }
    text
}

/// Names may hold anything; a terminal is not to obey them.
fn shown(subject: &str) -> String {
    subject.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Bytes in binary units, shares in percent, others with what digits say something.
fn short(name: &str, value: f64) -> String {
    const UNITS: [&str; 5] = ["", "Ki", "Mi", "Gi", "Ti"];
    if name.ends_with("_per_s") || name.ends_with("_w") || name.ends_with("_ms") || name == "queue" {
        if !name.contains("bytes") {
            return if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") };
        }
        let (mut value, mut unit) = (value, 0);
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        return if unit == 0 { format!("{value:.0}") } else { format!("{value:.1}{}", UNITS[unit]) };
    }
    format!("{:.1}%", value * 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::moment::Watch;
    use super::super::moment::tests::{Told, row};
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash_and_columns_are_even() {
        let told = Told(vec![vec![row("a", 1.0)], vec![row("a", 1.5), row("longer\u{1b}[31m", 1.0)]]);
        let mut watch = Watch::new(vec![Box::new(told)]);
        watch.read().unwrap();
        let lines = ["told         growth", "a             50.0%", "longer?[31m       -"];
        assert_eq!(table(&watch.read().unwrap()), lines.join("\n") + "\n");
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
    }
}
