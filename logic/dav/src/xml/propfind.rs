use std::collections::BTreeSet;

use super::decode::decode;
use super::reader::Reader;
use super::{PropName, XmlError, XmlLimits};

/// What PROPFIND asks for (RFC 4918 sections 9.1 and 14.20).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Propfind {
    /// The properties of RFC 4918 and all dead ones, and also these.
    AllProp {
        /// Others that are wanted too; each once.
        include: Vec<PropName>,
    },
    /// The names of all properties.
    PropName,
    /// These, each once, in the order in which they are asked for.
    Prop(Vec<PropName>),
}

impl Propfind {
    /// Reads the body; without one, all properties are meant (RFC 4918 section 9.1). Elements that are not known are left
    /// out (section 17).
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

/// The names of the elements in the one that is open, each once.
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
