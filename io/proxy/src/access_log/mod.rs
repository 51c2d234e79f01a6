//! Writes access log lines. Workers fill batches and hand them over; one thread writes them. A full disk, a
//! slow reader or a dead syslog daemon loses lines, which are counted and reported, but never delays a
//! worker.

mod batch;
mod port;
mod syslog;
mod target;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use weir_config::plan::{AccessLogFormat, AccessLogPlan, LogTarget};
use weir_http::access_log::LineFormat;

pub use batch::AccessLogBatch;
pub use port::LogPort;

use port::{Message, Shared};
use target::Target;
pub use target::open_file;
use writer::Writer;

/// Maximum number of batches that wait for the writer: at 32 KiB each, 8 MiB.
const BATCHES_WAITING_MAX: usize = 256;

/// The access log of one configuration: its target, and the thread that writes to it. [`AccessLog::finish`]
/// ends it and waits. If it is dropped instead, the thread writes until the last of its ports and batches is
/// dropped.
#[derive(Debug)]
pub struct AccessLog {
    port: LogPort,
    finished: Receiver<()>,
}

/// Reason why an access log cannot be written.
#[derive(Debug)]
pub struct AccessLogError {
    target: String,
    cause: io::Error,
}

impl AccessLog {
    /// Opens the target and starts the writer.
    pub fn start(plan: &AccessLogPlan) -> Result<Self, AccessLogError> {
        Self::start_by(plan, open_file)
    }

    /// Starts the writer with a file that is already open.
    pub fn start_in(plan: &AccessLogPlan, file: File) -> Result<Self, AccessLogError> {
        Self::start_by(plan, |_| Ok(file))
    }

    fn start_by(
        plan: &AccessLogPlan,
        open: impl FnOnce(&Path) -> io::Result<File>,
    ) -> Result<Self, AccessLogError> {
        let failed = |cause| AccessLogError { target: describe(&plan.target), cause };
        let target = Target::open(&plan.target, open).map_err(failed)?;
        let (sender, batches) = sync_channel(BATCHES_WAITING_MAX);
        let (finish, finished) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let port = LogPort::new(line_format(plan.format), sender, Arc::clone(&shared));
        let writer = Writer::new(target, describe(&plan.target), batches, shared);
        let run = move || {
            writer.run();
            // The send fails if no caller waits for the end.
            let _ = finish.send(());
        };
        thread::Builder::new().name("access-log".to_owned()).spawn(run).map_err(failed)?;
        Ok(Self { port, finished })
    }

    /// Returns the port from which workers create their batches.
    pub fn port(&self) -> LogPort {
        self.port.clone()
    }

    /// Reopens the file, for log rotation. Lines handed over before may end up in either file. Does nothing
    /// for other targets.
    pub fn reopen(&self) {
        self.port.shared.ask_to_reopen();
        // If the channel is full, the writer is busy and sees the request before its next batch.
        let _ = self.port.sender.try_send(Message::Wake);
    }

    /// Returns the number of lost lines.
    pub fn lines_dropped(&self) -> u64 {
        self.port.lines_dropped()
    }

    /// Writes all batches handed over, and ends the writer. Returns false if that took longer than
    /// `patience`; the rest is then lost.
    pub fn finish(self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut stop = Message::Stop;
        while let Err(TrySendError::Full(again)) = self.port.sender.try_send(stop) {
            if Instant::now() >= deadline {
                return false;
            }
            stop = again;
            thread::sleep(Duration::from_millis(1));
        }
        self.finished.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }
}

fn line_format(format: AccessLogFormat) -> LineFormat {
    match format {
        AccessLogFormat::Common => LineFormat::Common,
        AccessLogFormat::Combined => LineFormat::Combined,
        AccessLogFormat::Json => LineFormat::Json,
        AccessLogFormat::Httplog => LineFormat::Httplog,
    }
}

fn describe(target: &LogTarget) -> String {
    match target {
        LogTarget::Stdout => "standard output".to_owned(),
        LogTarget::File(path) => path.display().to_string(),
        LogTarget::Syslog { address, .. } => format!("syslog at {address}"),
    }
}

impl fmt::Display for AccessLogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "access log, {}: {}", self.target, self.cause)
    }
}

impl std::error::Error for AccessLogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
