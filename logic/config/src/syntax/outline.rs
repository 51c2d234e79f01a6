//! Where things stand in the sources, for checks that are made outside of this crate.

use super::diagnostic::{Diagnostic, Place, Problem, Severity};
use super::source::{Source, SourceMap};
use super::tree::{Node, Value};

/// The tree that a plan was made of, with its sources.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    pub(crate) sources: Vec<Source>,
    pub(crate) root: Node,
    /// Where the errors are, if there are any.
    pub(crate) wrong: Option<Vec<Place>>,
}

impl Outline {
    /// A diagnostic that points at the value under these keys (a number for one of several), or at what is there of the
    /// way to it. Without a place if nothing is. Among errors only a value by itself, without one of them, has a place: what
    /// seems to be wrong with a table, or with a default, may come of what could not be read.
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

/// Whether it is a value that holds no others.
fn is_single(node: &Node) -> bool {
    !matches!(node.value, Value::Table(_) | Value::List(_) | Value::Unknown)
}

/// Whether two places have a character in common.
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
        // One value that could have been several.
        (_, Ok(0)) => Some(node),
        _ => None,
    }
}
