//! Writes figures into an SQLite file: a table per source, and a row per subject and moment. Continues an
//! existing file, also with a later version of Weir that has more figures. Other programs can read the file
//! while it is written.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params, params_from_iter};

use super::moment::{Moment, Reading};
use super::table::Row;

/// SQLite file to which moments are added.
#[derive(Debug)]
pub struct SqliteFile {
    connection: Connection,
    path: PathBuf,
    /// Id of this watch in the file.
    watch: i64,
    /// INSERT statements by source. A source in this list has its table.
    statements: Vec<(&'static str, String)>,
}

/// Reason why figures cannot be written to a file or read from it.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// SQLite reports an error.
    #[error("{path}: {cause}")]
    Sqlite {
        /// Path of the file.
        path: String,
        /// Cause.
        cause: rusqlite::Error,
    },
    /// The file contains something else.
    #[error("{0}")]
    Other(String),
}

/// Application id in the file header: "Weir" in ASCII.
const APPLICATION: i64 = 0x5765_6972;
/// Version of the tables. Additional columns do not change it.
const FORMAT: i64 = 1;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS watch (
  id INTEGER PRIMARY KEY, started_unix_s REAL NOT NULL, every_s REAL NOT NULL, machine TEXT NOT NULL, kernel TEXT NOT NULL,
  weir TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS figure (
  source TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, help TEXT NOT NULL, PRIMARY KEY (source, name)
) STRICT, WITHOUT ROWID;
";

impl SqliteFile {
    /// Creates or continues a file. `every` is the interval between moments.
    ///
    /// # Errors
    /// If the file cannot be written, or contains something else.
    pub fn open(path: &Path, every: Duration) -> Result<Self, SqliteError> {
        let connection = Connection::open(path).map_err(sqlite_error(path))?;
        check(&connection, path)?;
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let kernel_says = |name: &str| {
            let text = fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).unwrap_or_default();
            text.trim().to_owned()
        };
        let begin = || -> rusqlite::Result<i64> {
            // With WAL, readers and writers do not block each other, and a moment does not wait for the disk.
            // A killed process loses nothing. A power failure may lose the last moments.
            connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
            connection.execute_batch(SCHEMA)?;
            connection.execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
            ))?;
            connection.execute(
                "INSERT INTO watch (started_unix_s, every_s, machine, kernel, weir) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    started.as_secs_f64(),
                    every.as_secs_f64(),
                    kernel_says("hostname"),
                    kernel_says("osrelease"),
                    env!("CARGO_PKG_VERSION")
                ],
            )?;
            Ok(connection.last_insert_rowid())
        };
        let watch = begin().map_err(sqlite_error(path))?;
        Ok(Self { connection, path: path.to_owned(), watch, statements: Vec::new() })
    }

    /// Adds a moment in one transaction.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, moment: &Moment) -> Result<(), SqliteError> {
        let Self { connection, path, watch, statements } = self;
        let mut add = || -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            for reading in &moment.readings {
                let statement = match statements.iter().find(|(source, _)| *source == reading.name) {
                    Some((_, statement)) => statement.clone(),
                    None => make_table(&transaction, reading)?,
                };
                let mut prepared = transaction.prepare_cached(&statement)?;
                for (row, derived) in &reading.rows {
                    prepared.execute(params_from_iter(cells(*watch, moment, row, derived)))?;
                }
            }
            transaction.commit()
        };
        add().map_err(sqlite_error(path))?;
        // Only after the commit, because a failed transaction does not leave its table.
        for reading in &moment.readings {
            if !statements.iter().any(|(source, _)| *source == reading.name) {
                statements.push((reading.name, insertion(reading)));
            }
        }
        Ok(())
    }
}

impl Drop for SqliteFile {
    /// Ends WAL mode, so that the figures are in one file that can be copied and read anywhere. If another
    /// process has the file open, that process does it later.
    fn drop(&mut self) {
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let _ = self.connection.execute_batch("PRAGMA journal_mode = DELETE;");
    }
}

