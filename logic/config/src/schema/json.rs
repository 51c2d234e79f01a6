//! Generates the JSON Schema of a file from the tables of its keys, for editors that support TOML.

use serde_json::{Map, Value, json};

use super::{Key, Kind, Presence, Section};

/// Returns the schema (JSON Schema 2020-12) of a file with the root table `root`.
pub(crate) fn document(root: &'static Section) -> Value {
    let mut definitions = Map::new();
    let mut root = object(root, &mut definitions);
    definitions.insert("variable".to_owned(), json!({ "type": "string", "pattern": "^\\$\\{[^}]*\\}$" }));
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Weir configuration");
    root["$defs"] = Value::Object(definitions);
    root
}

/// Returns the name of a section's definition: its title without brackets.
pub(crate) fn definition_name(section: &Section) -> String {
    let name = |c: char| if c == ' ' { '-' } else { c };
    section.title.chars().filter(|c| !"[],".contains(*c)).map(name).collect()
}

fn object(section: &'static Section, definitions: &mut Map<String, Value>) -> Value {
    let required = section.keys.iter().filter(|key| key.presence == Presence::Required);
    let required: Vec<&str> = required.map(|key| key.name).collect();
    let properties: Map<String, Value> =
        section.keys.iter().map(|key| (key.name.to_owned(), property(key, definitions))).collect();
    json!({
        "type": "object",
        "description": section.meaning,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(key: &Key, definitions: &mut Map<String, Value>) -> Value {
    let mut property = value(key.kind, definitions);
    let description = match key.presence {
        Presence::Otherwise(words) => format!("{} Without it: {words}.", key.meaning),
        _ => key.meaning.to_owned(),
    };
    property["description"] = json!(description);
    if let Presence::Default(text) = key.presence {
        property["default"] = from_toml(text);
    }
    property["examples"] = json!([from_toml(key.example)]);
    property
}

fn value(kind: Kind, definitions: &mut Map<String, Value>) -> Value {
    match kind {
        Kind::Flag => or_variable(json!({ "type": "boolean" })),
        Kind::On => or_variable(json!({ "const": true })),
        Kind::Off => or_variable(json!({ "const": false })),
        Kind::Integer { min, max } => {
            or_variable(json!({ "type": "integer", "minimum": min, "maximum": max }))
        }
        Kind::Number { min, max } => or_variable(json!({ "type": "number", "minimum": min, "maximum": max })),
        Kind::Signed { min, max } => {
            or_variable(json!({ "type": "integer", "minimum": min, "maximum": max }))
        }
        Kind::Duration { .. } => text("[0-9]+ *(d|h|m|s|ms)|0"),
        Kind::Size { .. } => text("[0-9]+ *(B|kB|KiB|MB|MiB|GB|GiB|TB|TiB)|0"),
        Kind::ByteRate => text("[0-9]+ *(B|kB|KiB|MB|MiB|GB|GiB|TB|TiB)/s|0"),
        Kind::Percent { .. } => text("[0-9]+ *%"),
        Kind::Text(_) => json!({ "type": "string" }),
        Kind::Choice(names) => or_variable(json!({ "enum": names })),
        Kind::OneOrMany(kind) => {
            let one = value(*kind, definitions);
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        Kind::AnyOf(kinds) => {
            let kinds: Vec<Value> = kinds.iter().map(|kind| value(*kind, definitions)).collect();
            json!({ "anyOf": kinds })
        }
        Kind::Table(section) => reference(section, definitions),
        Kind::Named(_, section) => {
            json!({ "type": "object", "additionalProperties": reference(section, definitions) })
        }
        Kind::Tables(section) => {
            let one = reference(section, definitions);
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        Kind::Map(_, kind) => json!({ "type": "object", "additionalProperties": value(*kind, definitions) }),
    }
}

fn reference(section: &'static Section, definitions: &mut Map<String, Value>) -> Value {
    let name = definition_name(section);
    if !definitions.contains_key(&name) {
        definitions.insert(name.clone(), Value::Null);
        let definition = object(section, definitions);
        definitions.insert(name.clone(), definition);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// Returns the schema of a text that matches a pattern. An environment variable may replace any part of the
/// text.
fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^ *({pattern}) *$|\\$\\{{") })
}

/// Returns a schema that also permits a text that is one environment variable.
fn or_variable(value: Value) -> Value {
    json!({ "anyOf": [value, { "$ref": "#/$defs/variable" }] })
}

/// Converts a TOML value to JSON. A test proves that each default and example can be parsed.
pub(crate) fn from_toml(text: &str) -> Value {
    let table = format!("x = {text}").parse::<toml::Table>();
    let value = table.ok().and_then(|mut table| table.remove("x"));
    value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or(Value::Null)
}
