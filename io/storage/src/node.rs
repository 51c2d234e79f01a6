//! Names of the nodes that share a directory.

use std::fmt;

/// Name of this node among the nodes that share a directory: 1 to 64 ASCII letters, digits, dots, hyphens and
/// underscores. Each node needs a different name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeId(Box<str>);

/// Error for a text that is not a valid node name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a node is 1 to 64 ASCII letters, digits, dots, hyphens and underscores")]
pub struct NodeIdError;

impl NodeId {
    /// Checks the text of a name.
    ///
    /// # Errors
    /// If the text is empty, too long, or has other characters.
    pub fn new(text: &str) -> Result<Self, NodeIdError> {
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if (1..=64).contains(&text.len()) && text.bytes().all(sound) {
            Ok(Self(text.into()))
        } else {
            Err(NodeIdError)
        }
    }

    /// Returns the name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
