//! Names the listener, route, pool or key that an error message is about.

use std::fmt;

use crate::schema::Section;
use crate::syntax::tree::Node;

/// The subject of an error message: `pool web, server w2: weight`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Name of the outer object.
    owner: String,
    /// Key within the object, with dots.
    path: String,
}

impl Subject {
    /// Returns the subject of a key.
    pub(crate) fn key(&self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Self { owner: self.owner.clone(), path }
    }

    /// Returns the subject of a named object within this one, such as `pool web`.
    pub(crate) fn named(&self, noun: &str, name: &str) -> Self {
        let join = if self.owner.is_empty() { "" } else { ", " };
        Self {
            owner: format!("{}{join}{noun} {}", self.owner, crate::syntax::tree::short(name)),
            path: String::new(),
        }
    }

    /// Returns the subject of one table of a list (`index` from 0), or of a single table.
    pub(crate) fn entry(&self, section: &Section, index: usize, node: &Node) -> Self {
        if section.noun.is_empty() {
            return self.clone();
        }
        let keys: &[&str] = match section.noun {
            "server" => &["name", "address"],
            "sni" => &["host"],
            _ => &["name"],
        };
        let name = keys.iter().find_map(|key| node.get(key)?.text());
        match name {
            Some(name) => self.named(section.noun, name),
            None => self.named(section.noun, &(index + 1).to_string()),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = if self.owner.is_empty() || self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{join}{}", self.owner, self.path)
    }
}
