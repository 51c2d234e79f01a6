//! What every step of loading shares: the sources, and the list of what is wrong.

use std::cell::{Cell, RefCell};

use crate::diagnostic::{Diagnostic, Problem, Severity};
use crate::load::Outside;
use crate::source::{Source, SourceMap, Span};

/// Collects problems; each step goes on after them, so that all are seen at once.
pub(crate) struct Context<'a> {
    pub(crate) map: SourceMap<'a>,
    pub(crate) outside: Outside<'a>,
    problems: RefCell<Vec<Problem>>,
    left_out: Cell<usize>,
    incomplete: Cell<bool>,
}

/// More are counted, not kept: a megabyte of nonsense must not become a gigabyte of complaints.
const PROBLEMS_MAX: usize = 500;

impl<'a> Context<'a> {
    pub(crate) fn new(sources: &'a [Source], outside: Outside<'a>) -> Self {
        Self {
            map: SourceMap::new(sources),
            outside,
            problems: RefCell::default(),
            left_out: Cell::new(0),
            incomplete: Cell::new(false),
        }
    }

    pub(crate) fn report(&self, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS_MAX {
            problems.push(problem);
        } else {
            self.left_out.set(self.left_out.get() + 1);
        }
    }

    /// Reports an error.
    pub(crate) fn error(&self, span: Span, message: impl Into<String>) {
        self.report(Problem::error(span, message));
    }

    /// Whether to look for what a wrong name was meant to be; with thousands of wrong names among thousands of right
    /// ones that would take forever.
    pub(crate) fn may_suggest(&self) -> bool {
        const SUGGESTIONS_MAX: usize = 100;
        self.problems.borrow().len() < SUGGESTIONS_MAX
    }

    /// Whether there is an error already, so that what looks doubtful may be its consequence.
    pub(crate) fn has_errors(&self) -> bool {
        self.problems.borrow().iter().any(|problem| problem.severity == Severity::Error)
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
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.places.first().map(|(span, _)| *span));
        if self.left_out.get() > 0 {
            problems
                .push(Problem::general(format!("{} further problems are not shown", self.left_out.get())));
        }
        let located = problems.into_iter().map(|problem| problem.locate(&self.map));
        located.partition(|diagnostic| diagnostic.severity == Severity::Error)
    }
}
