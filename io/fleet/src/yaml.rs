//! Parser from YAML to JSON values, which suffice for clouds.yaml. Depth and size are limited, including
//! aliases.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

const DEPTH_MAX: usize = 32;
const NODES_MAX: usize = 20_000;

/// Parses the first document. Each scalar except null is a text, because a password may look like a number.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader { events: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 };
    loop {
        let (event, line) = reader.next()?;
        match event {
            Event::StreamEnd => return Ok(Value::Null),
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            event => return reader.node(event, line, 0),
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    /// Anchored values with their sizes, by the parser's ids.
    anchors: HashMap<usize, (Value, usize)>,
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, usize), String> {
        match self.events.next_event() {
            None => Ok((Event::StreamEnd, 0)),
            Some(Ok((event, span))) => Ok((event, span.start.line())),
            Some(Err(error)) => Err(format!("line {}: {}", error.marker().line(), error.info())),
        }
    }

    fn node(&mut self, event: Event<'a>, line: usize, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("line {line}: nested too deeply"));
        }
        let before = self.nodes;
        self.count(1, line)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let value = match (style == ScalarStyle::Plain, text.as_ref()) {
                    (true, "" | "~" | "null") => Value::Null,
                    _ => Value::String(text.into_owned()),
                };
                (value, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, line) => list.push(self.node(event, line, depth + 1)?),
                    }
                }
                (Value::Array(list), anchor)
            }
            Event::MappingStart(anchor, _) => (self.mapping(depth)?, anchor),
            Event::Alias(id) => {
                let unknown = || format!("line {line}: an alias of nothing");
                let (value, size) = self.anchors.get(&id).cloned().ok_or_else(unknown)?;
                self.count(size, line)?;
                return Ok(value);
            }
            _ => return Err(format!("line {line}: ends too early")),
        };
        if anchor > 0 {
            let size = self.nodes - before;
            self.count(size, line)?;
            self.anchors.insert(anchor, (value.clone(), size));
        }
        Ok(value)
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, String> {
        let (mut map, mut beneath) = (Map::new(), Vec::new());
        loop {
            let (event, line) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let Value::String(key) = self.node(event, line, depth + 1)? else {
                return Err(format!("line {line}: a key that is no text"));
            };
            let (event, line) = self.next()?;
            let value = self.node(event, line, depth + 1)?;
            if key == "<<" {
                // Merge keys (https://yaml.org/type/merge.html): explicit keys have priority.
                match value {
                    Value::Object(other) => beneath.push(other),
                    Value::Array(others) => {
                        beneath.extend(others.into_iter().filter_map(|other| match other {
                            Value::Object(other) => Some(other),
                            _ => None,
                        }));
                    }
                    _ => return Err(format!("line {line}: only mappings can be merged")),
                }
            } else if map.insert(key, value).is_some() {
                return Err(format!("line {line}: a key that is there twice"));
            }
        }
        for (key, value) in beneath.into_iter().flatten() {
            map.entry(key).or_insert(value);
        }
        Ok(Value::Object(map))
    }

    fn count(&mut self, nodes: usize, line: usize) -> Result<(), String> {
        self.nodes += nodes;
        if self.nodes > NODES_MAX {
            Err(format!("line {line}: more than {NODES_MAX} values"))
        } else {
            Ok(())
        }
    }
}
