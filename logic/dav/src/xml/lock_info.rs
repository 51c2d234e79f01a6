//! The body of LOCK.

use crate::lock::Scope;
use crate::markup::decode::decode;
use crate::markup::fragment::LANG;
use crate::markup::reader::Reader;
use crate::markup::{Fragment, XmlError, XmlLimits};

/// The body of a LOCK that creates a lock (RFC 4918 sections 9.10.1 and 14.11). A LOCK without a body
/// refreshes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockInfo {
    /// Exclusive or shared.
    pub scope: Scope,
    /// Description of the lock's owner by the client: the element `DAV:owner`.
    pub owner: Option<Fragment>,
}

impl LockInfo {
    /// Maximum length of the owner element in bytes. It is limited because every client that requests the
    /// locks of the resource gets it.
    pub const OWNER_BYTES_MAX: usize = 4096;

    /// Parses the body. The only supported type is the write lock (RFC 4918 section 7).
    pub fn parse(body: &[u8], limits: &XmlLimits) -> Result<Self, XmlError> {
        let decoded = decode(body, limits)?;
        let mut reader = Reader::new(&decoded, limits);
        let root = reader.root()?;
        if root.name.as_dav() != Some("lockinfo") {
            return Err(XmlError::WrongRoot);
        }
        let (mut scope, mut write, mut owner) = (None, false, None);
        while let Some(child) = reader.child()? {
            let again = match child.name.as_dav() {
                Some("lockscope") => {
                    let read = match choice(&mut reader)?.as_deref() {
                        Some("exclusive") => Scope::Exclusive,
                        Some("shared") => Scope::Shared,
                        _ => return Err(XmlError::Content),
                    };
                    scope.replace(read).is_some()
                }
                Some("locktype") => {
                    if choice(&mut reader)?.as_deref() != Some("write") {
                        return Err(XmlError::Content);
                    }
                    std::mem::replace(&mut write, true)
                }
                Some("owner") => {
                    let read = Fragment::read(&mut reader, child, root.attribute(LANG))?;
                    if read.as_str().len() > Self::OWNER_BYTES_MAX {
                        return Err(XmlError::TooLarge);
                    }
                    owner.replace(read).is_some()
                }
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
        let scope = scope.filter(|_| write).ok_or(XmlError::Content)?;
        Ok(Self { scope, owner })
    }
}

/// Reads to the end of the open element and returns its first child in the namespace `DAV:`.
fn choice(reader: &mut Reader<'_>) -> Result<Option<String>, XmlError> {
    let mut chosen = None;
    while let Some(child) = reader.child()? {
        reader.skip()?;
        chosen = chosen.or_else(|| child.name.as_dav().map(str::to_owned));
    }
    Ok(chosen)
}
