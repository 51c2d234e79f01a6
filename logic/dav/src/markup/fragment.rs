//! Self-contained XML elements: values of dead properties and owners of locks.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::decode::Decoded;
use super::reader::{Element, Item, Reader};
use super::scope::Binding;
use super::{PropName, XmlError, XmlLimits, escape};

/// An XML element with its contents that is well-formed on its own. It declares every prefix that it uses and
/// has the xml:lang that applied to it (RFC 4918 section 4.3). Used for the value of a dead property and the
/// owner of a lock.
///
/// Keeps prefixes, attributes and text, but drops comments; character escapes may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fragment {
    name: PropName,
    xml: Box<str>,
}

impl Fragment {
    /// Parses a stored fragment, as written by [`Self::as_str`].
    pub fn parse(xml: &str, limits: &XmlLimits) -> Result<Self, XmlError> {
        if xml.len() > limits.bytes_max {
            return Err(XmlError::TooLarge);
        }
        let decoded = Decoded { text: Cow::Borrowed(xml), utf16: false };
        let mut reader = Reader::new(&decoded, limits);
        let root = reader.root()?;
        // Read as a standalone element: this finds undeclared prefixes and makes sure that the result equals
        // the input.
        let fragment = Self::read(&mut reader, root, None)?;
        reader.end()?;
        Ok(fragment)
    }

    /// Reads to the end of `outer`, the element just opened. `lang` is the xml:lang that applies around it.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        outer: Element,
        lang: Option<&str>,
    ) -> Result<Self, XmlError> {
        let mut inner = Inner::default();
        let mut unprefixed = outer.prefix().is_empty();
        loop {
            match reader.next()? {
                Some(Item::Open(element)) => {
                    unprefixed |= element.prefix().is_empty();
                    inner.open(element);
                }
                Some(Item::Text(text)) => inner.text(&text),
                Some(Item::Close) if inner.open.is_empty() => break,
                Some(Item::Close) => inner.close(),
                None => return Err(XmlError::Malformed),
            }
        }
        let inner = inner.xml;

        let mut attributes = String::new();
        for (name, value) in &outer.attributes {
            escape::attribute(&mut attributes, name, value);
        }
        if let Some(lang) = lang.filter(|_| outer.attribute(LANG).is_none()) {
            escape::attribute(&mut attributes, LANG, lang);
        }
        let mut xml = format!("<{}", outer.qualified);
        append_declarations(&mut xml, &outer.declared);
        // The declarations of `outer` are no longer in scope.
        for binding in reader.in_force() {
            let is_own = outer.declared.iter().any(|declared| declared.prefix == binding.prefix);
            let needed = match &*binding.prefix {
                "" => unprefixed && !binding.namespace.is_empty(),
                // Prefixes in values also count, because some values are qualified names.
                prefix => {
                    let mention = format!("{prefix}:");
                    [&inner, &attributes, &*outer.qualified].iter().any(|text| text.contains(&mention))
                }
            };
            if needed && !is_own {
                append_declarations(&mut xml, std::slice::from_ref(binding));
            }
        }
        xml.push_str(&attributes);
        if inner.is_empty() {
            xml.push_str("/>");
        } else {
            xml.push('>');
            xml.push_str(&inner);
            append_end(&mut xml, &outer.qualified);
        }
        Ok(Self { name: outer.name, xml: xml.into() })
    }

    /// Returns the name of the element.
    pub fn name(&self) -> &PropName {
        &self.name
    }

    /// Returns the element as text.
    pub fn as_str(&self) -> &str {
        &self.xml
    }
}

/// Name of the language attribute (XML 1.0 section 2.12).
pub(crate) const LANG: &str = "xml:lang";

/// Writer for the contents of an element.
#[derive(Default)]
struct Inner {
    xml: String,
    open: Vec<Box<str>>,
    /// True while the last start tag lacks its `>`, because nothing follows it yet.
    in_tag: bool,
}

impl Inner {
    fn open(&mut self, element: Element) {
        self.end_tag();
        self.xml.push('<');
        self.xml.push_str(&element.qualified);
        append_declarations(&mut self.xml, &element.declared);
        for (name, value) in &element.attributes {
            escape::attribute(&mut self.xml, name, value);
        }
        self.open.push(element.qualified);
        self.in_tag = true;
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.end_tag();
            escape::text(&mut self.xml, text);
        }
    }

    fn close(&mut self) {
        let qualified = self.open.pop().unwrap_or_default();
        if std::mem::take(&mut self.in_tag) {
            self.xml.push_str("/>");
        } else {
            append_end(&mut self.xml, &qualified);
        }
    }

    fn end_tag(&mut self) {
        if std::mem::take(&mut self.in_tag) {
            self.xml.push('>');
        }
    }
}

fn append_declarations(out: &mut String, bindings: &[Binding]) {
    for binding in bindings {
        escape::attribute(out, &binding.attribute(), &binding.namespace);
    }
}

fn append_end(out: &mut String, qualified: &str) {
    out.push_str("</");
    out.push_str(qualified);
    out.push('>');
}

impl fmt::Display for Fragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.xml)
    }
}

impl TryFrom<String> for Fragment {
    type Error = XmlError;

    fn try_from(xml: String) -> Result<Self, XmlError> {
        // A stored fragment passed the limits of its time, so it is accepted without limits.
        let limits = XmlLimits {
            bytes_max: usize::MAX,
            depth_max: usize::MAX,
            elements_max: usize::MAX,
            attributes_max: usize::MAX,
            name_bytes_max: usize::MAX,
        };
        Self::parse(&xml, &limits)
    }
}

impl From<Fragment> for String {
    fn from(fragment: Fragment) -> Self {
        fragment.xml.into()
    }
}
