//! Lines of a log, and errors in them.

use std::fmt;
use std::io::{BufRead, Read};

/// Reason for which a log cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogError {
    /// Line number, from 1; 0 = no particular line.
    pub line: u64,
    /// Description of the error.
    pub cause: String,
}

/// Reader of a text's lines, one at a time.
pub(crate) struct Lines<'l> {
    text: &'l mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
}

/// Longest line in bytes. Weir's own lines have 8 KiB for each value that a client sent.
const LINE_BYTES_MAX: usize = 256 << 10;

impl<'l> Lines<'l> {
    pub(crate) fn new(text: &'l mut dyn BufRead) -> Self {
        Self { text, line: Vec::new(), number: 0 }
    }

    /// Returns the next line that is not blank, without its end; `None` at the end of the text.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, LogError> {
        loop {
            self.line.clear();
            self.number += 1;
            let limit = LINE_BYTES_MAX as u64 + 1;
            let read = (&mut self.text).take(limit).read_until(b'\n', &mut self.line);
            let bytes = read.map_err(|cause| self.error(format!("cannot be read: {cause}")))?;
            if bytes == 0 {
                return Ok(None);
            }
            if bytes > LINE_BYTES_MAX {
                return Err(self.error(format!("is longer than {LINE_BYTES_MAX} bytes")));
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        match std::str::from_utf8(self.line.trim_ascii()) {
            Ok(line) => Ok(Some(line)),
            Err(_) => Err(LogError { line: self.number, cause: "is not UTF-8".to_owned() }),
        }
    }

    /// Creates an error for the last line that was read.
    pub(crate) fn error(&self, cause: impl Into<String>) -> LogError {
        LogError { line: self.number, cause: cause.into() }
    }
}

impl LogError {
    pub(crate) fn missing() -> Self {
        Self { line: 0, cause: "the scenario replays a log, and there is none".to_owned() }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            f.write_str(&self.cause)
        } else {
            write!(f, "line {}: {}", self.line, self.cause)
        }
    }
}

impl std::error::Error for LogError {}
