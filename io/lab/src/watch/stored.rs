//! Reads curves from an SQLite file. Computes derived figures from the stored ones, also across the ends of
//! watches. A file that a cron job wrote line by line therefore has rates.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, Row as Cells};

use super::history::{GAP, History};
use super::moment::of_change;
use super::shapes::{SHAPES, Shape};
use super::sqlite::{SqliteError, columns, read_only, sqlite_error};
use super::table::{Change, Row};

/// Reads a file of [`SqliteFile`](super::SqliteFile). Times are relative to its first moment.
///
/// # Errors
/// If the file cannot be read, or contains something else.
pub fn stored(path: &Path) -> Result<History, SqliteError> {
    let connection = read_only(path)?;
    read(&connection).map_err(sqlite_error(path))
}

/// Number of remembered subjects above which subjects that disappeared long ago are removed.
const REMEMBERED_MAX: usize = 10_000;

fn read(connection: &Connection) -> rusqlite::Result<History> {
    let mut there = Vec::new();
    let mut start_s = f64::INFINITY;
    for shape in &SHAPES {
        let known = columns(connection, shape.name)?;
        if !known.is_empty() {
            let text = format!("SELECT min(time) FROM \"{}\"", shape.name);
            let first: Option<f64> = connection.query_row(&text, [], |row| row.get(0))?;
            start_s = start_s.min(first.unwrap_or(f64::INFINITY));
            let selected = shape.columns.iter().map(|column| match known.contains(column.name) {
                true => format!(", \"{}\"", column.name),
                // An older version of Weir did not have this column.
                false => ", NULL".to_owned(),
            });
            there.push((shape, selected.collect::<String>()));
        }
    }
    let mut history = History::default();
    for (shape, selected) in there {
        read_source(connection, shape, &selected, start_s, &mut history)?;
    }
    Ok(history)
}

fn read_source(
    connection: &Connection,
    shape: &Shape,
    selected: &str,
    start_s: f64,
    history: &mut History,
) -> rusqlite::Result<()> {
    let longest_s = GAP * usual_step_s(connection, shape.name)?;
    let mut statement = connection.prepare(&format!(
        "SELECT time, subject, incarnation, wraps_at{selected} FROM \"{}\" ORDER BY time, watch, rowid",
        shape.name
    ))?;
    let mut rows = statement.query([])?;
    let mut before: HashMap<String, (f64, Row)> = HashMap::new();
    while let Some(cells) = rows.next()? {
        let (at_s, row) = parse(cells, shape)?;
        let change = before.get(&row.subject).and_then(|(then_s, before)| {
            let seconds = at_s - then_s;
            // A mean over a time without reads is not a figure of this moment.
            if seconds > longest_s { None } else { Change::new(shape.columns, before, &row, seconds) }
        });
        let derived = of_change(shape.derived, change.as_ref());
        history.source(shape.name, shape.columns, shape.derived).add(at_s - start_s, &row, &derived);
        if before.len() >= REMEMBERED_MAX {
            before.retain(|_, (then_s, _)| at_s - *then_s <= longest_s);
        }
        before.insert(row.subject.clone(), (at_s, row));
    }
    Ok(())
}

/// Returns the median interval between two moments.
fn usual_step_s(connection: &Connection, table: &str) -> rusqlite::Result<f64> {
    let mut statement =
        connection.prepare(&format!("SELECT DISTINCT time FROM \"{table}\" ORDER BY time"))?;
    let times = statement.query_map([], |row| row.get::<_, f64>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut steps: Vec<f64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    steps.sort_by(f64::total_cmp);
    Ok(steps.get(steps.len() / 2).copied().unwrap_or(0.0))
}

fn parse(cells: &Cells<'_>, shape: &Shape) -> rusqlite::Result<(f64, Row)> {
    const BEFORE: usize = 4;
    let figure = |at| cells.get::<_, Option<f64>>(BEFORE + at);
    let values = (0..shape.columns.len()).map(figure).collect::<rusqlite::Result<Vec<_>>>()?;
    let row = Row {
        subject: cells.get(1)?,
        incarnation: cells.get::<_, i64>(2)?.cast_unsigned(),
        values,
        wraps_at: cells.get(3)?,
    };
    Ok((cells.get(0)?, row))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::energy;
    use super::super::moment::{Moment, Reading};
    use super::super::sqlite::SqliteFile;
    use super::*;

    /// Returns a moment of the energy source with this counter, which wraps at 1000.
    fn moment(at_s: u64, joules: f64) -> Moment {
        let row = Row { wraps_at: 1_000.0, ..Row::new("package-0", vec![Some(joules), None]) };
        let reading = Reading {
            name: "energy",
            columns: energy::COLUMNS,
            derived: energy::DERIVED,
            rows: vec![(row, vec![None; 2])],
        };
        Moment {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + at_s),
            elapsed: Duration::ZERO,
            readings: vec![reading],
        }
    }

    #[test]
    fn what_a_cron_job_wrote_line_by_line_has_rates() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("energy.sqlite");
        // One moment per minute, except for five minutes in which the machine was off.
        for (at_s, joules) in [(0, 700.0), (60, 820.0), (120, 940.0), (180, 60.0), (480, 10.0), (540, 70.0)] {
            let mut file = SqliteFile::open(&path, Duration::from_secs(1)).unwrap();
            file.write(&moment(at_s, joules)).unwrap();
        }
        let history = stored(&path).unwrap();
        let curve = &history.sources[0].figures[0].curves["package-0"];
        assert_eq!(curve.parts(), [vec![(60.0, 2.0), (120.0, 2.0), (180.0, 2.0)], vec![(540.0, 1.0)]]);
    }

    #[test]
    fn a_file_that_is_not_there_or_empty_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nowhere.sqlite");
        let said = || stored(&path).unwrap_err().to_string();
        assert!(said().contains("nowhere.sqlite"), "{}", said());
        std::fs::write(&path, "").unwrap();
        assert!(said().contains("is empty"), "{}", said());
    }
}
