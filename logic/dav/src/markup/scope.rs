//! Namespace declarations in scope (Namespaces in XML 1.0 section 6).

use std::sync::Arc;

use super::XmlError;
use super::chars::is_ncname;

/// Namespace of the prefix `xml`, which needs no declaration.
pub(crate) const XML: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

/// A declaration: `xmlns:prefix="namespace"`, or `xmlns="namespace"` with an empty prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) prefix: Box<str>,
    pub(crate) namespace: Arc<str>,
}

impl Binding {
    /// Creates a declaration; refuses those that Namespaces in XML forbids (section 3).
    pub(crate) fn new(prefix: &str, namespace: &str) -> Result<Self, XmlError> {
        let sound = match (prefix, namespace) {
            ("xmlns", _) | (_, XMLNS) => false,
            ("xml", namespace) => namespace == XML,
            (_, XML) => false,
            ("", _) => true,
            (prefix, namespace) => !namespace.is_empty() && is_ncname(prefix),
        };
        if sound {
            Ok(Self { prefix: prefix.into(), namespace: namespace.into() })
        } else {
            Err(XmlError::Namespace)
        }
    }

    /// Returns the name of the attribute that declares the namespace.
    pub(crate) fn attribute(&self) -> String {
        if self.prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{}", self.prefix) }
    }
}

/// The declarations of all open elements.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    bindings: Vec<Binding>,
    /// Number of bindings before each open element.
    marks: Vec<usize>,
}

impl Scope {
    pub(crate) fn enter(&mut self, declared: &[Binding], bindings_max: usize) -> Result<(), XmlError> {
        self.marks.push(self.bindings.len());
        self.bindings.extend_from_slice(declared);
        if self.bindings.len() > bindings_max { Err(XmlError::TooMany) } else { Ok(()) }
    }

    pub(crate) fn leave(&mut self) {
        if let Some(mark) = self.marks.pop() {
            self.bindings.truncate(mark);
        }
    }

    /// Returns the number of open elements.
    pub(crate) fn depth(&self) -> usize {
        self.marks.len()
    }

    /// Returns the namespace of a prefix; the empty prefix stands for the default namespace.
    pub(crate) fn resolve(&self, prefix: &str) -> Result<Arc<str>, XmlError> {
        let bound = self.bindings.iter().rev().find(|binding| &*binding.prefix == prefix);
        match (bound, prefix) {
            (Some(binding), _) => Ok(Arc::clone(&binding.namespace)),
            (None, "") => Ok(Arc::default()),
            (None, "xml") => Ok(XML.into()),
            (None, _) => Err(XmlError::Namespace),
        }
    }

    /// Returns the declarations in scope, one for each prefix.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = &Binding> {
        self.bindings.iter().enumerate().filter_map(|(at, binding)| {
            let hidden = self.bindings[at + 1..].iter().any(|later| later.prefix == binding.prefix);
            (!hidden).then_some(binding)
        })
    }
}
