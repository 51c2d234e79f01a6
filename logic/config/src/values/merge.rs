//! Merges the files of a directory into one config.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::schema::{Kind, Section};
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::{Entries, Node, Value};

/// Merges the tables of all files: joins tables with names, and concatenates lists. Reports duplicates with
/// both positions.
pub(crate) fn merge(cx: &Context<'_>, root: &Section, files: Vec<Entries>) -> Node {
    let mut merged: Entries = Vec::new();
    let mut unknown: Entries = Vec::new();
    let mut named = HashMap::new();
    for (key, node) in files.into_iter().flatten() {
        let node = match node {
            Node { span, value: Value::Table(entries) } if is_named(root, &key.value) => {
                Node { span, value: Value::Table(first_of_each_name(cx, &mut named, &key.value, entries)) }
            }
            node => node,
        };
        // Unknown keys are not searched, so that any number of them stays cheap.
        let known = root.key(&key.value).is_some();
        match merged.iter_mut().find(|(there, _)| known && there.value == key.value) {
            Some((there, earlier)) => join(cx, root, there, earlier, key, node),
            None if known => merged.push((key, node)),
            None => unknown.push((key, node)),
        }
    }
    merged.append(&mut unknown);
    Node { span: Span::new(0, 0..0), value: Value::Table(merged) }
}

fn first_of_each_name(
    cx: &Context<'_>,
    named: &mut HashMap<(String, String), Span>,
    section: &str,
    entries: Entries,
) -> Entries {
    let mut kept = Vec::with_capacity(entries.len());
    for (name, node) in entries {
        match named.entry((section.to_owned(), name.value.clone())) {
            Entry::Occupied(first) => {
                twice(cx, &format!("[{section}.{}]", name.value), *first.get(), name.span);
            }
            Entry::Vacant(place) => {
                place.insert(name.span);
                kept.push((name, node));
            }
        }
    }
    kept
}

fn join(
    cx: &Context<'_>,
    root: &Section,
    there: &Located<String>,
    earlier: &mut Node,
    key: Located<String>,
    node: Node,
) {
    match (&mut earlier.value, node.value) {
        (Value::List(routes), Value::List(more)) => routes.extend(more),
        (Value::Table(named), Value::Table(more)) if is_named(root, &key.value) => named.extend(more),
        _ => twice(cx, &format!("[{}]", key.value), there.span, key.span),
    }
}

fn is_named(root: &Section, key: &str) -> bool {
    root.key(key).is_some_and(|key| matches!(key.kind, Kind::Named(..)))
}

fn twice(cx: &Context<'_>, what: &str, first: Span, second: Span) {
    let problem = Problem::error(second, format!("{what} is there twice")).label("again");
    cx.report(problem.also(first, "first here").help("each may be in one place only"));
}
