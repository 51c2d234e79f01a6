use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::Diagnostic;

use super::CedarFile;

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
    /// As the library has found it; without a place of its own it is about the bytes at `otherwise`.
    pub(super) fn of(file: &CedarFile, found: &dyn Diagnostic, otherwise: Range<usize>) -> Self {
        let label = found.labels().and_then(|mut labels| labels.next());
        let bytes = label.as_ref().map_or(otherwise, |label| label.offset()..label.offset() + label.len());
        Self {
            help: found.help().map(|help| help.to_string()),
            label: label.and_then(|label| label.label().map(str::to_owned)).unwrap_or_default(),
            ..Self::at(file, bytes, found.to_string())
        }
    }

    pub(super) fn at(file: &CedarFile, bytes: Range<usize>, message: String) -> Self {
        let (name, text) = (file.name.clone(), Arc::clone(&file.text));
        Self { file: name, text, bytes, message, label: String::new(), help: None }
    }

    pub(super) fn help(mut self, help: &str) -> Self {
        self.help = Some(help.to_owned());
        self
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        line_of(&self.text, self.bytes.start)
    }
}

/// From 1.
pub(super) fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

/// On one line: `/etc/weir/policies/data.cedar:3: what is wrong`.
impl fmt::Display for CedarFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line(), self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}
