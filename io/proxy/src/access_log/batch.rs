//! One worker's buffer of access log lines.

use weir_http::access_log::{AccessRecord, LineWriter};

use super::LogPort;

/// Size at which a batch is handed over; the worker's tick hands over shorter ones.
const BATCH_BYTES: usize = 32 * 1024;

/// Size of the buffer, with room for the line that exceeds `BATCH_BYTES`, so that an ordinary line does not
/// make the buffer grow.
const BUFFER_BYTES: usize = BATCH_BYTES + 2 * 1024;

/// Lines of one worker that are not handed over yet. Appending only copies into memory and never blocks. Call
/// [`AccessLogBatch::flush`] every 100 to 250 ms; dropping the batch flushes it too.
#[derive(Debug)]
pub struct AccessLogBatch {
    port: LogPort,
    writer: LineWriter,
    /// Allocated with the first line; its memory is handed over with the batch.
    buffer: Vec<u8>,
    lines: u64,
}

impl AccessLogBatch {
    pub(super) fn new(port: LogPort, writer: LineWriter) -> Self {
        Self { port, writer, buffer: Vec::new(), lines: 0 }
    }

    /// Adds a line; hands the batch over if it is long enough.
    pub fn append(&mut self, record: &AccessRecord<'_>) {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(BUFFER_BYTES);
        }
        self.writer.append(&mut self.buffer, record);
        self.lines += 1;
        if self.buffer.len() >= BATCH_BYTES {
            self.flush();
        }
    }

    /// Returns true if there is nothing to flush.
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// Hands over the lines.
    pub fn flush(&mut self) {
        if self.lines > 0 {
            self.port.hand_over(std::mem::take(&mut self.buffer), self.lines);
            self.lines = 0;
        }
    }
}

impl Drop for AccessLogBatch {
    fn drop(&mut self) {
        self.flush();
    }
}
