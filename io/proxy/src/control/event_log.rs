//! The log of events for operators.

use std::fmt;
use std::sync::Arc;

use crate::report;

/// Log of events about servers, names and certificates, one line per event.
#[derive(Clone)]
pub struct EventLog(Arc<dyn Fn(&str) + Send + Sync>);

impl EventLog {
    /// Creates a log that writes to standard error.
    pub fn stderr() -> Self {
        Self::new(report::line)
    }

    /// Creates a log that passes each line to `write`, without a newline.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    pub(super) fn line(&self, line: impl AsRef<str>) {
        (self.0)(line.as_ref());
    }
}

impl fmt::Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventLog")
    }
}
