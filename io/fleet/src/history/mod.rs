//! The history rows of a fleet: in a CSV file, or in a SQLite database if the build supports it.

#[cfg(not(feature = "sqlite"))]
mod absent;
mod csv;
#[cfg(feature = "sqlite")]
mod database;
mod span;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_config::plan::{HistoryForm, HistoryPlan};
use weir_scale::history::{ABOUT_BEFORE, Row};

#[cfg(not(feature = "sqlite"))]
use self::absent as database;
use self::csv::CsvFile;
use self::database::Database;
use self::span::Span;
use crate::storage::named;

/// Adds rows in the process that leads. The size of the history is limited.
#[derive(Debug)]
pub struct History {
    interval: Duration,
    kept: Kept,
    /// Time of the last row.
    last: Option<Duration>,
    /// Looks since the last row.
    span: Span,
    /// Path of the file, if it had the columns of an earlier version and `news` was not called yet.
    converted: Option<PathBuf>,
}

#[derive(Debug)]
enum Kept {
    Csv(CsvFile),
    Database(Database),
}

/// Maximum number of rows that are read at the start.
const LATEST_MAX: usize = 50_000;

/// First bytes of a SQLite database (sqlite.org/fileformat2.html).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

impl History {
    /// Checks that this build supports the format.
    ///
    /// # Errors
    /// If it has no databases. The text describes how to build one that has them.
    pub fn check(plan: &HistoryPlan) -> Result<(), &'static str> {
        match (plan.form, database::MISSING) {
            (HistoryForm::Sqlite, Some(missing)) => Err(missing),
            _ => Ok(()),
        }
    }

    /// Opens the file, and returns its latest rows.
    ///
    /// # Errors
    /// If the file cannot be opened, is not one of Weir's, or is written by another process. Names the file.
    pub fn open(plan: &HistoryPlan) -> io::Result<(Self, Vec<Row>)> {
        let (kept, was_converted, rows) = match plan.form {
            HistoryForm::Csv => {
                let (file, rows) = CsvFile::open(plan)?;
                let was_converted = file.was_converted;
                (Kept::Csv(file), was_converted, rows)
            }
            HistoryForm::Sqlite => {
                let database = Database::open(&plan.file, plan.bytes_max.0)?;
                let was_converted = database.was_converted();
                (Kept::Database(database), was_converted, database::latest(&plan.file, LATEST_MAX)?)
            }
        };
        let history = Self {
            interval: plan.interval.duration(),
            kept,
            last: None,
            span: Span::default(),
            converted: was_converted.then(|| plan.file.clone()),
        };
        Ok((history, rows))
    }

    /// Returns news about the contents of the file for the operator, once.
    pub fn news(&mut self) -> Option<String> {
        let file = self.converted.take()?;
        Some(format!("history: {} has the columns of today now; {ABOUT_BEFORE}", file.display()))
    }

    /// Reads the latest rows without opening the file for writing.
    ///
    /// # Errors
    /// If an existing file cannot be read. Names the file.
    pub fn latest(plan: &HistoryPlan) -> io::Result<Vec<Row>> {
        if !plan.file.try_exists().map_err(|cause| named(&plan.file, &cause))? {
            return Ok(Vec::new());
        }
        match plan.form {
            HistoryForm::Csv => CsvFile::latest(plan).map_err(|cause| named(&plan.file, &cause)),
            HistoryForm::Sqlite => database::latest(&plan.file, LATEST_MAX),
        }
    }

    /// Reads all rows, oldest first, including those of a rotated file.
    ///
    /// # Errors
    /// If an existing file cannot be read. Names the file.
    pub fn replay(plan: &HistoryPlan, mut each: impl FnMut(Row)) -> io::Result<()> {
        match plan.form {
            HistoryForm::Csv => CsvFile::replay(plan, &mut each),
            HistoryForm::Sqlite if plan.file.exists() => database::each(&plan.file, &mut each),
            HistoryForm::Sqlite => Ok(()),
        }
    }

    /// Reads the latest rows of a database, at most `most`; `None` = the file is not a database.
    ///
    /// # Errors
    /// If the file cannot be read, or is another program's database. Names the file.
    pub fn of_database(path: &Path, most: usize) -> io::Result<Option<Vec<Row>>> {
        match is_database(path).map_err(|cause| named(path, &cause))? {
            true => database::latest(path, most).map(Some),
            false => Ok(None),
        }
    }

    /// Records a look at time `at` of a monotonic clock. Writes a row for all looks since the last row when
    /// one is due or an action was taken. The row holds the sum of the requests, and the mean and peak of
    /// rate, demand and needed servers. Returns true if it was written.
    ///
    /// # Errors
    /// If the row cannot be written. Names the file.
    pub fn note(&mut self, at: Duration, row: &Row) -> io::Result<bool> {
        self.span.look(at, row);
        let is_due = self.last.is_none_or(|last| at.saturating_sub(last) >= self.interval);
        if !is_due && row.decision.is_empty() {
            return Ok(false);
        }
        let row = self.span.end(row);
        match &mut self.kept {
            Kept::Csv(file) => file.add(&row)?,
            Kept::Database(database) => database.add(&row)?,
        }
        self.last = Some(at);
        Ok(true)
    }
}

/// Returns true if a file is a SQLite database, of any program.
fn is_database(path: &Path) -> io::Result<bool> {
    // A pipe can be read only once.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut beginning = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning == MAGIC)
}
