//! Access log formats and the writer of lines.

use super::time::TimeText;
use super::{AccessRecord, httplog, json, ncsa};

/// The format of access log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFormat {
    /// NCSA common.
    Common,
    /// NCSA combined.
    Combined,
    /// One JSON object.
    Json,
    /// HAProxy's `option httplog`, and its `option tcplog` for TCP connections.
    Httplog,
}

/// Writer of access log lines. Each thread has its own, because it caches the text of the current second.
#[derive(Debug, Clone)]
pub struct LineWriter {
    format: LineFormat,
    time: TimeText,
}

impl LineWriter {
    /// Creates a writer of lines in `format`.
    pub const fn new(format: LineFormat) -> Self {
        Self { format, time: TimeText::new() }
    }

    /// Appends `record` to `out` as one line, with the line end.
    pub fn append(&mut self, out: &mut Vec<u8>, record: &AccessRecord<'_>) {
        match self.format {
            LineFormat::Common => ncsa::common(out, record, &mut self.time),
            LineFormat::Combined => ncsa::combined(out, record, &mut self.time),
            LineFormat::Json => json::object(out, record, &mut self.time),
            LineFormat::Httplog => httplog::line(out, record, &mut self.time),
        }
        out.push(b'\n');
    }
}
