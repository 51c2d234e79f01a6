use std::fmt;
use std::sync::Arc;

use super::chars::{is_ncname, is_xml};
use super::scope::XML;
use super::{DAV, escape};

/// The name of a property or another element: a namespace, which may be empty, and a local name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropName {
    /// Shared with the other names of a body: a long URI that many names have is kept once.
    namespace: Arc<str>,
    local: Box<str>,
}

impl PropName {
    /// `None` if `local` is no XML name without colon, or if the namespace has characters that no XML document can have.
    pub fn new(namespace: &str, local: &str) -> Option<Self> {
        let sound = is_ncname(local) && namespace.chars().all(is_xml);
        sound.then(|| Self { namespace: namespace.into(), local: local.into() })
    }

    pub(super) fn of(namespace: Arc<str>, local: &str) -> Self {
        Self { namespace, local: local.into() }
    }

    /// The URI of its namespace; empty if it is in none.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name without namespace.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// The local name, if it is in the namespace `DAV:`.
    pub fn as_dav(&self) -> Option<&str> {
        (&*self.namespace == DAV).then_some(&*self.local)
    }

    /// Appends an empty element of this name, for documents that bind `D` to `DAV:` and have no default namespace.
    pub(super) fn append_empty_element(&self, out: &mut String) {
        match &*self.namespace {
            DAV => {
                out.push_str("<D:");
                out.push_str(&self.local);
            }
            "" => {
                out.push('<');
                out.push_str(&self.local);
            }
            // It has a prefix of its own and may have no other (Namespaces in XML 1.0 section 3).
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

/// `{namespace}local`.
impl fmt::Display for PropName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}{}", self.namespace, self.local)
    }
}
