//! History rows in a SQLite database, which other programs may read at the same time.
//!
//! Each row is written atomically. With the write-ahead log (WAL), readers do not block the writer, and a row
//! does not wait for the disk. The latest rows may be lost in a power failure. A lock on a separate file
//! excludes a second writer, because SQLite's own locks would permit two writers in turn.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, params};
use weir_scale::history::{Reader, Row};

use crate::storage::{self, named};

/// Adds rows to a database, and deletes the oldest ones at its maximum size.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    connection: Connection,
    /// Lock that excludes other writers.
    _lock: File,
    bytes_max: u64,
    /// True if the database had the columns of an earlier version when it was opened.
    was_converted: bool,
    /// Rows until the next check of the size.
    unchecked: u32,
}

/// Reason why this build has no databases; `None` = it has them.
pub(super) const MISSING: Option<&str> = None;

/// `PRAGMA application_id`: "Weir".
const OURS: i32 = 0x5765_6972;
/// `PRAGMA user_version`.
const FORMAT: i32 = 2;
/// Format of earlier versions of Weir. There `needed` holds the wanted number.
const FORMAT_BEFORE: i32 = 1;
const SCHEMA_BEFORE: &str = "
CREATE TABLE history (
  id INTEGER PRIMARY KEY, timestamp REAL NOT NULL, elapsed_s REAL NOT NULL, requests_total INTEGER, requests INTEGER, rate_per_s REAL,
  needed INTEGER NOT NULL, active_cloud INTEGER NOT NULL, active_balancer INTEGER NOT NULL, decision TEXT NOT NULL, reason TEXT NOT NULL,
  demand REAL
) STRICT;
";
/// Columns of format 2. Rows of format 1 have NULL in them; `date` is computed on read.
const SCHEMA_SINCE: &str = "
ALTER TABLE history ADD COLUMN date TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', timestamp, 'unixepoch')) VIRTUAL;
ALTER TABLE history ADD COLUMN wanted INTEGER;
ALTER TABLE history ADD COLUMN rate_peak_per_s REAL;
ALTER TABLE history ADD COLUMN demand_peak REAL;
ALTER TABLE history ADD COLUMN needed_mean REAL;
ALTER TABLE history ADD COLUMN needed_peak INTEGER;
ALTER TABLE history ADD COLUMN starting INTEGER;
ALTER TABLE history ADD COLUMN draining INTEGER;
ALTER TABLE history ADD COLUMN alarms TEXT;
";
const COLUMNS_BEFORE: &str = "timestamp, elapsed_s, requests_total, requests, rate_per_s, needed, active_cloud, active_balancer, decision, \
                              reason, demand";
const COLUMNS_SINCE: &str =
    "wanted, rate_peak_per_s, demand_peak, needed_mean, needed_peak, starting, draining, alarms";
const COLUMNS_SINCE_ABSENT: &str = "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL";

/// Maximum time to wait for another program's lock.
const PATIENCE: Duration = Duration::from_millis(250);
/// Lower bound of the maximum size; a smaller one would leave hardly any pages.
const BYTES_LEAST: u64 = 64 << 10;
const CHECKED_EVERY: u32 = 64;
/// Maximum number of rows and pages removed from a database that is much too large, at each check.
const ROWS_AT_ONCE: i64 = 10_000;
const PAGES_AT_ONCE: u64 = 1_000;

/// Error of the database.
enum Trouble {
    Sqlite(rusqlite::Error),
    Foreign(&'static str),
}

impl From<rusqlite::Error> for Trouble {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Sqlite(cause)
    }
}

