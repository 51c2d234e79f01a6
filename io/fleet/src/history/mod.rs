//! The rows that a fleet leaves behind: in a CSV file, or in a SQLite database, where the build has those.

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

/// Adds rows, for the one process that leads. It does not grow without end.
#[derive(Debug)]
pub struct History {
    interval: Duration,
    kept: Kept,
    /// When the last row was written.
    last: Option<Duration>,
    /// The looks since then.
    span: Span,
    /// Path of the file, if it had the columns of an earlier version and `news` was not called yet.
    converted: Option<PathBuf>,
}

#[derive(Debug)]
enum Kept {
    Csv(CsvFile),
    Database(Database),
}

/// So many of the latest rows are read again at a start.
const LATEST_MAX: usize = 50_000;

/// How every SQLite database begins (sqlite.org/fileformat2.html).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

impl History {
    /// Returns whether this build can keep it.
    ///
    /// # Errors
    /// It has no databases: says how to build one that has.
    pub fn check(plan: &HistoryPlan) -> Result<(), &'static str> {
        match (plan.form, database::MISSING) {
            (HistoryForm::Sqlite, Some(missing)) => Err(missing),
            _ => Ok(()),
        }
    }

    /// Opens the file, and returns the latest rows in it.
    ///
    /// # Errors
    /// It cannot be opened, is none of ours, or somebody else writes it; names it.
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

    /// The latest rows, for those who only look.
    ///
    /// # Errors
    /// It is there and cannot be read; names it.
    pub fn latest(plan: &HistoryPlan) -> io::Result<Vec<Row>> {
        if !plan.file.try_exists().map_err(|cause| named(&plan.file, &cause))? {
            return Ok(Vec::new());
        }
        match plan.form {
            HistoryForm::Csv => CsvFile::latest(plan).map_err(|cause| named(&plan.file, &cause)),
            HistoryForm::Sqlite => database::latest(&plan.file, LATEST_MAX),
        }
    }

    /// Every row there is, oldest first: those that were put aside, too.
    ///
    /// # Errors
    /// A file is there and cannot be read; names it.
    pub fn replay(plan: &HistoryPlan, mut each: impl FnMut(Row)) -> io::Result<()> {
        match plan.form {
            HistoryForm::Csv => CsvFile::replay(plan, &mut each),
            HistoryForm::Sqlite if plan.file.exists() => database::each(&plan.file, &mut each),
            HistoryForm::Sqlite => Ok(()),
        }
    }

    /// The latest rows of a file, at most so many, if it is a database; `None` = it is something else.
    ///
    /// # Errors
    /// It cannot be read, or is a database of something else; names it.
    pub fn of_database(path: &Path, most: usize) -> io::Result<Option<Vec<Row>>> {
        match is_database(path).map_err(|cause| named(path, &cause))? {
            true => database::latest(path, most).map(Some),
            false => Ok(None),
        }
    }

    /// Takes in a look, and writes a row for all looks since the last row if it is time for one, or if something was done: with
    /// the sum of their requests, and with mean and peak of rate, demand and what is needed. `at`: of any clock that does not go back. Returns
    /// whether it was written.
    ///
    /// # Errors
    /// It cannot be written; names the file.
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

/// Returns whether a file is a database, of whatever.
fn is_database(path: &Path) -> io::Result<bool> {
    // What comes out of a pipe comes once.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut beginning = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning == MAGIC)
}
