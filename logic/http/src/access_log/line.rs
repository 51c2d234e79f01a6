use super::time::TimeText;
use super::{AccessRecord, httplog, json, ncsa};

/// How a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFormat {
    /// NCSA common.
    Common,
    /// NCSA combined.
    Combined,
    /// One JSON object.
    Json,
    /// HAProxy's `option httplog`; for TCP connections its `option tcplog`.
    Httplog,
}

/// Writes records as lines. One for each thread: it keeps the text of the current second.
#[derive(Debug, Clone)]
pub struct LineWriter {
    format: LineFormat,
    time: TimeText,
}

impl LineWriter {
    /// A writer of lines in `format`.
    pub const fn new(format: LineFormat) -> Self {
        Self { format, time: TimeText::new() }
    }

    /// Appends `record` to `out` as one line, line end included.
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
