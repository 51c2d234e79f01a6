//! The file of rows that a fleet leaves behind.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use weir_config::plan::HistoryPlan;
use weir_scale::history::{HEADING, Row};

use crate::storage::named;

/// Appends rows. One that is large enough is put aside.
#[derive(Debug)]
pub struct History {
    plan: HistoryPlan,
    file: File,
    bytes: u64,
    /// When the last row was written.
    last: Option<Duration>,
}

/// So much of the end of a file is read again at a start: some 50,000 rows.
const READ_BYTES_MAX: u64 = 8 << 20;

impl History {
    /// Opens the file, and returns the rows at its end.
    pub fn open(plan: &HistoryPlan) -> io::Result<(Self, Vec<Row>)> {
        let (mut file, mut bytes) = open(plan)?;
        let rows = end_of(&mut file, bytes)?;
        // What a crash has left of a row is a line of its own, which is none.
        if bytes > 0 && !ends_with_newline(&mut file)? {
            file.write_all(b"\n")?;
            bytes += 1;
        }
        Ok((Self { plan: plan.clone(), file, bytes, last: None }, rows))
    }

    /// Writes a row if it is time for one, or if something was done. `at`: of any clock that does not go back. Returns whether
    /// it was written.
    pub fn note(&mut self, at: Duration, row: &Row) -> io::Result<bool> {
        let is_due = self.last.is_none_or(|last| at.saturating_sub(last) >= self.plan.interval.duration());
        if !is_due && row.decision.is_empty() {
            return Ok(false);
        }
        if self.bytes > self.plan.bytes_max.0 {
            let aside = PathBuf::from(format!("{}.1", self.plan.file.display()));
            std::fs::rename(&self.plan.file, &aside).map_err(|cause| named(&aside, &cause))?;
            (self.file, self.bytes) = open(&self.plan)?;
        }
        let line = format!("{row}\n");
        self.file.write_all(line.as_bytes()).map_err(|cause| named(&self.plan.file, &cause))?;
        self.bytes += line.len() as u64;
        self.last = Some(at);
        Ok(true)
    }
}

/// The file, with a heading if it is new, and its length.
fn open(plan: &HistoryPlan) -> io::Result<(File, u64)> {
    let open = || {
        if let Some(directory) = plan.file.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&plan.file)?;
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
    // The first line may be half of one.
    Ok(text.lines().skip(usize::from(from > 0)).filter_map(Row::parse).collect())
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
