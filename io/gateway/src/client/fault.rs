//! Error of a request to another server.

use std::fmt;

/// The reason why an exchange with another server failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    text: String,
    is_passing: bool,
}

impl Fault {
    /// Creates an error for which a retry would fail in the same way.
    pub(crate) fn lasting(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), is_passing: false }
    }

    /// Creates an error for which a retry may succeed.
    pub(crate) fn passing(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), is_passing: true }
    }

    /// Returns true if a retry may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_passing
    }

    /// Prefixes the text with the name of the server or URL.
    pub(crate) fn of(self, victim: impl fmt::Display) -> Self {
        Self { text: format!("{victim}: {}", self.text), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
