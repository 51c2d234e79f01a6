//! Tests with a config that has every key that no key is ignored.

use std::collections::BTreeSet;

use super::{keys_read, load_text};
use crate::root::ROOT;
use crate::schema::{Kind, Presence, Section};
use crate::syntax::context::Context;
use crate::values::shape;
use crate::values::subject::Subject;
use crate::{Outside, syntax};

const EVERY_KEY: &str = include_str!("every_key.toml");

#[test]
fn a_config_with_every_key_becomes_this_plan() {
    let loaded = load_text(EVERY_KEY).unwrap_or_else(|errors| panic!("{}", errors[0]));
    insta::assert_debug_snapshot!(loaded.plan);
    assert_eq!(loaded.warnings, []);
}

#[test]
fn the_parser_reads_every_key_of_the_tables() {
    load_text(EVERY_KEY).unwrap();
    let read = keys_read::all();
    let mut known = BTreeSet::new();
    collect(&ROOT, &mut known);
    let ignored: Vec<_> = known.difference(&read).collect();
    assert!(ignored.is_empty(), "in the tables of keys, but never read: {ignored:?}");
}

#[test]
fn every_default_and_every_example_is_a_value_of_its_key() {
    assert!(values_are_right(&ROOT) > 150);
}

/// Checks all defaults and examples, and returns their number.
pub(super) fn values_are_right(root: &'static Section) -> usize {
    let mut values = Vec::new();
    values_of(root, &mut values);
    let count = values.len();
    for (path, kind, value) in values {
        let sources = [super::source("key", &format!("x = {value}"))];
        let outside = Outside { env: &|_| Some("x".to_owned()), file: &|_| Ok(String::new()) };
        let cx = Context::new(&sources, outside);
        let entries = syntax::read::read(&cx, 0, &sources[0]).unwrap();
        shape::check(&cx, &Subject::default(), kind, &entries[0].1);
        let (errors, _) = cx.finish();
        assert!(errors.is_empty(), "{path} = {value}: {}", errors[0]);
    }
    count
}

pub(super) fn collect(section: &'static Section, known: &mut BTreeSet<(&'static str, String)>) {
    for key in section.keys {
        known.insert((section.title, key.name.to_owned()));
        for inner in tables(key.kind) {
            collect(inner, known);
        }
    }
}

fn values_of(section: &'static Section, found: &mut Vec<(String, Kind, &'static str)>) {
    for key in section.keys {
        let path = format!("{} {}", section.title, key.name);
        found.push((path.clone(), key.kind, key.example));
        if let Presence::Default(default) = key.presence {
            found.push((path, key.kind, default));
        }
        for inner in tables(key.kind) {
            values_of(inner, found);
        }
    }
}

pub(super) fn tables(kind: Kind) -> Vec<&'static Section> {
    match kind {
        Kind::Table(section) | Kind::Named(_, section) | Kind::Tables(section) => vec![section],
        Kind::OneOrMany(kind) | Kind::Map(_, kind) => tables(*kind),
        Kind::AnyOf(kinds) => kinds.iter().flat_map(|kind| tables(*kind)).collect(),
        _ => Vec::new(),
    }
}
