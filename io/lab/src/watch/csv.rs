//! Writes one CSV file per source (RFC 4180), with one header, for programs that read tables. Continues
//! existing files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::moment::{Moment, Reading};
use super::table::append;

/// Selection of the figures to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// Figures as the kernel reports them.
    Raw,
    /// Figures computed from changes.
    Derived,
    /// Raw and derived figures.
    All,
}

/// Maximum age of buffered lines. In a fast loop, a write per line would be much of the cost of watching. The
/// age is below a second, so that a read every second is always written in time.
const GATHERED: Duration = Duration::from_millis(900);

/// CSV files in a directory. Buffered lines are also written on drop.
#[derive(Debug)]
pub struct CsvFiles {
    directory: PathBuf,
    figures: Figures,
    open: HashMap<&'static str, Growing>,
    /// Time of the last write, relative to the start of the watch.
    written: Option<Duration>,
    notes: Vec<String>,
}

/// File with buffered lines of complete moments.
#[derive(Debug)]
struct Growing {
    path: PathBuf,
    file: File,
    lines: String,
}

/// Reason why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The system reports an error.
    #[error("{path}: {cause}")]
    Io {
        /// Path of the file.
        path: String,
        /// Cause.
        cause: io::Error,
    },
    /// The file does not contain figures.
    #[error("{0}: is something else, without our columns; give another directory, or move it away")]
    SomethingElse(String),
}

impl CsvFiles {
    /// Writes into this directory, which is created if it is missing. Existing files are continued. If a file
    /// has other columns, for example from an older version of Weir, a new file `NAME-2.csv` is begun.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn new(directory: impl Into<PathBuf>, figures: Figures) -> Result<Self, CsvError> {
        let directory = directory.into();
        std::fs::create_dir_all(&directory).map_err(io_error(&directory))?;
        Ok(Self { directory, figures, open: HashMap::new(), written: None, notes: Vec::new() })
    }

    /// Adds a line per subject to the file of each source. The lines of one source and moment are written
    /// together, so a reader never sees an incomplete moment. Moments within a second are written together.
    ///
    /// # Errors
    /// If a file cannot be written, or does not contain figures.
    pub fn write(&mut self, moment: &Moment) -> Result<(), CsvError> {
        for reading in &moment.readings {
            let file = match self.open.get_mut(reading.name) {
                Some(file) => file,
                None => {
                    let header = header(reading, self.figures);
                    let (path, file) = place(&self.directory, reading.name, &header, &mut self.notes)?;
                    self.open.entry(reading.name).or_insert(Growing { path, file, lines: String::new() })
                }
            };
            add_lines(&mut file.lines, moment, reading, self.figures);
        }
        if self.written.is_some_and(|written| moment.elapsed.saturating_sub(written) < GATHERED) {
            return Ok(());
        }
        self.written = Some(moment.elapsed);
        self.flush()
    }

    /// Returns messages about new files, each once.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Writes the buffered lines.
    ///
    /// # Errors
    /// If a file cannot be written. The unwritten lines are discarded, because a second attempt could repeat
    /// half a line.
    pub fn flush(&mut self) -> Result<(), CsvError> {
        self.open.values_mut().try_for_each(|growing| {
            let written = growing.file.write_all(growing.lines.as_bytes());
            growing.lines.clear();
            written.map_err(io_error(&growing.path))
        })
    }
}

impl Drop for CsvFiles {
    fn drop(&mut self) {
        // A caller that needs the error calls `flush` before the drop.
        let _ = self.flush();
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> CsvError + '_ {
    move |cause| CsvError::Io { path: path.display().to_string(), cause }
}

/// Opens the first of `NAME.csv`, `NAME-2.csv` ... that has these columns or does not exist yet.
fn place(
    directory: &Path,
    name: &str,
    header: &str,
    notes: &mut Vec<String>,
) -> Result<(PathBuf, File), CsvError> {
    let mut path = directory.join(format!("{name}.csv"));
    let mut number = 1;
    loop {
        if let Some(file) = open(&path, header)? {
            return Ok((path, file));
        }
        number += 1;
        let next = directory.join(format!("{name}-{number}.csv"));
        // The message appears when the file is begun, and not at each start.
        if !next.exists() {
            let (old, next) = (path.display(), next.display());
            notes.push(format!(
                "{old}: has other columns and stays as it is; from now on figures go to {next}"
            ));
        }
        path = next;
    }
}

/// First columns of every file.
const FIRST: [&str; 3] = ["time", "elapsed_s", "subject"];

/// Opens a file to append complete lines. Ends a line that a crash has cut, so that the next line stays
/// intact. `None` = the file has other columns.
fn open(path: &Path, header: &str) -> Result<Option<File>, CsvError> {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(path).map_err(io_error(path))?;
    let mut first = String::new();
    BufReader::new(&file).read_line(&mut first).map_err(io_error(path))?;
    if first.is_empty() {
        file.write_all(header.as_bytes()).map_err(io_error(path))?;
    } else if first != header {
        let is_ours = first.starts_with(&(FIRST.join(",") + ","));
        return match is_ours {
            true => Ok(None),
            false => Err(CsvError::SomethingElse(path.display().to_string())),
        };
    } else {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).map_err(io_error(path))?;
        io::Read::read_exact(&mut file, &mut last).map_err(io_error(path))?;
        if last != *b"\n" {
            file.write_all(b"\n").map_err(io_error(path))?;
        }
    }
    Ok(Some(file))
}

