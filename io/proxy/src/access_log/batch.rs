use weir_http::access_log::{AccessRecord, LineWriter};

use super::LogPort;

/// A batch is handed over when it is this long; the worker's tick hands over what is shorter.
const BATCH_BYTES: usize = 32 * 1024;

/// Room for the line that crosses the mark, so that an ordinary one does not make the buffer grow.
const BUFFER_BYTES: usize = BATCH_BYTES + 2 * 1024;

/// One worker's lines that are not yet handed over. Appending is a copy into memory; nothing here blocks. Call
/// [`AccessLogBatch::flush`] from a tick of 100 to 250 ms; dropping it flushes, too.
#[derive(Debug)]
pub struct AccessLogBatch {
    port: LogPort,
    writer: LineWriter,
    /// Takes memory with the first line, and gives it away with the batch.
    buffer: Vec<u8>,
    lines: u64,
}

impl AccessLogBatch {
    pub(super) fn new(port: LogPort, writer: LineWriter) -> Self {
        Self { port, writer, buffer: Vec::new(), lines: 0 }
    }

    /// Adds a line.
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

    /// Whether there is nothing to flush.
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// Hands over what there is.
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
