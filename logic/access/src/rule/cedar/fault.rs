//! Errors and warnings about files of Cedar policies.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An error or a warning about a file of policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CedarFault {
    /// Name of the file.
    pub file: String,
    /// Text of the file.
    pub text: Arc<str>,
    /// Range of the affected bytes in the text, within one policy; empty if no part is affected in
    /// particular.
    pub bytes: Range<usize>,
    /// Description of the error.
    pub message: String,
    /// Remark on the affected bytes; may be empty.
    pub label: String,
    /// Advice for a correction.
    pub help: Option<String>,
}

impl CedarFault {
    /// Returns the line of the affected bytes, from 1.
    pub fn line(&self) -> usize {
        line_of(&self.text, self.bytes.start)
    }
}

/// Returns the line of a byte, from 1.
pub(in crate::rule::cedar) fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

/// Shows the fault on one line: `/etc/weir/policies/data.cedar:3: what is wrong`.
impl fmt::Display for CedarFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line(), self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}
