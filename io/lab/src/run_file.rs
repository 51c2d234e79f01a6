//! Result files. The first line is JSON with the settings. Each request has one line. The last line is JSON
//! with the measurements that the generator makes of itself. A result file gives the report of the run again.

use std::fmt::Write as _;
use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::facts::{Facts, Head};
use crate::record::{Fault, Record};

/// Reason why a result file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// Reading failed.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// A line is malformed.
    #[error("line {line}: {cause}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// Reason.
        cause: String,
    },
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
struct Tail {
    facts: Facts,
    servers: Vec<String>,
}

/// Version of the format, in the first line.
pub(crate) const FORMAT: u32 = 1;

/// Maximum length of a line. The head of a run with a million targets is long.
const LINE_BYTES_MAX: u64 = 1 << 30;

/// Writes the first line.
///
/// # Errors
/// If writing fails.
pub(crate) fn write_head(out: &mut impl Write, head: &Head) -> std::io::Result<()> {
    let line = serde_json::to_string(head)?;
    writeln!(out, "{line}")
}

/// Appends a request's line to `out`.
pub(crate) fn append_record(out: &mut String, record: &Record) {
    let since = |time: Option<u64>| time.map(|time| time.saturating_sub(record.start_ns));
    let shown = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
        record.due_ns,
        record.start_ns,
        shown(since(record.connected_ns)),
        shown(since(record.first_byte_ns)),
        record.raw_ns(),
        record.target,
        record.status,
        record.fault.map_or("-", Fault::key),
        record.bytes_out,
        record.head_out,
        record.bytes_in,
        record.head_in,
        shown(record.server.map(u64::from)),
        u8::from(record.starved),
        shown(record.verified.map(u64::from)),
    );
}

/// Writes the last line.
///
/// # Errors
/// If writing fails.
pub(crate) fn write_tail(out: &mut impl Write, facts: &Facts, servers: &[String]) -> std::io::Result<()> {
    let tail = Tail { facts: facts.clone(), servers: servers.to_vec() };
    let line = serde_json::to_string(&tail)?;
    writeln!(out, "{line}")
}

/// The first and the last line of a result file.
#[derive(Debug)]
pub struct Ends {
    /// Settings of the run.
    pub head: Head,
    /// Measurements that the generator made of itself. `None` = the file is cut off, because the run did not
    /// reach its end.
    pub facts: Option<Facts>,
    /// Names of servers.
    pub servers: Vec<String>,
}

/// Reads a result file and passes every request to `each`, with the head.
///
/// # Errors
/// If the file is not a result file, or if it cannot be read.
pub fn read_run(input: &mut dyn BufRead, mut each: impl FnMut(&Head, &Record)) -> Result<Ends, RunFileError> {
    let mut line = String::new();
    let mut number = 0;
    let mut next = |line: &mut String, number: &mut u64| {
        line.clear();
        *number += 1;
        (&mut *input as &mut dyn BufRead).take_line(line)
    };
    let wrong = |line: u64, cause: String| RunFileError::Line { line, cause };
    next(&mut line, &mut number)?;
    let head: Head = serde_json::from_str(&line)
        .map_err(|cause| wrong(1, format!("is not the head of a result file: {cause}")))?;
    if head.format != FORMAT {
        return Err(wrong(1, format!("has the format {}; this program reads {FORMAT}", head.format)));
    }
    while next(&mut line, &mut number)? {
        if line.starts_with('{') {
            let tail: Tail = serde_json::from_str(&line).map_err(|cause| wrong(number, cause.to_string()))?;
            return Ok(Ends { head, facts: Some(tail.facts), servers: tail.servers });
        }
        if !line.ends_with('\n') {
            break;
        }
        let record = parse_record(&line, head.targets.len())
            .ok_or_else(|| wrong(number, "is not a request of a result file".to_owned()))?;
        each(&head, &record);
    }
    Ok(Ends { head, facts: None, servers: Vec::new() })
}

/// Reader of lines with a limited length.
trait TakeLine {
    fn take_line(&mut self, line: &mut String) -> std::io::Result<bool>;
}

impl TakeLine for &mut dyn BufRead {
    fn take_line(&mut self, line: &mut String) -> std::io::Result<bool> {
        use std::io::Read;
        Ok(self.take(LINE_BYTES_MAX).read_line(line)? > 0)
    }
}