/// Opens a file for reading.
pub(super) fn read_only(path: &Path) -> Result<Connection, SqliteError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = connection.map_err(sqlite_error(path))?;
    match check(&connection, path)? {
        Content::Figures => Ok(connection),
        Content::Nothing => Err(other(path, "is empty")),
    }
}

pub(super) fn sqlite_error(path: &Path) -> impl Fn(rusqlite::Error) -> SqliteError + '_ {
    move |cause| SqliteError::Sqlite { path: path.display().to_string(), cause }
}

enum Content {
    Nothing,
    Figures,
}

/// Checks the content of a file before anything is changed.
fn check(connection: &Connection, path: &Path) -> Result<Content, SqliteError> {
    let number =
        |text: &str| connection.query_row(text, [], |row| row.get::<_, i64>(0)).map_err(sqlite_error(path));
    let format = number("PRAGMA user_version")?;
    match number("PRAGMA application_id")? {
        APPLICATION if format == FORMAT => Ok(Content::Figures),
        APPLICATION => Err(other(path, &format!("is of format {format}; this Weir has format {FORMAT}"))),
        0 if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(Content::Nothing),
        _ => Err(other(path, "is a database of something else, not of weir watch")),
    }
}

fn other(path: &Path, what: &str) -> SqliteError {
    SqliteError::Other(format!("{}: {what}", path.display()))
}

/// Creates the table of a source or adds missing columns. Returns the INSERT statement.
fn make_table(connection: &Connection, reading: &Reading) -> rusqlite::Result<String> {
    let table = reading.name;
    connection.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS \"{table}\" (watch INTEGER NOT NULL REFERENCES watch (id), time REAL NOT NULL, elapsed_s REAL NOT NULL, \
         subject TEXT NOT NULL, incarnation INTEGER NOT NULL, wraps_at REAL NOT NULL) STRICT; \
         CREATE INDEX IF NOT EXISTS \"{table}_time\" ON \"{table}\" (time);"
    ))?;
    let there = columns(connection, table)?;
    for name in names(reading).filter(|name| !there.contains(*name)) {
        connection.execute_batch(&format!("ALTER TABLE \"{table}\" ADD COLUMN \"{name}\" REAL;"))?;
    }
    let mut told = connection.prepare_cached("INSERT OR REPLACE INTO figure VALUES (?1, ?2, ?3, ?4)")?;
    for column in reading.columns {
        let kind = if column.kind.is_counter() { "counter" } else { "gauge" };
        told.execute(params![table, column.name, kind, column.help])?;
    }
    for derived in reading.derived {
        told.execute(params![table, derived.name, "derived", derived.help])?;
    }
    Ok(insertion(reading))
}

/// Returns the columns of a table.
pub(super) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<HashSet<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map(params![table], |row| row.get(0))?.collect()
}

fn names(reading: &Reading) -> impl Iterator<Item = &'static str> {
    reading.columns.iter().map(|it| it.name).chain(reading.derived.iter().map(|it| it.name))
}

fn insertion(reading: &Reading) -> String {
    let names: String = names(reading).map(|name| format!(", \"{name}\"")).collect();
    let places = ", ?".repeat(reading.columns.len() + reading.derived.len());
    format!(
        "INSERT INTO \"{}\" (watch, time, elapsed_s, subject, incarnation, wraps_at{names}) VALUES (?, ?, ?, ?, ?, ?{places})",
        reading.name
    )
}

fn cells(watch: i64, moment: &Moment, row: &Row, derived: &[Option<f64>]) -> Vec<Value> {
    let known =
        |value: &Option<f64>| value.filter(|value| value.is_finite()).map_or(Value::Null, Value::Real);
    let mut cells = vec![
        Value::Integer(watch),
        Value::Real(moment.unix_s()),
        Value::Real(moment.elapsed.as_secs_f64()),
        Value::Text(row.subject.clone()),
        // Stored as a bit pattern, because values are only compared for equality.
        Value::Integer(row.incarnation.cast_signed()),
        Value::Real(row.wraps_at),
    ];
    cells.extend(row.values.iter().chain(derived).map(known));
    cells
}

#[cfg(test)]
mod tests {
    use super::super::moment::Watch;
    use super::super::moment::tests::{Told, row};
    use super::*;

