//! Tests that the JSON Schema and the reference page agree with the parser.

use serde_json::Value;

use super::load_text;
use crate::root::ROOT;
use crate::schema::json::definition_name;
use crate::schema::{Kind, Section};
use crate::{reference, schema};

/// Returns every section once.
fn sections() -> Vec<&'static Section> {
    fn collect(section: &'static Section, found: &mut Vec<&'static Section>) {
        if found.iter().any(|there| there.title == section.title) {
            return;
        }
        found.push(section);
        section.keys.iter().for_each(|key| below(key.kind, found));
    }
    fn below(kind: Kind, found: &mut Vec<&'static Section>) {
        match kind {
            Kind::Table(section) | Kind::Named(_, section) | Kind::Tables(section) => collect(section, found),
            Kind::OneOrMany(kind) | Kind::Map(_, kind) => below(*kind, found),
            Kind::AnyOf(kinds) => kinds.iter().for_each(|kind| below(*kind, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(&ROOT, &mut found);
    found
}

#[test]
fn sections_have_titles_of_their_own() {
    let sections = sections();
    assert!(sections.len() > 25);
    for section in &sections {
        let same = sections.iter().filter(|other| std::ptr::eq(other.keys, section.keys));
        assert_eq!(same.count(), 1, "{}", section.title);
    }
}

#[test]
fn every_key_is_on_the_reference_page_and_in_the_schema() {
    let page = reference();
    let schema = schema();
    for section in sections() {
        let at =
            page.find(&format!("\n## {}\n", section.title)).unwrap_or_else(|| panic!("{}", section.title));
        let chapter = page[at + 4..].split("\n## ").next().unwrap();
        let definition = match section.title {
            title if title == ROOT.title => &schema,
            _ => &schema["$defs"][definition_name(section)],
        };
        for key in section.keys {
            assert!(chapter.contains(&format!("\n| `{}` |", key.name)), "{} {}", section.title, key.name);
            assert!(definition["properties"][key.name].is_object(), "{} {}", section.title, key.name);
        }
        assert_eq!(definition["properties"].as_object().map(serde_json::Map::len), Some(section.keys.len()));
    }
}

#[test]
fn the_config_on_the_reference_page_loads() {
    let page = reference();
    let text = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(load_text(text).unwrap().warnings, []);
}

#[test]
fn defaults_and_examples_of_the_schema_are_values() {
    fn walk(value: &Value) {
        if let Some(object) = value.as_object() {
            if let Some(Value::Array(examples)) = object.get("examples") {
                assert!(!examples.contains(&Value::Null), "{value}");
            }
            assert_ne!(object.get("default"), Some(&Value::Null), "{value}");
            object.values().for_each(walk);
        }
    }
    walk(&schema());
}

#[test]
fn the_schema_accepts_what_the_parser_accepts_and_refuses_unknown_keys() {
    let schema = schema();
    let valid = |text: &str| {
        valid(&schema, &schema, &serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap())
    };
    let text = include_str!("every_key.toml");
    assert!(valid(text));
    assert!(valid(&super::with("[weir]\nworkers = \"${N}\"\n")));
    for (good, bad) in [
        ("workers = 4", "workers = \"4\""),
        ("workers = 4", "worker = 4"),
        ("weight = 2", "weight = 300"),
        ("\"lblcr\"", "\"rr\""),
    ] {
        assert!(text.contains(good));
        assert!(!valid(&text.replacen(good, bad, 1)), "{bad}");
    }
}

/// Validates a value against the part of JSON Schema that Weir's schema uses, without patterns.
fn valid(root: &Value, schema: &Value, value: &Value) -> bool {
    let all = |key: &str, test: &dyn Fn(&Value) -> bool| schema.get(key).is_none_or(test);
    let object = value.as_object();
    let of_type = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64(),
        Some("number") => value.is_number(),
        _ => false,
    };
    let property = |(name, value): (&String, &Value)| {
        let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        known.is_none_or(|known| known.as_bool().unwrap_or_else(|| valid(root, known, value)))
    };
    all("$ref", &|path| {
        valid(root, root.pointer(path.as_str().unwrap().trim_start_matches('#')).unwrap(), value)
    }) && all("type", &of_type)
        && all("const", &|constant| constant == value)
        && all("enum", &|names| names.as_array().unwrap().contains(value))
        && all("minimum", &|min| value.as_f64() >= min.as_f64())
        && all("maximum", &|max| value.as_f64() <= max.as_f64())
        && all("anyOf", &|kinds| kinds.as_array().unwrap().iter().any(|kind| valid(root, kind, value)))
        && all("required", &|keys| {
            keys.as_array().unwrap().iter().all(|key| object.unwrap().contains_key(key.as_str().unwrap()))
        })
        && all("items", &|items| value.as_array().unwrap().iter().all(|value| valid(root, items, value)))
        && object.is_none_or(|object| object.iter().all(property))
        && all("pattern", &|pattern| {
            !is_of_variable(pattern) || value.as_str().is_some_and(|text| text.starts_with("${"))
        })
}

/// Returns true for the pattern of a text that is one variable.
fn is_of_variable(pattern: &Value) -> bool {
    pattern.as_str().is_some_and(|pattern| pattern.starts_with("^\\$"))
}