impl Database {
    /// Opens a database to add rows, or creates it.
    ///
    /// # Errors
    /// If the database cannot be written, is not one of Weir's, or is written by another process. Names the
    /// database.
    pub(super) fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(|cause| named(path, &cause))?;
        }
        if path.is_dir() {
            return Err(named(path, &io::ErrorKind::IsADirectory.into()));
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".lock");
        let lock = storage::lock(Path::new(&beside))?
            .ok_or_else(|| named(path, &io::Error::other("another process or fleet writes this file")))?;
        let (connection, was_converted) = connect(path).map_err(|trouble| trouble.at(path))?;
        let bytes_max = bytes_max.max(BYTES_LEAST);
        Ok(Self { path: path.to_owned(), connection, _lock: lock, bytes_max, was_converted, unchecked: 0 })
    }

    /// Returns true if the database had the columns of an earlier version when it was opened.
    pub(super) fn was_converted(&self) -> bool {
        self.was_converted
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the row cannot be written. Names the database.
    pub(super) fn add(&mut self, row: &Row) -> io::Result<()> {
        let added = insert(&self.connection, row).and_then(|()| match self.unchecked {
            0 => self.shorten().map(|is_larger_still| if is_larger_still { 0 } else { CHECKED_EVERY }),
            left => Ok(left - 1),
        });
        self.unchecked = added.map_err(|cause| Trouble::Sqlite(cause).at(&self.path))?;
        Ok(())
    }

    /// Deletes the oldest rows of a database that is too large. Returns true if it is still too large.
    fn shorten(&self) -> rusqlite::Result<bool> {
        let number = |pragma: &str| -> rusqlite::Result<u64> {
            let number: i64 = self.connection.pragma_query_value(None, pragma, |row| row.get(0))?;
            Ok(u64::try_from(number).unwrap_or_default())
        };
        let most = self.bytes_max / number("page_size")?.max(1);
        if number("page_count")?.saturating_sub(number("freelist_count")?) > most {
            // Row ids have no gaps: the oldest rows are deleted, and a new id is one above the highest.
            let first: i64 =
                self.connection
                    .query_row("SELECT coalesce(min(id), 0) FROM history", [], |row| row.get(0))?;
            let last: i64 =
                self.connection
                    .query_row("SELECT coalesce(max(id), 0) FROM history", [], |row| row.get(0))?;
            let gone = ((last - first) / 10).clamp(1, ROWS_AT_ONCE);
            self.connection.execute("DELETE FROM history WHERE id < ?1", params![first + gone])?;
        }
        let surplus = number("page_count")?.saturating_sub(most).min(PAGES_AT_ONCE);
        if surplus > 0 {
            // Each step frees one page.
            let mut vacuum = self.connection.prepare(&format!("PRAGMA incremental_vacuum({surplus})"))?;
            let mut pages = vacuum.query([])?;
            while pages.next()?.is_some() {}
        }
        Ok(number("page_count")? > most)
    }
}

/// Reads the latest rows, at most `most`, oldest first.
///
/// # Errors
/// If the database cannot be read, or is not one of Weir's. Names the database.
pub(super) fn latest(path: &Path, most: usize) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let from = format!("(SELECT * FROM history ORDER BY id DESC LIMIT {most})");
    read(path, &from, &mut |row| rows.push(row)).map_err(|trouble| trouble.at(path))?;
    Ok(rows)
}

/// Reads all rows, oldest first.
///
/// # Errors
/// If the database cannot be read, or is not one of Weir's. Names the database.
pub(super) fn each(path: &Path, each: &mut dyn FnMut(Row)) -> io::Result<()> {
    read(path, "history", each).map_err(|trouble| trouble.at(path))
}

/// Opens a database for writing. The flag is true if it had the columns of an earlier version.
fn connect(path: &Path) -> Result<(Connection, bool), Trouble> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let is_new = tables == 0 && marks(&connection)? == (0, 0);
    let is_of_before = match is_new {
        // Must precede the first table; it permits the file to shrink later.
        true => {
            connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;")?;
            false
        }
        // Leaves other programs' databases unchanged.
        false => format(&connection)? == FORMAT_BEFORE,
    };
    // On network file systems without WAL, rows are still atomic.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 1048576;",
    )?;
    if is_new {
        connection.execute_batch(&format!(
            "BEGIN; {SCHEMA_BEFORE} {SCHEMA_SINCE} PRAGMA application_id = {OURS}; PRAGMA user_version = {FORMAT}; COMMIT;"
        ))?;
    }
    if is_of_before {
        let change = format!("BEGIN; {SCHEMA_SINCE} PRAGMA user_version = {FORMAT}; COMMIT;");
        connection.execute_batch(&change)?;
    }
    Ok((connection, is_of_before))
}

