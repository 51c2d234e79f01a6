//! Checks for patterns that no normalised path can match, because a rule with such a pattern would never
//! apply.

use std::fmt;

use super::PathFault;
use super::rules::{EncodedSlash, PathParameters, PathRules};
use crate::PathPattern;

/// The reason why a pattern matches no path under a listener's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternFault {
    /// Requests with such a path are refused.
    Refused(PathFault),
    /// The pattern has dot segments or repeated slashes; holds the resolved path.
    Unresolved(String),
    /// The pattern is a glob with dot segments or repeated slashes.
    UnresolvedGlob,
    /// The pattern has parameters or an encoded semicolon, which are removed before paths are compared.
    Parameters,
    /// The pattern has an encoded slash, which is decoded before paths are compared.
    DecodedSlash,
}

/// Checks that some path can match a pattern on a listener with these rules.
///
/// # Errors
/// If certainly no path can match.
pub fn check_pattern(pattern: &PathPattern, rules: &PathRules) -> Result<(), PatternFault> {
    let (text, is_glob) = match pattern {
        PathPattern::Exact(text) | PathPattern::Prefix(text) => (text.as_str(), false),
        PathPattern::Glob(text) => (text.as_str(), true),
    };
    let has_semicolon = text.contains(';') || text.to_ascii_uppercase().contains("%3B");
    if has_semicolon && rules.parameters != PathParameters::Keep {
        return Err(match rules.parameters {
            PathParameters::Refuse => PatternFault::Refused(PathFault::Parameters),
            PathParameters::Ignore | PathParameters::Keep => PatternFault::Parameters,
        });
    }
    if rules.encoded_slash == EncodedSlash::Decode && text.to_ascii_uppercase().contains("%2F") {
        return Err(PatternFault::DecodedSlash);
    }
    if is_glob {
        return check_glob(text, rules);
    }
    let normal = rules.normalize(text.as_bytes()).map_err(PatternFault::Refused)?;
    match normal.forwarded {
        forwarded if *forwarded == *text.as_bytes() => Ok(()),
        forwarded => Err(PatternFault::Unresolved(String::from_utf8_lossy(&forwarded).into_owned())),
    }
}

fn check_glob(glob: &str, rules: &PathRules) -> Result<(), PatternFault> {
    let has = |part: &str| glob.contains(part);
    let ends = |part: &str| glob.ends_with(part);
    if has("/./") || has("/../") || ends("/.") || ends("/..") || (rules.merge_slashes && has("//")) {
        return Err(PatternFault::UnresolvedGlob);
    }
    if rules.encoded_slash == EncodedSlash::Refuse && glob.to_ascii_uppercase().contains("%2F") {
        return Err(PatternFault::Refused(PathFault::EncodedSlash));
    }
    Ok(())
}

impl fmt::Display for PatternFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(fault) => write!(f, "requests like this are refused: {fault}"),
            Self::Unresolved(path) => {
                write!(
                    f,
                    "dot segments and repeated slashes are resolved before paths are compared: write {path:?}"
                )
            }
            Self::UnresolvedGlob => {
                f.write_str("dot segments and repeated slashes are resolved before paths are compared")
            }
            Self::Parameters => f.write_str(
                "parameters (what follows ; or %3B in a segment) are left out before paths are compared",
            ),
            Self::DecodedSlash => {
                f.write_str("an encoded slash is decoded before paths are compared: write /")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_no_request_can_match_is_told_with_what_to_write() {
        let rules = PathRules::default();
        let says = |pattern| check_pattern(&pattern, &rules).map_err(|fault| fault.to_string());
        let prefix = |text: &str| says(PathPattern::Prefix(text.to_owned()));
        let glob = |text: &str| says(PathPattern::Glob(text.to_owned()));
        for path in ["/", "/a", "/a/", "/%61", "/a%20b", "/caf%c3%a9", "/.well-known/x", "/a...b/..c"] {
            assert_eq!(prefix(path), Ok(()), "{path}");
        }
        assert_eq!(says(PathPattern::Exact("*".to_owned())), Ok(()));
        for path in ["**", "/a/*.png", "/.git/**", "/*/..c"] {
            assert_eq!(glob(path), Ok(()), "{path}");
        }
        assert!(prefix("//a").unwrap_err().ends_with("write \"/a\""));
        assert!(prefix("/x/../a/").unwrap_err().ends_with("write \"/a/\""));
        assert!(prefix("/a;b").unwrap_err().starts_with("parameters"));
        assert!(prefix("/a%3bb").unwrap_err().starts_with("parameters"));
        assert!(prefix("/a%2fb").unwrap_err().contains("encoded slash"));
        assert!(prefix("/a%00").unwrap_err().contains("NUL"));
        assert!(glob("/*//b").is_err() && glob("/*/../b").is_err() && glob("/*%2Fb").is_err());
        let decode = PathRules { encoded_slash: EncodedSlash::Decode, ..rules };
        assert!(check_pattern(&PathPattern::Glob("/*%2Fb".to_owned()), &decode).is_err());
        let separate = PathRules { merge_slashes: false, parameters: PathParameters::Keep, ..rules };
        assert_eq!(check_pattern(&PathPattern::Prefix("//a;b".to_owned()), &separate), Ok(()));
    }
}
