//! A namespace-aware XML reader. Refuses document types and entities, and skips comments and processing
//! instructions. Performs the checks that quick-xml leaves to its caller: characters, names, namespaces and a
//! single root.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesDecl, BytesPI, BytesRef, BytesStart, Event};

use super::chars::{is_ncname, is_space, is_xml};
use super::decode::Decoded;
use super::scope::{Binding, Scope};
use super::{PropName, XmlError, XmlLimits};

pub(crate) struct Reader<'a> {
    events: quick_xml::Reader<&'a [u8]>,
    limits: &'a XmlLimits,
    utf16: bool,
    scope: Scope,
    elements: usize,
    /// True once the reader has read anything; an XML declaration must come before.
    begun: bool,
}

/// A start tag.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: PropName,
    /// Name as written, with its prefix.
    pub(crate) qualified: Box<str>,
    pub(crate) declared: Vec<Binding>,
    /// Names as written with unescaped values; without namespace declarations.
    pub(crate) attributes: Vec<(Box<str>, String)>,
}

impl Element {
    pub(crate) fn prefix(&self) -> &str {
        split(&self.qualified).0
    }

    pub(crate) fn attribute(&self, qualified: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| &**name == qualified).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
pub(crate) enum Item<'a> {
    Open(Element),
    Text(Cow<'a, str>),
    Close,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(decoded: &'a Decoded<'_>, limits: &'a XmlLimits) -> Self {
        let mut events = quick_xml::Reader::from_str(&decoded.text);
        let config = events.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        let (utf16, scope) = (decoded.utf16, Scope::default());
        Self { events, limits, utf16, scope, elements: 0, begun: false }
    }

    /// Reads the start of the root element.
    pub(crate) fn root(&mut self) -> Result<Element, XmlError> {
        match self.next()? {
            Some(Item::Open(element)) => Ok(element),
            _ => Err(XmlError::Malformed),
        }
    }

    /// Returns the next child of the open element; `None` when that element ends. Skips text.
    pub(crate) fn child(&mut self) -> Result<Option<Element>, XmlError> {
        loop {
            match self.next()? {
                Some(Item::Open(element)) => return Ok(Some(element)),
                Some(Item::Text(_)) => {}
                Some(Item::Close) => return Ok(None),
                None => return Err(XmlError::Malformed),
            }
        }
    }

    /// Skips to the end of the open element.
    pub(crate) fn skip(&mut self) -> Result<(), XmlError> {
        let around = self.scope.depth().saturating_sub(1);
        while self.scope.depth() > around {
            self.next()?;
        }
        Ok(())
    }

    /// Reads to the end of the document, after the end of the root element.
    pub(crate) fn end(&mut self) -> Result<(), XmlError> {
        match self.next()? {
            None => Ok(()),
            Some(_) => Err(XmlError::Malformed),
        }
    }

    pub(crate) fn in_force(&self) -> impl Iterator<Item = &Binding> {
        self.scope.in_force()
    }

    /// Returns the next item; `None` at the end of a complete document.
    pub(crate) fn next(&mut self) -> Result<Option<Item<'a>>, XmlError> {
        loop {
            let event = self.events.read_event().map_err(|_| XmlError::Malformed)?;
            let first = !std::mem::replace(&mut self.begun, true);
            let inside = self.scope.depth() > 0;
            let text = match event {
                Event::Decl(declaration) if first => {
                    self.check_declaration(&declaration)?;
                    continue;
                }
                Event::Decl(_) => return Err(XmlError::Malformed),
                Event::Comment(comment) if comment.chars().all(is_xml) => continue,
                Event::Comment(_) => return Err(XmlError::Malformed),
                Event::DocType(_) => return Err(XmlError::DocumentType),
                Event::PI(instruction) if is_instruction(&instruction) => continue,
                Event::PI(_) => return Err(XmlError::Malformed),
                Event::Start(tag) | Event::Empty(tag) => {
                    return self.open(&tag).map(|open| Some(Item::Open(open)));
                }
                Event::End(_) => {
                    self.scope.leave();
                    return Ok(Some(Item::Close));
                }
                Event::Eof if inside || self.elements == 0 => return Err(XmlError::Malformed),
                Event::Eof => return Ok(None),
                Event::Text(text) if text.contains("]]>") => return Err(XmlError::Malformed),
                Event::Text(text) if !inside && text.chars().all(is_space) => continue,
                Event::Text(text) => text.xml10_content(),
                Event::CData(text) => text.xml10_content(),
                Event::GeneralRef(reference) => resolve(&reference)?.to_string().into(),
            };
            if !inside || !text.chars().all(is_xml) {
                return Err(XmlError::Malformed);
            }
            return Ok(Some(Item::Text(text)));
        }
    }

