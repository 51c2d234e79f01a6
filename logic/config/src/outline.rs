//! Where things stand in the sources, for checks that are made outside of this crate.

use crate::diagnostic::{Diagnostic, Problem, Severity};
use crate::source::{Source, SourceMap, Span};
use crate::tree::{Node, Value};

/// The tree that a plan was made of, with its sources.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    pub(crate) sources: Vec<Source>,
    pub(crate) root: Node,
}

impl Outline {
    /// A diagnostic that points at the value under these keys (a number for one of several), or at what is there of the
    /// way to it. Without a place if nothing is.
    pub(crate) fn diagnostic(&self, severity: Severity, path: &[&str], message: String) -> Diagnostic {
        let mut problem = match self.find(path) {
            Some(span) => Problem::error(span, message),
            None => Problem::general(message),
        };
        problem.severity = severity;
        problem.locate(&SourceMap::new(&self.sources))
    }

    fn find(&self, path: &[&str]) -> Option<Span> {
        let mut node = &self.root;
        let mut found = None;
        for key in path {
            match step(node, key) {
                Some(next) => node = next,
                None => break,
            }
            found = Some(node.span);
        }
        found
    }
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
