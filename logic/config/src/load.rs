//! Loads a config: from the sources to a plan, or to everything that is wrong with them.

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

/// A config that can be used.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What it says.
    pub plan: Plan,
    /// What is hardly meant as it is written.
    pub warnings: Vec<Diagnostic>,
    outline: Outline,
}

impl Loaded {
    /// What is wrong with the value under these keys, such as `["listener", "web", "bind", "0"]`, found by a check that
    /// needs more than the text. It points there, or at as much of the way to it as is written.
    pub fn error_at(&self, path: &[&str], message: impl Into<String>) -> Diagnostic {
        self.outline.diagnostic(Severity::Error, path, message.into())
    }

    /// Finds the secrets of the plan, so that they are not shown.
    pub fn secrets(&self) -> Secrets {
        Secrets::of(&self.outline)
    }

    /// The like, for what is doubtful.
    pub fn warning_at(&self, path: &[&str], message: impl Into<String>) -> Diagnostic {
        self.outline.diagnostic(Severity::Warning, path, message.into())
    }
}

/// A config that is wrong.
#[derive(Debug)]
pub struct Flawed {
    /// Everything that is wrong with its text, in the order of the sources, warnings at the end.
    pub diagnostics: Vec<Diagnostic>,
    /// What could be read of it, to look for more that is wrong and for nothing else: what is wrong is left out there, or
    /// stands as its default. What is said of it ([`Loaded::error_at`]) has a place only if that is a value by itself which
    /// stands in the text and is right as far as the text goes; all else may come of the errors. `None` = it is too large.
    pub rest: Option<Box<Loaded>>,
}

/// Makes a plan of a config that names no files to be read: see [`load_with`].
///
/// # Errors
/// Everything that is wrong, in the order of the sources, warnings at the end.
pub fn load(sources: &[Source], env: &dyn Fn(&str) -> Option<String>) -> Result<Loaded, Vec<Diagnostic>> {
    load_with(sources, Outside { env, file: &|_| Err("files are not read here".to_owned()) })
}

/// Makes a plan of a config: one source, or those of a directory in the order of their names.
///
/// # Errors
/// Everything that is wrong, in the order of the sources, warnings at the end.
pub fn load_with(sources: &[Source], outside: Outside<'_>) -> Result<Loaded, Vec<Diagnostic>> {
    examine(sources, outside).map_err(|flawed| flawed.diagnostics)
}

/// As [`load_with`], for who wants to find what else is wrong with a config whose text is.
///
/// # Errors
/// Everything that is wrong with the text, and what could be read of it all the same.
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
