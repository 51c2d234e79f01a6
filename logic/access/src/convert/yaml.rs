//! YAML as a tree whose nodes know their lines. Depth and size are limited, with aliases counted in full,
//! because a small file can repeat a large tree many times.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// A node of the tree.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Line number, from 1.
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    /// Text as written; `None` = empty, `~` or `null`.
    Scalar(Option<String>),
    List(Vec<Node>),
    /// Pairs in the order of the file.
    Map(Vec<(String, Node)>),
}

/// Reason why a text is not a valid tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    pub(super) line: usize,
    pub(super) why: String,
}

const DEPTH_MAX: usize = 64;
const NODES_MAX: usize = 100_000;

/// Parses all documents of a file.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, YamlError> {
    let mut reader = Reader { events: Parser::new_from_str(text), anchors: Vec::new(), nodes: 0 };
    let mut documents = Vec::new();
    loop {
        let (event, line) = reader.next()?;
        match event {
            Event::StreamEnd => return Ok(documents),
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            event => documents.push(reader.node(event, line, 0)?),
        }
    }
}

pub(super) fn unreadable(node: &Node, why: &str) -> YamlError {
    YamlError { line: node.line, why: why.to_owned() }
}

fn fail_at(line: usize, why: &str) -> YamlError {
    YamlError { line, why: why.to_owned() }
}

struct Reader<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// Nodes with anchors, by the parser's ids.
    anchors: Vec<(usize, Node)>,
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, usize), YamlError> {
        match self.events.next_event() {
            None => Ok((Event::StreamEnd, 0)),
            Some(Ok((event, span))) => Ok((event, span.start.line())),
            Some(Err(error)) => Err(YamlError { line: error.marker().line(), why: error.info().to_owned() }),
        }
    }

    fn node(&mut self, event: Event<'a>, line: usize, depth: usize) -> Result<Node, YamlError> {
        let fail = |why: &str| fail_at(line, why);
        if depth > DEPTH_MAX {
            return Err(fail("nested too deeply"));
        }
        self.count(1, line)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let nothing = style == ScalarStyle::Plain && matches!(text.as_ref(), "" | "~" | "null");
                (Value::Scalar((!nothing).then(|| text.into_owned())), anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, line) => list.push(self.node(event, line, depth + 1)?),
                    }
                }
                (Value::List(list), anchor)
            }
            Event::MappingStart(anchor, _) => {
                let mut map: Vec<(String, Node)> = Vec::new();
                loop {
                    let (event, line) = self.next()?;
                    if event == Event::MappingEnd {
                        break;
                    }
                    let Value::Scalar(Some(key)) = self.node(event, line, depth + 1)?.value else {
                        return Err(YamlError { line, why: "a key that is no text".to_owned() });
                    };
                    if key == "<<" {
                        // Ignoring a merge key could lose a denial.
                        return Err(fail_at(
                            line,
                            "merge keys (<<) are not read: write out what they stand for",
                        ));
                    }
                    if map.iter().any(|(other, _)| *other == key) {
                        return Err(YamlError { line, why: format!("key {key} is there twice") });
                    }
                    let (event, line) = self.next()?;
                    map.push((key, self.node(event, line, depth + 1)?));
                }
                (Value::Map(map), anchor)
            }
            Event::Alias(id) => {
                let target = self.anchors.iter().rev().find(|(anchor, _)| *anchor == id);
                let node = target.map(|(_, node)| node.clone()).ok_or_else(|| fail("an alias of nothing"))?;
                self.count(node.size(), line)?;
                return Ok(Node { line, ..node });
            }
            _ => return Err(fail("ends too early")),
        };
        let node = Node { line, value };
        if anchor > 0 {
            self.anchors.push((anchor, node.clone()));
            self.count(node.size(), line)?;
        }
        Ok(node)
    }

    fn count(&mut self, nodes: usize, line: usize) -> Result<(), YamlError> {
        self.nodes += nodes;
        let why = || format!("more than {NODES_MAX} values, aliases included");
        if self.nodes > NODES_MAX { Err(YamlError { line, why: why() }) } else { Ok(()) }
    }
}

impl Node {
    fn size(&self) -> usize {
        match &self.value {
            Value::Scalar(_) => 1,
            Value::List(list) => 1 + list.iter().map(Self::size).sum::<usize>(),
            Value::Map(map) => 1 + map.iter().map(|(_, node)| node.size()).sum::<usize>(),
        }
    }

    /// Returns the value of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => text.as_deref(),
            _ => None,
        }
    }

    /// Returns the boolean value, by the words that Spring accepts (`StringToBooleanConverter`, YAML 1.1).
    /// Returns `None` for other texts, such as a placeholder.
    pub(super) fn flag(&self) -> Option<bool> {
        let text = self.text()?.trim();
        let is_one_of = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        match (is_one_of(["true", "on", "yes", "1"]), is_one_of(["false", "off", "no", "0"])) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    pub(super) fn map(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(map) => map,
            _ => &[],
        }
    }

    /// Returns the nodes of a list. A single text counts as a list separated by commas, as in Spring.
    pub(super) fn list(&self) -> Vec<Self> {
        match &self.value {
            Value::List(list) => list.clone(),
            Value::Scalar(Some(text)) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts
                    .map(|part| Self { line: self.line, value: Value::Scalar(Some(part.to_owned())) })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the value of a key. `enableOidc`, `enable_oidc` and `enable-oidc` are the same key, as in
    /// Spring.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.map().iter().find(|(other, _)| same_key(other, key)).map(|(_, node)| node)
    }
}

/// Compares keys by Spring's relaxed binding, which ignores dashes, underscores and case.
pub(super) fn same_key(left: &str, right: &str) -> bool {
    let plain = |key: &str| -> String {
        key.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
    };
    plain(left) == plain(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_know_their_lines() {
        let documents = parse("# c\na:\n  - b\n  - {c: d}\ne: ~\n").unwrap();
        let a = documents[0].get("a").unwrap();
        assert_eq!(a.list().iter().map(|node| node.line).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(a.list()[1].get("c").and_then(Node::text), Some("d"));
        assert_eq!(documents[0].get("e").and_then(Node::text), None);
    }

    #[test]
    fn an_alias_stands_for_its_anchor_but_not_for_a_flood() {
        let documents = parse("a: &x [1, 2]\nb: *x\n").unwrap();
        assert_eq!(documents[0].get("b").unwrap().list().len(), 2);
        let mut flood = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for level in 1..9 {
            let before = vec![format!("*a{}", level - 1); 10].join(",");
            flood.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        assert!(parse(&flood).unwrap_err().why.starts_with("more than"));
    }

    #[test]
    fn what_is_no_tree_is_an_error_with_its_line() {
        assert_eq!(
            parse("a: 1\na: 2\n").unwrap_err(),
            YamlError { line: 2, why: "key a is there twice".to_owned() }
        );
        assert_eq!(parse(&"[".repeat(1000)).unwrap_err().line, 1);
        assert!(parse("a: [b").is_err());
        assert_eq!(parse("a: &x {b: 1}\nc:\n  <<: *x\n").unwrap_err().line, 3);
    }
}
