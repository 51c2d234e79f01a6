//! The thread that writes the access log.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::port::{Message, Shared};
use super::target::Target;

/// Minimum time between two reports of lost lines: a full disk must not fill the journal too.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Writer of an access log.
#[derive(Debug)]
pub(super) struct Writer {
    target: Target,
    name: String,
    batches: Receiver<Message>,
    shared: Arc<Shared>,
    /// Last error, until it is reported.
    trouble: Option<io::Error>,
    reported: Option<Instant>,
    dropped_reported: u64,
}

impl Writer {
    pub(super) fn new(target: Target, name: String, batches: Receiver<Message>, shared: Arc<Shared>) -> Self {
        Self { target, name, batches, shared, trouble: None, reported: None, dropped_reported: 0 }
    }

    /// Writes until it is stopped, or until all ports and batches are dropped.
    pub(super) fn run(mut self) {
        loop {
            let message = match self.report_due() {
                None => self.batches.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => self.batches.recv_timeout(wait),
            };
            if self.shared.take_reopen()
                && let Err(cause) = self.target.reopen()
            {
                say(&format!(
                    "access log, {}: cannot be opened anew, the old file stays: {cause}",
                    self.name
                ));
            }
            match message {
                Ok(Message::Lines(bytes, lines)) => self.write(&bytes, lines),
                Ok(Message::Wake) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.report_due() == Some(Duration::ZERO) {
                self.report();
            }
        }
        if self.has_news() {
            self.report();
        }
    }

    fn write(&mut self, bytes: &[u8], lines: u64) {
        let written = self.target.write(bytes, lines);
        if written.lines_lost > 0 {
            self.shared.not_written(written.lines_lost);
        }
        if let Some(cause) = written.trouble {
            self.trouble = Some(cause);
        }
    }

    fn has_news(&self) -> bool {
        self.shared.lines_dropped() > self.dropped_reported
    }

    /// Returns how long to wait until lost lines may be reported; `None` = there is nothing to report.
    fn report_due(&self) -> Option<Duration> {
        let since = self.reported.map_or(REPORT_INTERVAL, |reported| reported.elapsed());
        self.has_news().then(|| REPORT_INTERVAL.saturating_sub(since))
    }

    fn report(&mut self) {
        let dropped = self.shared.lines_dropped();
        let cause = self.trouble.take().map_or_else(|| "too slow".to_owned(), |cause| cause.to_string());
        let lines = dropped - self.dropped_reported;
        say(&format!("access log, {}: {cause}; lines lost: {lines}, since the start: {dropped}", self.name));
        self.dropped_reported = dropped;
        self.reported = Some(Instant::now());
    }
}

/// Writes to standard error and ignores errors, where `eprintln` would panic.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "weir: {text}");
}