/// Reads rows from the table, or from a part of it.
fn read(path: &Path, from: &str, each: &mut dyn FnMut(Row)) -> Result<(), Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    let since = if format(&connection)? == FORMAT { COLUMNS_SINCE } else { COLUMNS_SINCE_ABSENT };
    let mut statement =
        connection.prepare(&format!("SELECT {COLUMNS_BEFORE}, {since} FROM {from} ORDER BY id"))?;
    let mut found = statement.query([])?;
    let mut rows = Reader::default();
    while let Some(row) = found.next()? {
        let (row, is_of_before) = row_of(row)?;
        each(rows.complete(row, is_of_before));
    }
    Ok(())
}

/// Returns the application id and the format of a database.
fn marks(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get(0));
    Ok((number("application_id")?, number("user_version")?))
}

/// Returns the format of a database of Weir.
fn format(connection: &Connection) -> Result<i32, Trouble> {
    match marks(connection)? {
        (OURS, format @ (FORMAT | FORMAT_BEFORE)) => Ok(format),
        (OURS, _) => Err(Trouble::Foreign("is a history of another version of Weir")),
        _ => Err(Trouble::Foreign("is a database, and no history of a fleet")),
    }
}

fn insert(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    // SQLite's integers are signed.
    let count = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    let sql = format!(
        "INSERT INTO history ({COLUMNS_BEFORE}, {COLUMNS_SINCE}) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)"
    );
    connection.prepare_cached(&sql)?.execute(params![
        row.timestamp,
        row.elapsed_s,
        count(row.requests_total),
        count(row.requests),
        row.rate_per_s,
        row.needed,
        row.active_cloud,
        row.active_balancer,
        row.decision,
        row.reason,
        row.demand,
        row.wanted,
        row.rate_peak_per_s,
        row.demand_peak,
        row.needed_mean,
        row.needed_peak,
        row.starting,
        row.draining,
        row.alarms,
    ])?;
    Ok(())
}

/// Reads a row. The flag is true if an earlier version wrote it.
fn row_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<(Row, bool)> {
    let count = |at: usize| -> rusqlite::Result<Option<u64>> {
        let count: Option<i64> = row.get(at)?;
        Ok(count.and_then(|count| u64::try_from(count).ok()))
    };
    let (needed, wanted): (u32, Option<u32>) = (row.get(5)?, row.get(11)?);
    let found = Row {
        timestamp: row.get(0)?,
        elapsed_s: row.get(1)?,
        requests_total: count(2)?,
        requests: count(3)?,
        rate_per_s: row.get(4)?,
        needed,
        active_cloud: row.get(6)?,
        active_balancer: row.get(7)?,
        decision: row.get(8)?,
        reason: row.get(9)?,
        demand: row.get(10)?,
        wanted: wanted.unwrap_or(needed),
        rate_peak_per_s: row.get(12)?,
        demand_peak: row.get(13)?,
        needed_mean: row.get(14)?,
        needed_peak: row.get(15)?,
        starting: row.get(16)?,
        draining: row.get(17)?,
        alarms: row.get::<_, Option<String>>(18)?.unwrap_or_default(),
    };
    Ok((found, wanted.is_none()))
}

impl Trouble {
    fn at(self, path: &Path) -> io::Error {
        let text = match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(_, Some(text))) => text,
            Self::Sqlite(cause) => cause.to_string(),
            Self::Foreign(what) => what.to_owned(),
        };
        // SQLite's error may also name a file that it cannot open.
        let twice = format!(": {}", path.display());
        named(path, &io::Error::other(text.strip_suffix(&twice).unwrap_or(&text).to_owned()))
    }
}