    fn check_declaration(&self, declaration: &BytesDecl<'_>) -> Result<(), XmlError> {
        if declaration.version().map_err(|_| XmlError::Malformed)? != "1.0" {
            return Err(XmlError::Malformed);
        }
        let Some(encoding) = declaration.encoding() else { return Ok(()) };
        let encoding = encoding.map_err(|_| XmlError::Malformed)?.to_ascii_lowercase();
        match (encoding.as_str(), self.utf16) {
            ("utf-16", true) | ("utf-8" | "utf8" | "us-ascii", false) => Ok(()),
            _ => Err(XmlError::Encoding),
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Result<Element, XmlError> {
        self.elements += 1;
        if self.scope.depth() == 0 && self.elements > 1 {
            return Err(XmlError::Malformed);
        }
        if self.elements > self.limits.elements_max {
            return Err(XmlError::TooMany);
        }
        if self.scope.depth() == self.limits.depth_max {
            return Err(XmlError::TooDeep);
        }
        let (mut declared, mut attributes) = (Vec::new(), Vec::new());
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|_| XmlError::Malformed)?;
            if declared.len() + attributes.len() == self.limits.attributes_max {
                return Err(XmlError::TooMany);
            }
            let name = self.checked_name(attribute.key.into_inner())?;
            if attribute.value.contains('<') {
                return Err(XmlError::Malformed);
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| XmlError::Entity)?;
            if !value.chars().all(is_xml) {
                return Err(XmlError::Malformed);
            }
            let prefix = match split(name) {
                ("", "xmlns") => Some(""),
                ("xmlns", prefix) => Some(prefix),
                _ => None,
            };
            match prefix {
                Some(_) if value.len() > self.limits.name_bytes_max => return Err(XmlError::TooLarge),
                Some(prefix) => declared.push(Binding::new(prefix, &value)?),
                None => attributes.push((name.into(), value.into_owned())),
            }
        }
        self.scope.enter(&declared, self.limits.attributes_max)?;
        self.check_attributes(&attributes)?;

        let qualified = self.checked_name(tag.name().into_inner())?;
        let (prefix, local) = split(qualified);
        if prefix == "xmlns" {
            return Err(XmlError::Namespace);
        }
        let name = PropName::of(self.scope.resolve(prefix)?, local);
        Ok(Element { name, qualified: qualified.into(), declared, attributes })
    }

    /// Checks a qualified name: at most one colon, with a name on either side.
    fn checked_name<'n>(&self, qualified: &'n str) -> Result<&'n str, XmlError> {
        let (prefix, local) = split(qualified);
        if qualified.len() > self.limits.name_bytes_max {
            return Err(XmlError::TooLarge);
        }
        let sound = is_ncname(local) && (is_ncname(prefix) || !qualified.contains(':'));
        if sound { Ok(qualified) } else { Err(XmlError::Malformed) }
    }

    /// Checks that every prefix is declared, and that no two names are equal after expansion (Namespaces in
    /// XML 1.0 section 6.3).
    fn check_attributes(&self, attributes: &[(Box<str>, String)]) -> Result<(), XmlError> {
        let mut seen = Vec::with_capacity(attributes.len());
        for (name, _) in attributes {
            let (prefix, local) = split(name);
            if prefix.is_empty() {
                // A name without a prefix has no namespace; the parser detects duplicates of it.
                continue;
            }
            let expanded = (self.scope.resolve(prefix)?, local);
            if seen.contains(&expanded) {
                return Err(XmlError::Namespace);
            }
            seen.push(expanded);
        }
        Ok(())
    }
}

/// Splits a qualified name into prefix, which may be empty, and local name.
fn split(qualified: &str) -> (&str, &str) {
    qualified.split_once(':').unwrap_or(("", qualified))
}

/// Returns true if a processing instruction is well-formed. Its target must be a name without a colon, and
/// not `xml` in any case (XML 1.0 section 2.6, Namespaces in XML 1.0 section 7).
fn is_instruction(instruction: &BytesPI<'_>) -> bool {
    let target = instruction.target();
    is_ncname(target) && !target.eq_ignore_ascii_case("xml") && instruction.content().chars().all(is_xml)
}

fn resolve(reference: &BytesRef<'_>) -> Result<char, XmlError> {
    match &**reference {
        "amp" => Ok('&'),
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "apos" => Ok('\''),
        "quot" => Ok('"'),
        _ => reference.resolve_char_ref().ok().flatten().ok_or(XmlError::Entity),
    }
}
