//! The channel between workers and the writer of an access log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use weir_http::access_log::{LineFormat, LineWriter};

use super::AccessLogBatch;

/// The workers' end of an access log. It is cheap to clone; each worker creates one batch from it.
#[derive(Debug, Clone)]
pub struct LogPort {
    format: LineFormat,
    pub(super) sender: SyncSender<Message>,
    pub(super) shared: Arc<Shared>,
}

/// Message to the writer.
#[derive(Debug)]
pub(super) enum Message {
    /// Complete lines, and their number.
    Lines(Vec<u8>, u64),
    /// Check for a request to reopen the file.
    Wake,
    /// Write all earlier messages, and end.
    Stop,
}

/// State that workers and writer share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Lines lost because the channel was full.
    not_taken: AtomicU64,
    /// Lines lost because the target did not take them.
    not_written: AtomicU64,
    reopen: AtomicBool,
}

impl LogPort {
    pub(super) fn new(format: LineFormat, sender: SyncSender<Message>, shared: Arc<Shared>) -> Self {
        Self { format, sender, shared }
    }

    /// Creates a batch for one thread to fill.
    pub fn batch(&self) -> AccessLogBatch {
        AccessLogBatch::new(self.clone(), LineWriter::new(self.format))
    }

    /// Returns the number of lost lines.
    pub fn lines_dropped(&self) -> u64 {
        self.shared.lines_dropped()
    }

    /// Hands `lines` lines over, or drops them. Never blocks.
    pub(super) fn hand_over(&self, bytes: Vec<u8>, lines: u64) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.sender.try_send(Message::Lines(bytes, lines))
        {
            self.shared.not_taken.fetch_add(lines, Ordering::Relaxed);
        }
    }
}

impl Shared {
    pub(super) fn lines_dropped(&self) -> u64 {
        self.not_taken.load(Ordering::Relaxed) + self.not_written.load(Ordering::Relaxed)
    }

    pub(super) fn not_written(&self, lines: u64) {
        self.not_written.fetch_add(lines, Ordering::Relaxed);
    }

    pub(super) fn ask_to_reopen(&self) {
        self.reopen.store(true, Ordering::Release);
    }

    /// Returns true if the file must be reopened; once for each request.
    pub(super) fn take_reopen(&self) -> bool {
        self.reopen.swap(false, Ordering::AcqRel)
    }
}
