//! Loads a config: turns the sources into a plan, or into a list of all errors.

use crate::plan::Plan;
use crate::root::ROOT;
use crate::secrets::Secrets;
use crate::spec::Spec;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::{Diagnostic, Problem, Severity};
use crate::syntax::outline::Outline;
use crate::syntax::outside::{Outside, SOURCES_BYTES_MAX};
use crate::syntax::source::{Source, SourceMap};
use crate::values::subject::Subject;
use crate::values::{merge, shape};
use crate::{resolve, syntax};

/// A valid config.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its plan.
    pub plan: Plan,
    /// Warnings about probable mistakes.
    pub warnings: Vec<Diagnostic>,
    outline: Outline,
}

impl Loaded {
    /// Returns an error about the value under these keys, such as `["listener", "web", "bind", "0"]`. For
    /// checks that need more than the text. The error points to the value, or to the innermost parent that is
    /// in the text.
    pub fn error_at(&self, path: &[&str], message: impl Into<String>) -> Diagnostic {
        self.outline.diagnostic(Severity::Error, path, message.into())
    }

    /// Finds the secrets of the config, so that they can be redacted.
    pub fn secrets(&self) -> Secrets {
        Secrets::of(&self.outline)
    }

    /// Returns a warning about the value under these keys; see [`Self::error_at`].
    pub fn warning_at(&self, path: &[&str], message: impl Into<String>) -> Diagnostic {
        self.outline.diagnostic(Severity::Warning, path, message.into())
    }
}

/// A config with errors.
#[derive(Debug)]
pub struct Flawed {
    /// All errors of the text, in the order of the sources, then the warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The readable rest of the config, only for the search for more errors. Invalid values are left out or
    /// have their default. A diagnostic about it ([`Loaded::error_at`]) has a position only if the value is a
    /// single value in the text without errors. All other diagnostics may be consequences of the errors.
    /// `None` = the config is too large.
    pub rest: Option<Box<Loaded>>,
}

/// Loads a config that refers to no files; see [`load_with`].
///
/// # Errors
/// If the config has errors. Returns all of them in the order of the sources, then the warnings.
pub fn load(sources: &[Source], env: &dyn Fn(&str) -> Option<String>) -> Result<Loaded, Vec<Diagnostic>> {
    load_with(sources, Outside { env, file: &|_| Err("files are not read here".to_owned()) })
}

/// Loads a config from one source, or from those of a directory in the order of their names.
///
/// # Errors
/// If the config has errors. Returns all of them in the order of the sources, then the warnings.
pub fn load_with(sources: &[Source], outside: Outside<'_>) -> Result<Loaded, Vec<Diagnostic>> {
    examine(sources, outside).map_err(|flawed| flawed.diagnostics)
}

/// Loads a config as [`load_with`] does, for callers that look for more errors in an invalid config.
///
/// # Errors
/// If the text has errors. Returns all of them, and the readable rest of the config.
pub fn examine(sources: &[Source], outside: Outside<'_>) -> Result<Loaded, Flawed> {
    let bytes = sources.iter().fold(0_usize, |sum, source| sum.saturating_add(source.text.len()));
    if bytes > SOURCES_BYTES_MAX {
        let problem =
            Problem::general(format!("the config has {bytes} bytes; at most {SOURCES_BYTES_MAX} are read"));
        return Err(Flawed { diagnostics: vec![problem.locate(&SourceMap::new(&[]))], rest: None });
    }
    let cx = Context::new(sources, outside).with_root(&ROOT);
    let files = sources
        .iter()
        .enumerate()
        .filter_map(|(file, source)| syntax::read::read(&cx, file, source))
        .collect();
    let root = merge::merge(&cx, &ROOT, files);
    shape::check_table(&cx, &Subject::default(), &ROOT, &root);
    let spec = Spec::read(&cx, &root);
    let plan = resolve::resolve(&cx, spec);
    let (mut errors, warnings) = cx.finish();
    let sources = sources.to_vec();
    if errors.is_empty() {
        let outline = Outline { sources, root, wrong: None };
        return Ok(Loaded { plan, warnings, outline });
    }
    let wrong = errors.iter().flat_map(|error| error.places.iter().cloned()).collect();
    let outline = Outline { sources, root, wrong: Some(wrong) };
    let rest = Some(Box::new(Loaded { plan, warnings: Vec::new(), outline }));
    errors.extend(warnings);
    Err(Flawed { diagnostics: errors, rest })
}
