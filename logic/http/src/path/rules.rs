use serde::{Deserialize, Serialize};

/// How a listener reads the paths of its requests. The default refuses whatever is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRules {
    /// `//` is read as `/` (NGINX `merge_slashes`, Envoy `merge_slashes`).
    pub merge_slashes: bool,
    /// `%2F`.
    pub encoded_slash: EncodedSlash,
    /// `\` and `%5C`.
    pub backslash: Backslash,
    /// `/a;x=1`: parameters of a segment.
    pub parameters: PathParameters,
    /// A `..` that has no segment to remove.
    pub above_root: AboveRoot,
    /// A `%` without two hexadecimal digits.
    pub bad_escape: BadEscape,
    /// `%00`.
    pub nul: EncodedNul,
}

/// An encoded slash (Envoy `path_with_escaped_slashes_action`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncodedSlash {
    /// The request is refused.
    Refuse,
    /// A character of its segment.
    Keep,
    /// A slash.
    Decode,
}

/// A backslash, encoded or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backslash {
    /// The request is refused, unless a storage area answers it: files can have it in their names.
    Refuse,
    /// A character of its segment.
    Keep,
    /// A slash, as IIS and browsers have it.
    Slash,
}

/// Parameters of a segment: what follows `;` in it (RFC 3986 section 3.3). Servlet containers leave them out before they
/// compare paths, other servers do not. An encoded semicolon counts, too: some decode first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathParameters {
    /// Rules compare the path without them; the server gets them. `..;` is refused.
    Ignore,
    /// A part of the segment's name.
    Keep,
    /// The request is refused.
    Refuse,
}

/// A `..` that leads above the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AboveRoot {
    /// The request is refused.
    Refuse,
    /// It stays at the root (RFC 3986 section 5.2.4).
    Stay,
}

/// A `%` without two hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadEscape {
    /// The request is refused.
    Refuse,
    /// A character.
    Keep,
}

/// An encoded NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncodedNul {
    /// The request is refused.
    Refuse,
    /// A character.
    Keep,
}

impl Default for PathRules {
    fn default() -> Self {
        Self {
            merge_slashes: true,
            encoded_slash: EncodedSlash::Refuse,
            backslash: Backslash::Refuse,
            parameters: PathParameters::Ignore,
            above_root: AboveRoot::Refuse,
            bad_escape: BadEscape::Refuse,
            nul: EncodedNul::Refuse,
        }
    }
}
