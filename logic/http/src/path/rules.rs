//! The configuration of path normalisation.

use serde::{Deserialize, Serialize};

/// The rules by which a listener normalises request paths. The default refuses every ambiguous path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRules {
    /// True to read `//` as `/` (NGINX `merge_slashes`, Envoy `merge_slashes`).
    pub merge_slashes: bool,
    /// Treatment of `%2F`.
    pub encoded_slash: EncodedSlash,
    /// Treatment of `\` and `%5C`.
    pub backslash: Backslash,
    /// Treatment of segment parameters, such as `/a;x=1`.
    pub parameters: PathParameters,
    /// Treatment of a `..` without a segment to remove.
    pub above_root: AboveRoot,
    /// Treatment of a `%` without two hexadecimal digits.
    pub bad_escape: BadEscape,
    /// Treatment of `%00`.
    pub nul: EncodedNul,
}

/// The treatment of an encoded slash (Envoy `path_with_escaped_slashes_action`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncodedSlash {
    /// Refuses the request.
    Refuse,
    /// Treats it as an ordinary character of the segment.
    Keep,
    /// Treats it as a slash.
    Decode,
}

/// The treatment of a backslash, encoded or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backslash {
    /// Refuses the request, unless a storage area handles it: file names may contain backslashes.
    Refuse,
    /// Treats it as an ordinary character of the segment.
    Keep,
    /// Treats it as a slash, as IIS and browsers do.
    Slash,
}

/// The treatment of segment parameters, which follow a `;` (RFC 3986 section 3.3). Servlet containers remove
/// them before they compare paths; other servers do not. An encoded semicolon counts, too, because some
/// servers decode first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathParameters {
    /// Ignores them in rules, but forwards them to the server. Refuses `..;`.
    Ignore,
    /// Treats them as a part of the segment's name.
    Keep,
    /// Refuses the request.
    Refuse,
}

/// The treatment of a `..` that leads above the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AboveRoot {
    /// Refuses the request.
    Refuse,
    /// Stays at the root (RFC 3986 section 5.2.4).
    Stay,
}

/// The treatment of a `%` without two hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadEscape {
    /// Refuses the request.
    Refuse,
    /// Treats it as an ordinary character.
    Keep,
}

/// The treatment of an encoded NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncodedNul {
    /// Refuses the request.
    Refuse,
    /// Treats it as an ordinary character.
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