fn parse_record(line: &str, targets: usize) -> Option<Record> {
    let mut fields = line.split_ascii_whitespace();
    let mut next = || fields.next();
    let number = |field: Option<&str>| field?.parse::<u64>().ok();
    let optional = |field: Option<&str>| match field? {
        "-" => Some(None),
        field => field.parse::<u64>().ok().map(Some),
    };
    let (due_ns, start_ns) = (number(next())?, number(next())?);
    let (connected, first_byte) = (optional(next())?, optional(next())?);
    let end_ns = start_ns.checked_add(number(next())?)?;
    let target = u32::try_from(number(next())?).ok().filter(|target| (*target as usize) < targets)?;
    let status = u16::try_from(number(next())?).ok().filter(|status| *status < 1_000)?;
    let fault = match next()? {
        "-" => None,
        key => Some(Fault::from_key(key)?),
    };
    let bytes_out = number(next())?;
    let head_out = u32::try_from(number(next())?).ok()?;
    let bytes_in = number(next())?;
    let head_in = u32::try_from(number(next())?).ok()?;
    let server = match optional(next())? {
        None => None,
        Some(server) => Some(u32::try_from(server).ok()?),
    };
    let starved = number(next())? != 0;
    // Older files do not have this field.
    let verified = match next() {
        None => None,
        field => optional(field)?.map(|verified| verified != 0),
    };
    let at = |since: Option<u64>| since.map(|since| start_ns.saturating_add(since));
    Some(Record {
        due_ns,
        start_ns,
        connected_ns: at(connected),
        first_byte_ns: at(first_byte),
        end_ns,
        target,
        status,
        fault,
        bytes_out,
        head_out,
        bytes_in,
        head_in,
        server,
        starved,
        verified,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            due_ns: 10,
            start_ns: 12,
            connected_ns: Some(20),
            first_byte_ns: Some(30),
            end_ns: 44,
            target: 0,
            status: 200,
            fault: Some(Fault::Checksum),
            bytes_out: 5,
            head_out: 4,
            bytes_in: 6,
            head_in: 7,
            server: Some(1),
            starved: true,
            verified: Some(false),
        }
    }

    fn file(with_tail: bool) -> Vec<u8> {
        let head = Head { format: FORMAT, targets: vec!["GET http://a/".to_owned()], ..Head::default() };
        let mut out = Vec::new();
        write_head(&mut out, &head).unwrap();
        let mut lines = String::new();
        append_record(&mut lines, &record());
        append_record(&mut lines, &Record { connected_ns: None, server: None, fault: None, ..record() });
        out.extend_from_slice(lines.as_bytes());
        if with_tail {
            write_tail(&mut out, &Facts { due: 2, ..Facts::default() }, &["a".to_owned()]).unwrap();
        }
        out
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let mut seen = Vec::new();
        let bytes = file(true);
        let ends = read_run(&mut bytes.as_slice(), |_, record| seen.push(*record)).unwrap();
        assert_eq!(ends.head.targets.len(), 1);
        assert_eq!(seen, [record(), Record { connected_ns: None, server: None, fault: None, ..record() }]);
        assert_eq!((ends.facts.unwrap().due, ends.servers), (2, vec!["a".to_owned()]));
    }

    #[test]
    fn older_files_do_not_say_what_was_verified() {
        let mut line = String::new();
        append_record(&mut line, &record());
        let older = line.trim_end().rsplit_once(' ').unwrap().0;
        assert_eq!(parse_record(older, 1), Some(Record { verified: None, ..record() }));
    }

    #[test]
    fn a_file_that_was_cut_off_is_told_from_a_whole_one() {
        let bytes = file(false);
        let mut seen = 0;
        let ends = read_run(&mut &bytes[..bytes.len() - 3], |_, _| seen += 1).unwrap();
        assert!(ends.facts.is_none());
        assert_eq!(seen, 1);
    }

    #[test]
    fn what_is_no_result_file_is_told_with_the_line() {
        let read = |bytes: &[u8]| read_run(&mut &*bytes, |_, _| {}).unwrap_err().to_string();
        assert!(read(b"").starts_with("line 1"));
        assert!(read(b"GET / HTTP/1.1\n").starts_with("line 1"));
        let mut bytes = file(false);
        bytes.extend_from_slice(b"1 2 3\n");
        assert!(read(&bytes).starts_with("line 4"));
    }
}
