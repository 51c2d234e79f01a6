use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use weir_http::access_log::{LineFormat, LineWriter};

use super::AccessLogBatch;

/// The workers' end of an access log. Cheap to clone; each worker makes one batch from it.
#[derive(Debug, Clone)]
pub struct LogPort {
    format: LineFormat,
    pub(super) sender: SyncSender<Message>,
    pub(super) shared: Arc<Shared>,
}

/// What the writer gets.
#[derive(Debug)]
pub(super) enum Message {
    /// Whole lines, and how many.
    Lines(Vec<u8>, u64),
    /// Look whether something else is wanted.
    Wake,
    /// Write what came before this, and end.
    Stop,
}

/// What both ends see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Lost because no room was left in the channel.
    not_taken: AtomicU64,
    /// Lost because the target did not take them.
    not_written: AtomicU64,
    reopen: AtomicBool,
}

impl LogPort {
    pub(super) fn new(format: LineFormat, sender: SyncSender<Message>, shared: Arc<Shared>) -> Self {
        Self { format, sender, shared }
    }

    /// A batch to fill. For one thread.
    pub fn batch(&self) -> AccessLogBatch {
        AccessLogBatch::new(self.clone(), LineWriter::new(self.format))
    }

    /// Lines that were lost.
    pub fn lines_dropped(&self) -> u64 {
        self.shared.lines_dropped()
    }

    /// Hands `lines` over, or drops them. Never blocks.
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

    /// Whether the file is to be opened anew; asked once per wish.
    pub(super) fn take_reopen(&self) -> bool {
        self.reopen.swap(false, Ordering::AcqRel)
    }
}
