//! Conversion of the library's errors and warnings to [`CedarFault`].

use std::ops::Range;
use std::sync::Arc;

use miette::Diagnostic;

use crate::rule::cedar::{CedarFault, CedarFile};

impl CedarFault {
    /// Converts an error or warning of the library. If it names no position, it refers to the bytes at
    /// `otherwise`.
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
}
