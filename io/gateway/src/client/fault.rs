use std::fmt;

/// Why an exchange with another server did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    text: String,
    is_passing: bool,
}

impl Fault {
    /// Another try would end in the same way.
    pub(crate) fn lasting(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), is_passing: false }
    }

    /// Another try may work.
    pub(crate) fn passing(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), is_passing: true }
    }

    /// Whether another try may work.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_passing
    }

    /// With what it is about.
    pub(crate) fn of(self, victim: impl fmt::Display) -> Self {
        Self { text: format!("{victim}: {}", self.text), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
