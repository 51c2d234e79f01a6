//! Finds the positions of values in the sources, for checks outside of this crate.

use super::diagnostic::{Diagnostic, Place, Problem, Severity};
use super::source::{Source, SourceMap};
use super::tree::{Node, Value};

/// The tree from which a plan was made, with its sources.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    pub(crate) sources: Vec<Source>,
    pub(crate) root: Node,
    /// Positions of the errors, if there are any.
    pub(crate) wrong: Option<Vec<Place>>,
}

impl Outline {
    /// Returns a diagnostic that points to the value under these keys (a number for a list entry), or to its
    /// innermost parent in the text. If there is none, it has no position.
    ///
    /// If the config has errors, only a single value without errors has a position. A problem of a table or
    /// of a default may be a consequence of unreadable values.
    pub(crate) fn diagnostic(&self, severity: Severity, path: &[&str], message: String) -> Diagnostic {
        let found = self.find(path);
        let mut problem = match found {
            Some(node) => Problem::error(node.span, message),
            None => Problem::general(message),
        };
        problem.severity = severity;
        let mut diagnostic = problem.locate(&SourceMap::new(&self.sources));
        if let Some(wrong) = &self.wrong {
            let meets = |place: &Place| wrong.iter().any(|other| meet(place, other));
            if !found.is_some_and(is_single) || diagnostic.places.iter().any(meets) {
                diagnostic.places.clear();
            }
        }
        diagnostic
    }

    fn find(&self, path: &[&str]) -> Option<&Node> {
        let mut node = &self.root;
        let mut found = None;
        for key in path {
            match step(node, key) {
                Some(next) => node = next,
                None => break,
            }
            found = Some(node);
        }
        found
    }
}

/// Returns true if the value contains no other values.
fn is_single(node: &Node) -> bool {
    !matches!(node.value, Value::Table(_) | Value::List(_) | Value::Unknown)
}

/// Returns true if the two positions overlap.
fn meet(one: &Place, other: &Place) -> bool {
    one.file == other.file
        && one.line == other.line
        && one.column < other.column_end
        && other.column < one.column_end
}

fn step<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match (&node.value, key.parse::<usize>()) {
        (Value::List(nodes), Ok(index)) => nodes.get(index),
        (Value::Table(_), _) => node.get(key),
        // A single value where a list is permitted.
        (_, Ok(0)) => Some(node),
        _ => None,
    }
}