fn header(reading: &Reading, figures: Figures) -> String {
    let raw = reading.columns.iter().map(|column| column.name).filter(|_| figures != Figures::Derived);
    let derived = reading.derived.iter().map(|it| it.name).filter(|_| figures != Figures::Raw);
    let names: Vec<_> = FIRST.into_iter().chain(raw).chain(derived).collect();
    names.join(",") + "\n"
}

fn add_lines(lines: &mut String, moment: &Moment, reading: &Reading, figures: Figures) {
    let times = format!("{:.3},{:.6},", moment.unix_s(), moment.elapsed.as_secs_f64());
    for (row, derived) in &reading.rows {
        lines.push_str(&times);
        lines.push_str(&quoted(&row.subject));
        let raw = row.values.iter().filter(|_| figures != Figures::Derived);
        let derived = derived.iter().filter(|_| figures != Figures::Raw);
        for value in raw.chain(derived) {
            lines.push(',');
            append(lines, *value);
        }
        lines.push('\n');
    }
}

/// Quotes a field if necessary. Processes choose their own names, so a field may contain any character.
fn quoted(field: &str) -> Cow<'_, str> {
    match field.contains([',', '"', '\n', '\r']) {
        true => Cow::Owned(format!("\"{}\"", field.replace('"', "\"\""))),
        false => Cow::Borrowed(field),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::moment::Watch;
    use super::super::moment::tests::{Told, row};
    use super::*;

    fn watch(turns: usize) -> Watch {
        let turn = |at: usize| vec![row("a, \"b\"", at as f64)];
        Watch::new(vec![Box::new(Told((0..turns).map(turn).collect()))])
    }

    /// Returns the lines without their times.
    fn content(directory: &Path) -> Vec<String> {
        let text = fs::read_to_string(directory.join("told.csv")).unwrap();
        let without_times = |line: &str| line.splitn(3, ',').nth(2).unwrap_or(line).to_owned();
        text.lines().map(without_times).collect()
    }

    #[test]
    fn a_file_has_its_header_once_and_is_continued() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("not/there");
        let mut watch = watch(3);
        let mut files = CsvFiles::new(&inner, Figures::All).unwrap();
        let (first, mut second) = (watch.read().unwrap(), watch.read().unwrap());
        second.elapsed = first.elapsed + GATHERED / 10;
        files.write(&first).unwrap();
        files.write(&second).unwrap();
        assert_eq!(content(&inner).len(), 2, "the second moment can wait");
        let third =
            Moment { elapsed: first.elapsed + Duration::from_millis(999), readings: Vec::new(), ..first };
        files.write(&third).unwrap();
        assert_eq!(content(&inner).len(), 3);
        // Simulates a crash in the middle of a line.
        let mut file = OpenOptions::new().append(true).open(inner.join("told.csv")).unwrap();
        file.write_all(b"1700000000.000,5.0,\"a, \"\"b\"\"\",3").unwrap();
        let mut files = CsvFiles::new(&inner, Figures::All).unwrap();
        files.write(&watch.read().unwrap()).unwrap();
        assert_eq!(
            content(&inner),
            [
                "subject,sent,level,growth",
                "\"a, \"\"b\"\"\",0,,",
                "\"a, \"\"b\"\"\",1,,1",
                "\"a, \"\"b\"\"\",3",
                "\"a, \"\"b\"\"\",2,,1"
            ]
        );
    }

    #[test]
    fn only_what_is_wanted_is_written() {
        for (figures, header) in [(Figures::Raw, "subject,sent,level"), (Figures::Derived, "subject,growth")]
        {
            let directory = tempfile::tempdir().unwrap();
            let mut files = CsvFiles::new(directory.path(), figures).unwrap();
            files.write(&watch(1).read().unwrap()).unwrap();
            assert_eq!(content(directory.path())[0], header);
        }
    }

    #[test]
    fn beside_a_file_with_other_columns_another_is_begun_and_it_is_said_once() {
        let directory = tempfile::tempdir().unwrap();
        let older = "time,elapsed_s,subject,sent\n1.000,0.1,a,1\n";
        fs::write(directory.path().join("told.csv"), older).unwrap();
        for notes in [1, 0] {
            let mut files = CsvFiles::new(directory.path(), Figures::Raw).unwrap();
            files.write(&watch(1).read().unwrap()).unwrap();
            let said = files.notes();
            assert_eq!(said.len(), notes, "{said:?}");
            assert!(said.iter().all(|it| it.contains("told.csv: ") && it.contains("told-2.csv")), "{said:?}");
        }
        assert_eq!(fs::read_to_string(directory.path().join("told.csv")).unwrap(), older);
        let newer = fs::read_to_string(directory.path().join("told-2.csv")).unwrap();
        assert!(
            newer.starts_with("time,elapsed_s,subject,sent,level\n") && newer.lines().count() == 3,
            "{newer}"
        );
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("told.csv"), "something,else\n").unwrap();
        let mut files = CsvFiles::new(directory.path(), Figures::Raw).unwrap();
        let error = files.write(&watch(1).read().unwrap()).unwrap_err().to_string();
        assert!(error.contains("told.csv") && error.contains("columns"), "{error}");
        assert_eq!(fs::read_to_string(directory.path().join("told.csv")).unwrap(), "something,else\n");
    }
}
