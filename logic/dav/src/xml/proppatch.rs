//! The body of PROPPATCH.

use crate::markup::decode::decode;
use crate::markup::fragment::LANG;
use crate::markup::reader::{Element, Reader};
use crate::markup::{Fragment, PropName, XmlError, XmlLimits};

/// One instruction of a PROPPATCH (RFC 4918 sections 9.2 and 14.19).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyUpdate {
    /// Sets the property to this value.
    Set(Fragment),
    /// Removes the property; a missing property is not an error (RFC 4918 section 14.23).
    Remove(PropName),
}

impl PropertyUpdate {
    /// Returns the name of the property.
    pub fn name(&self) -> &PropName {
        match self {
            Self::Set(value) => value.name(),
            Self::Remove(name) => name,
        }
    }
}

/// Parses the body. Returns the instructions in the order in which the caller must execute them, all or none
/// (RFC 4918 section 9.2).
pub fn parse_proppatch(body: &[u8], limits: &XmlLimits) -> Result<Vec<PropertyUpdate>, XmlError> {
    let decoded = decode(body, limits)?;
    let mut reader = Reader::new(&decoded, limits);
    let root = reader.root()?;
    if root.name.as_dav() != Some("propertyupdate") {
        return Err(XmlError::WrongRoot);
    }
    let mut updates = Updates { list: Vec::new(), value_bytes: 0, limits };
    let root_lang = lang(&root);
    while let Some(instruction) = reader.child()? {
        match instruction.name.as_dav() {
            Some(kind @ ("set" | "remove")) => {
                let set = kind == "set";
                let around = lang(&instruction).or_else(|| root_lang.clone());
                updates.read(&mut reader, set, around)?;
            }
            _ => reader.skip()?,
        }
    }
    reader.end()?;
    if updates.list.is_empty() { Err(XmlError::Content) } else { Ok(updates.list) }
}

struct Updates<'a> {
    list: Vec<PropertyUpdate>,
    value_bytes: usize,
    limits: &'a XmlLimits,
}

impl Updates<'_> {
    /// Reads the `prop` elements in `set` or `remove`.
    fn read(&mut self, reader: &mut Reader<'_>, set: bool, around: Option<String>) -> Result<(), XmlError> {
        while let Some(prop) = reader.child()? {
            if prop.name.as_dav() != Some("prop") {
                reader.skip()?;
                continue;
            }
            let around = lang(&prop).or_else(|| around.clone());
            while let Some(property) = reader.child()? {
                if !set {
                    reader.skip()?;
                    self.list.push(PropertyUpdate::Remove(property.name));
                    continue;
                }
                let value = Fragment::read(reader, property, around.as_deref())?;
                // A declaration that all properties share is copied into each value.
                self.value_bytes += value.as_str().len();
                if self.value_bytes > self.limits.bytes_max {
                    return Err(XmlError::TooLarge);
                }
                self.list.push(PropertyUpdate::Set(value));
            }
        }
        Ok(())
    }
}

fn lang(element: &Element) -> Option<String> {
    element.attribute(LANG).map(str::to_owned)
}
