use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What is wrong or doubtful in a file of policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CedarFault {
    /// The file.
    pub file: String,
    /// Its text.
    pub text: Arc<str>,
    /// The bytes of the text that are meant, within one policy; empty if nothing in particular is.
    pub bytes: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What is said of the bytes; may be empty.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl CedarFault {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        line_of(&self.text, self.bytes.start)
    }
}

/// From 1.
pub(in crate::rule::cedar) fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

/// On one line: `/etc/weir/policies/data.cedar:3: what is wrong`.
impl fmt::Display for CedarFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line(), self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}
