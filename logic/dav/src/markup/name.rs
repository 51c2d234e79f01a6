//! Qualified names of XML elements and properties.

use std::fmt;
use std::sync::Arc;

use super::chars::{is_ncname, is_xml};
use super::scope::XML;
use super::{DAV, escape};

/// The name of a property or of another element: a namespace, which may be empty, and a local name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropName {
    /// Shared by the names of a body, so that a long URI is stored once.
    namespace: Arc<str>,
    local: Box<str>,
}

impl PropName {
    /// Creates a name. Returns `None` if `local` is not an XML name without a colon, or if the namespace has
    /// a character that XML forbids.
    pub fn new(namespace: &str, local: &str) -> Option<Self> {
        let sound = is_ncname(local) && namespace.chars().all(is_xml);
        sound.then(|| Self { namespace: namespace.into(), local: local.into() })
    }

    pub(crate) fn of(namespace: Arc<str>, local: &str) -> Self {
        Self { namespace, local: local.into() }
    }

    /// Returns the namespace URI; empty if the name has none.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the local name.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// Returns the local name if the namespace is `DAV:`.
    pub fn as_dav(&self) -> Option<&str> {
        (&*self.namespace == DAV).then_some(&*self.local)
    }

    /// Appends an empty element with this name to a document that binds `D` to `DAV:` and has no default
    /// namespace.
    pub(crate) fn append_empty_element(&self, out: &mut String) {
        match &*self.namespace {
            DAV => {
                out.push_str("<D:");
                out.push_str(&self.local);
            }
            "" => {
                out.push('<');
                out.push_str(&self.local);
            }
            // This namespace has a fixed prefix and may have no other (Namespaces in XML 1.0 section 3).
            XML => {
                out.push_str("<xml:");
                out.push_str(&self.local);
            }
            namespace => {
                out.push_str("<x:");
                out.push_str(&self.local);
                escape::attribute(out, "xmlns:x", namespace);
            }
        }
        out.push_str("/>");
    }
}

/// Formats the name as `{namespace}local`.
impl fmt::Display for PropName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}{}", self.namespace, self.local)
    }
}