    const EVERY: Duration = Duration::from_secs(1);

    fn told(turns: Vec<Vec<Row>>) -> Watch {
        Watch::new(vec![Box::new(Told(turns))])
    }

    type Line = (i64, String, Option<f64>, Option<f64>);

    fn lines(path: &Path) -> Vec<Line> {
        let connection = read_only(path).unwrap();
        let mut statement =
            connection.prepare("SELECT watch, subject, sent, growth FROM told ORDER BY rowid").unwrap();
        let lines =
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
        lines.map(Result::unwrap).collect()
    }

    #[test]
    fn things_that_come_and_go_have_rows_while_they_are_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("figures.sqlite");
        let mut watch =
            told(vec![vec![row("a", 1.0)], vec![], vec![row("b'\"", 5.0)], vec![row("b'\"", 7.0)]]);
        let mut file = SqliteFile::open(&path, EVERY).unwrap();
        for _ in 0..3 {
            file.write(&watch.read().unwrap()).unwrap();
        }
        // The file is read while it is written.
        assert_eq!(lines(&path).len(), 2);
        file.write(&watch.read().unwrap()).unwrap();
        drop(file);
        let of = |watch, subject: &str, sent, growth| (watch, subject.to_owned(), Some(sent), growth);
        let first = [of(1, "a", 1.0, None), of(1, "b'\"", 5.0, None), of(1, "b'\"", 7.0, Some(2.0))];
        assert_eq!(lines(&path), first);
        let beside: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(beside.len(), 1, "one file is left: {beside:?}");
        let mut file = SqliteFile::open(&path, EVERY).unwrap();
        file.write(&told(vec![vec![row("a", 9.0)]]).read().unwrap()).unwrap();
        drop(file);
        assert_eq!(lines(&path)[3], of(2, "a", 9.0, None), "a file is continued");
    }

    #[test]
    fn a_file_of_an_older_weir_gets_the_columns_that_it_lacks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("figures.sqlite");
        drop(SqliteFile::open(&path, EVERY).unwrap());
        let older = "CREATE TABLE told (watch INTEGER NOT NULL, time REAL NOT NULL, elapsed_s REAL NOT NULL, subject TEXT NOT NULL, \
                     incarnation INTEGER NOT NULL, wraps_at REAL NOT NULL, sent REAL) STRICT; INSERT INTO told VALUES (1, 1, 1, 'a', 0, 0, 4);";
        Connection::open(&path).unwrap().execute_batch(older).unwrap();
        let mut file = SqliteFile::open(&path, EVERY).unwrap();
        let mut watch = told(vec![vec![row("a", 5.0)], vec![row("a", 8.0)]]);
        file.write(&watch.read().unwrap()).unwrap();
        file.write(&watch.read().unwrap()).unwrap();
        drop(file);
        let growths: Vec<_> = lines(&path).into_iter().map(|line| line.3).collect();
        assert_eq!(growths, [None, None, Some(3.0)]);
    }

    #[test]
    fn what_the_figures_mean_is_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("figures.sqlite");
        let mut file = SqliteFile::open(&path, EVERY).unwrap();
        file.write(&told(vec![vec![]]).read().unwrap()).unwrap();
        drop(file);
        let connection = read_only(&path).unwrap();
        let mut statement = connection
            .prepare("SELECT source || ' ' || name || ' ' || kind || ' ' || help FROM figure")
            .unwrap();
        let mut said: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        said.sort();
        assert_eq!(said, ["told growth derived Growth", "told level gauge Level", "told sent counter Sent"]);
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other");
        let said = || SqliteFile::open(&path, EVERY).unwrap_err().to_string();
        fs::write(&path, "a text, and no database at all".repeat(100)).unwrap();
        assert!(said().contains("other: "), "{}", said());
        fs::remove_file(&path).unwrap();
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
        let before = fs::read(&path).unwrap();
        assert!(said().contains("something else"), "{}", said());
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::remove_file(&path).unwrap();
        drop(SqliteFile::open(&path, EVERY).unwrap());
        Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 7").unwrap();
        assert!(said().contains("format 7"), "{}", said());
    }
}
