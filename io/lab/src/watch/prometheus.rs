//! Formats figures for Prometheus (text exposition format 0.0.4).

use std::fmt::Write as _;

use super::moment::Moment;
use super::table::text;

/// Media type of the format (`Content-Type`).
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Formats the raw figures of a moment. Prometheus computes rates itself.
pub fn exposition(moment: &Moment) -> String {
    let mut all = String::new();
    for reading in &moment.readings {
        for (at, column) in reading.columns.iter().enumerate() {
            let known = reading
                .rows
                .iter()
                .filter_map(|(row, _)| Some((&row.subject, row.values.get(at).copied()??)));
            let mut known = known.peekable();
            if known.peek().is_none() {
                continue;
            }
            let is_gauge = !column.kind.is_counter();
            let name = format!(
                "weir_watch_{}_{}{}",
                reading.name,
                column.name,
                if is_gauge { "" } else { "_total" }
            );
            let kind = if is_gauge { "gauge" } else { "counter" };
            // Writing to a string does not fail.
            let _ = writeln!(all, "# HELP {name} {}\n# TYPE {name} {kind}", column.help);
            for (subject, value) in known {
                let _ = writeln!(all, "{name}{{subject=\"{}\"}} {}", escaped(subject), text(Some(value)));
            }
        }
    }
    all
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::moment::Watch;
    use super::super::moment::tests::{Told, row};
    use super::*;

    #[test]
    fn each_figure_has_its_kind_and_its_things() {
        let told = Told(vec![vec![row("a\"\\", 1.0), row("b", 2.5)]]);
        let moment = Watch::new(vec![Box::new(told)]).read().unwrap();
        assert_eq!(
            exposition(&moment),
            "# HELP weir_watch_told_sent_total Sent\n# TYPE weir_watch_told_sent_total counter\n\
             weir_watch_told_sent_total{subject=\"a\\\"\\\\\"} 1\nweir_watch_told_sent_total{subject=\"b\"} 2.5\n"
        );
    }
}
