//! State that all steps of loading share: the sources and the problems found so far.

use std::cell::{Cell, RefCell};

use super::diagnostic::{Diagnostic, Problem, Severity};
use super::outside::Outside;
use super::source::{Source, SourceMap, Span};
use crate::schema::Section;

/// Collector of problems. Each step continues after a problem, so that the operator sees all of them at once.
pub(crate) struct Context<'a> {
    pub(crate) map: SourceMap<'a>,
    pub(crate) outside: Outside<'a>,
    /// Root section of the file, to find the table to which a misplaced key belongs. `None` = no such search.
    pub(crate) root: Option<&'static Section>,
    errors: RefCell<Kept>,
    warnings: RefCell<Kept>,
    incomplete: Cell<bool>,
}

/// Maximum number of errors, and of warnings, that are kept. More are only counted, which bounds the memory
/// for a large invalid file.
const PROBLEMS_MAX: usize = 500;

/// Problems of one severity.
#[derive(Default)]
struct Kept {
    problems: Vec<Problem>,
    left_out: usize,
}

impl Kept {
    fn add(&mut self, problem: Problem) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the problems in the order of the sources. If some were left out, the last one has their
    /// number.
    fn finish(self, severity: Severity, map: &SourceMap<'_>) -> Vec<Diagnostic> {
        let Self { mut problems, left_out } = self;
        problems.sort_by_key(|problem| problem.places.first().map(|(span, _)| *span));
        if left_out > 0 {
            let noun = if severity == Severity::Error { "errors" } else { "warnings" };
            let message = format!("{left_out} further {noun} are not shown");
            problems.push(Problem { severity, ..Problem::general(message) });
        }
        problems.into_iter().map(|problem| problem.locate(map)).collect()
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(sources: &'a [Source], outside: Outside<'a>) -> Self {
        Self {
            map: SourceMap::new(sources),
            outside,
            root: None,
            errors: RefCell::default(),
            warnings: RefCell::default(),
            incomplete: Cell::new(false),
        }
    }

    /// Enables the search for misplaced keys, in the tables below `root`.
    pub(crate) fn with_root(self, root: &'static Section) -> Self {
        Self { root: Some(root), ..self }
    }

    pub(crate) fn report(&self, problem: Problem) {
        let kept = if problem.severity == Severity::Error { &self.errors } else { &self.warnings };
        kept.borrow_mut().add(problem);
    }

    /// Reports an error.
    pub(crate) fn error(&self, span: Span, message: impl Into<String>) {
        self.report(Problem::error(span, message));
    }

    /// Returns true while few enough problems are known that suggestions may be searched. With thousands of
    /// wrong names among thousands of right ones, the search would take too long.
    pub(crate) fn may_suggest(&self) -> bool {
        const SUGGESTIONS_MAX: usize = 100;
        self.errors.borrow().problems.len() + self.warnings.borrow().problems.len() < SUGGESTIONS_MAX
    }

    /// Returns true if there is an error already, so that a doubtful value may be its consequence.
    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.borrow().problems.is_empty()
    }

    /// Returns true if there is an error within `span`, or if too many errors were left out to know.
    pub(crate) fn has_errors_in(&self, span: Span) -> bool {
        let errors = self.errors.borrow();
        let is_within = |at: &Span| {
            at.file == span.file && at.start < span.end.max(span.start + 1) && span.start <= at.end
        };
        let mut places = errors.problems.iter().flat_map(|problem| &problem.places);
        errors.left_out > 0 || places.any(|(at, _)| is_within(at))
    }

    /// Records that parts of the config are lost, so that apparently missing values may exist.
    pub(crate) fn set_incomplete(&self) {
        self.incomplete.set(true);
    }

    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete.get()
    }

    /// Returns the errors and the warnings, each in the order of the sources.
    pub(crate) fn finish(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let errors = self.errors.into_inner().finish(Severity::Error, &self.map);
        let warnings = self.warnings.into_inner().finish(Severity::Warning, &self.map);
        (errors, warnings)
    }
}
