//! What every step of loading shares: the sources, and the list of what is wrong.

use std::cell::{Cell, RefCell};

use super::diagnostic::{Diagnostic, Problem, Severity};
use super::outside::Outside;
use super::source::{Source, SourceMap, Span};
use crate::schema::Section;

/// Collects problems; each step goes on after them, so that all are seen at once.
pub(crate) struct Context<'a> {
    pub(crate) map: SourceMap<'a>,
    pub(crate) outside: Outside<'a>,
    /// The outermost table of the file, to find the table that a misplaced key belongs to. `None` turns that
    /// search off.
    pub(crate) root: Option<&'static Section>,
    errors: RefCell<Kept>,
    warnings: RefCell<Kept>,
    incomplete: Cell<bool>,
}

/// The most errors, and the most warnings, that are kept. Further ones are counted only, to bound the memory for a large wrong file.
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

    /// In the order of the sources, with a last one that tells how many there are besides.
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

    /// Searches the tables below `root` for misplaced keys.
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

    /// Whether to look for what a wrong name was meant to be; with thousands of wrong names among thousands of right
    /// ones that would take forever.
    pub(crate) fn may_suggest(&self) -> bool {
        const SUGGESTIONS_MAX: usize = 100;
        self.errors.borrow().problems.len() + self.warnings.borrow().problems.len() < SUGGESTIONS_MAX
    }

    /// Whether there is an error already, so that what looks doubtful may be its consequence.
    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.borrow().problems.is_empty()
    }

    /// Returns whether an error was found within `span`; also where there were too many errors to tell.
    pub(crate) fn has_errors_in(&self, span: Span) -> bool {
        let errors = self.errors.borrow();
        let is_within = |at: &Span| {
            at.file == span.file && at.start < span.end.max(span.start + 1) && span.start <= at.end
        };
        let mut places = errors.problems.iter().flat_map(|problem| &problem.places);
        errors.left_out > 0 || places.any(|(at, _)| is_within(at))
    }

    /// From now on parts of the config are known to be lost: what seems to be missing need not be.
    pub(crate) fn set_incomplete(&self) {
        self.incomplete.set(true);
    }

    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete.get()
    }

    /// Errors and warnings, each in the order of the sources.
    pub(crate) fn finish(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let errors = self.errors.into_inner().finish(Severity::Error, &self.map);
        let warnings = self.warnings.into_inner().finish(Severity::Warning, &self.map);
        (errors, warnings)
    }
}
