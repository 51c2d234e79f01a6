//! The body of PROPFIND.

use std::collections::BTreeSet;

use crate::markup::decode::decode;
use crate::markup::reader::Reader;
use crate::markup::{PropName, XmlError, XmlLimits};

/// The properties that a PROPFIND requests (RFC 4918 sections 9.1 and 14.20).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Propfind {
    /// The live properties of RFC 4918, all dead properties, and those in `include`.
    AllProp {
        /// Additional properties, each once.
        include: Vec<PropName>,
    },
    /// The names of all properties.
    PropName,
    /// These properties, each once, in the order of the request.
    Prop(Vec<PropName>),
}

impl Propfind {
    /// Parses the body. An empty body requests all properties (RFC 4918 section 9.1). Ignores unknown
    /// elements (section 17).
    pub fn parse(body: &[u8], limits: &XmlLimits) -> Result<Self, XmlError> {
        if body.is_empty() {
            return Ok(Self::AllProp { include: Vec::new() });
        }
        let decoded = decode(body, limits)?;
        let mut reader = Reader::new(&decoded, limits);
        if reader.root()?.name.as_dav() != Some("propfind") {
            return Err(XmlError::WrongRoot);
        }
        let (mut asked, mut include) = (None, None);
        while let Some(child) = reader.child()? {
            let again = match child.name.as_dav() {
                Some("allprop") => {
                    reader.skip()?;
                    asked.replace(Self::AllProp { include: Vec::new() }).is_some()
                }
                Some("propname") => {
                    reader.skip()?;
                    asked.replace(Self::PropName).is_some()
                }
                Some("prop") => asked.replace(Self::Prop(names(&mut reader)?)).is_some(),
                Some("include") => include.replace(names(&mut reader)?).is_some(),
                _ => {
                    reader.skip()?;
                    false
                }
            };
            if again {
                return Err(XmlError::Content);
            }
        }
        reader.end()?;
        match (asked, include) {
            (Some(Self::AllProp { .. }), include) => {
                Ok(Self::AllProp { include: include.unwrap_or_default() })
            }
            (Some(asked), None) => Ok(asked),
            (None, _) | (Some(_), Some(_)) => Err(XmlError::Content),
        }
    }
}

/// Returns the names of the children of the open element, each once.
fn names(reader: &mut Reader<'_>) -> Result<Vec<PropName>, XmlError> {
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    while let Some(child) = reader.child()? {
        reader.skip()?;
        if seen.insert(child.name.clone()) {
            names.push(child.name);
        }
    }
    Ok(names)
}
