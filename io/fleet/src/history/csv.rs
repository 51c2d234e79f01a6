//! History rows in a CSV file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use weir_config::plan::HistoryPlan;
use weir_scale::history::{HEADING, HEADINGS_BEFORE, Reader, Row};

use crate::storage::named;

/// Appends rows to a file, and rotates it at its maximum size.
#[derive(Debug)]
pub(super) struct CsvFile {
    plan: HistoryPlan,
    file: File,
    bytes: u64,
    /// True if the file had the columns of an earlier version when it was opened.
    pub(super) was_converted: bool,
}

/// Maximum length of a line; Weir writes no longer ones.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Size of the end of the file that is read at the start: some 50,000 rows.
const READ_BYTES_MAX: u64 = 8 << 20;

impl CsvFile {
    /// Opens the file, and returns the rows at its end.
    ///
    /// # Errors
    /// If the file cannot be opened, or another process writes it. Names the file.
    pub(super) fn open(plan: &HistoryPlan) -> io::Result<(Self, Vec<Row>)> {
        let (mut file, mut bytes) = open(plan)?;
        let heading = first_line(&mut file)?;
        let was_converted = HEADINGS_BEFORE.contains(&heading.as_str());
        if heading != HEADING {
            // A file with two formats would be hard to read.
            let replaced = if was_converted { rewrite(plan) } else { put_aside(plan) };
            replaced.map_err(|cause| named(&plan.file, &cause))?;
            (file, bytes) = open(plan)?;
        }
        let rows = end_of(&mut file, bytes)?;
        // A newline ends an incomplete row of a crash, which is then ignored.
        if bytes > 0 && !ends_with_newline(&mut file)? {
            file.write_all(b"\n")?;
            bytes += 1;
        }
        Ok((Self { plan: plan.clone(), file, bytes, was_converted }, rows))
    }

    /// Reads the rows at the end of the file without opening it for writing.
    ///
    /// # Errors
    /// If the file does not exist or cannot be read.
    pub(super) fn latest(plan: &HistoryPlan) -> io::Result<Vec<Row>> {
        let mut file = File::open(&plan.file)?;
        let bytes = file.metadata()?.len();
        end_of(&mut file, bytes)
    }

    /// Reads all rows, oldest first, including those of the rotated file.
    ///
    /// # Errors
    /// If an existing file cannot be read. Names the file.
    pub(super) fn replay(plan: &HistoryPlan, each: &mut impl FnMut(Row)) -> io::Result<()> {
        for path in [&aside(plan), &plan.file] {
            match read_rows(path, each) {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                read => read.map_err(|cause| named(path, &cause))?,
            }
        }
        Ok(())
    }

    /// Appends a row.
    ///
    /// # Errors
    /// If the row cannot be written. Names the file.
    pub(super) fn add(&mut self, row: &Row) -> io::Result<()> {
        if self.bytes > self.plan.bytes_max.0 {
            let aside = aside(&self.plan);
            std::fs::rename(&self.plan.file, &aside).map_err(|cause| named(&aside, &cause))?;
            (self.file, self.bytes) = open(&self.plan)?;
        }
        let line = format!("{row}\n");
        self.file.write_all(line.as_bytes()).map_err(|cause| named(&self.plan.file, &cause))?;
        self.bytes += line.len() as u64;
        Ok(())
    }
}

/// Returns the path of the rotated file.
fn aside(plan: &HistoryPlan) -> PathBuf {
    beside(plan, "1")
}

fn beside(plan: &HistoryPlan, ending: &str) -> PathBuf {
    let mut path = plan.file.clone().into_os_string();
    path.push(".");
    path.push(ending);
    path.into()
}

fn read_rows(path: &Path, each: &mut impl FnMut(Row)) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 << 10, File::open(path)?);
    let mut line = Vec::new();
    let mut rows = Reader::default();
    loop {
        line.clear();
        if (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(row) = rows.read(&String::from_utf8_lossy(&line)) {
            each(row);
        }
    }
}

/// Rewrites the file with the present columns. The replacement is atomic.
fn rewrite(plan: &HistoryPlan) -> io::Result<()> {
    let fresh = beside(plan, "new");
    let mut written = BufWriter::with_capacity(256 << 10, File::create(&fresh)?);
    let mut done = writeln!(written, "{HEADING}");
    read_rows(&plan.file, &mut |row| {
        if done.is_ok() {
            done = writeln!(written, "{row}");
        }
    })?;
    done?;
    written.into_inner()?.sync_all()?;
    std::fs::rename(fresh, &plan.file)
}

/// Moves a file of an unknown format to an unused path.
fn put_aside(plan: &HistoryPlan) -> io::Result<()> {
    let free = (1_u32..).map(|number| beside(plan, &number.to_string())).find(|path| !path.exists());
    free.map_or(Ok(()), |free| std::fs::rename(&plan.file, free))
}

fn first_line(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut line = Vec::new();
    BufReader::new(file).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}

/// Opens the file, writes the heading if it is new, and returns its length.
fn open(plan: &HistoryPlan) -> io::Result<(File, u64)> {
    let open = || {
        if let Some(directory) = plan.file.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&plan.file)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(io::Error::other("another process or fleet writes this file"));
            }
            locked => locked?,
        }
        let mut bytes = file.metadata()?.len();
        if bytes == 0 {
            let heading = format!("{HEADING}\n");
            file.write_all(heading.as_bytes())?;
            bytes = heading.len() as u64;
        }
        Ok((file, bytes))
    };
    open().map_err(|cause| named(&plan.file, &cause))
}

fn end_of(file: &mut File, bytes: u64) -> io::Result<Vec<Row>> {
    let from = bytes.saturating_sub(READ_BYTES_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(READ_BYTES_MAX).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    // The first line may be incomplete.
    let mut rows = Reader::default();
    Ok(text.lines().skip(usize::from(from > 0)).filter_map(|line| rows.read(line)).collect())
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
