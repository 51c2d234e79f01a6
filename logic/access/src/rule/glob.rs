//! Ant-style path patterns: `?` matches one character, `*` any characters within a component, and `**` any
//! number of components.

use std::fmt;

use crate::AccessPath;

/// A path pattern, relative to the root of a storage area. `/raw/**` matches `/raw` and everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathGlob {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `**`
    Any,
    /// One component, which may contain `*` and `?`.
    One(String),
}

/// Reason why a text is not a valid pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobError {
    /// The pattern does not begin with `/`.
    NotAbsolute,
    /// The pattern is longer than [`PathGlob::BYTES_MAX`].
    TooLong,
    /// The pattern has more than [`PathGlob::ANY_MAX`] times `**`.
    TooManyAny,
    /// A component contains `**` and other characters.
    AnyWithinComponent,
    /// The pattern contains `{`; variables and alternatives are not supported.
    Braces,
    /// A component is `.` or `..`.
    Dots,
}

impl PathGlob {
    /// Maximum length of a pattern, in bytes.
    pub const BYTES_MAX: usize = 4096;
    /// Maximum number of `**`. Each one adds work to every match.
    pub const ANY_MAX: usize = 8;

    /// Parses a pattern and ignores a trailing slash.
    ///
    /// # Errors
    /// If the text is not a valid pattern.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        if text.len() > Self::BYTES_MAX {
            return Err(GlobError::TooLong);
        }
        let inner = text.strip_prefix('/').ok_or(GlobError::NotAbsolute)?;
        let mut parts = Vec::new();
        for component in inner.split('/').filter(|component| !component.is_empty()) {
            match component {
                "**" if parts.last() == Some(&Part::Any) => {}
                "**" => parts.push(Part::Any),
                "." | ".." => return Err(GlobError::Dots),
                _ if component.contains("**") => return Err(GlobError::AnyWithinComponent),
                _ if component.contains('{') => return Err(GlobError::Braces),
                _ => parts.push(Part::One(component.to_owned())),
            }
        }
        if parts.iter().filter(|part| **part == Part::Any).count() > Self::ANY_MAX {
            return Err(GlobError::TooManyAny);
        }
        Ok(Self { parts })
    }

    /// Returns the pattern `/**`.
    pub fn everything() -> Self {
        Self { parts: vec![Part::Any] }
    }

    /// Returns true if the pattern matches a path, relative to the area's root.
    pub fn fits(&self, path: &AccessPath) -> bool {
        self.run(path.components()).whole
    }

    /// Returns true if the pattern could match something below the path.
    pub fn may_fit_below(&self, path: &AccessPath) -> bool {
        self.run(path.components()).below
    }

    /// Returns true if the pattern matches the path and everything that could be below it. It may return
    /// false although it does, but never true if it does not.
    pub(super) fn fits_all_below(&self, path: &AccessPath) -> bool {
        self.run(path.components()).all_below
    }

    /// Runs the pattern as a nondeterministic automaton. Its states are the positions between the pattern's
    /// parts. After each component, `places` marks the reachable states. The cost is linear in parts times
    /// components.
    fn run(&self, components: &[String]) -> Reached {
        let mut places = vec![false; self.parts.len() + 1];
        places[0] = true;
        self.skip_any(&mut places);
        for component in components {
            let mut next = vec![false; places.len()];
            for (at, part) in self.parts.iter().enumerate().filter(|(at, _)| places[*at]) {
                match part {
                    Part::Any => next[at] = true,
                    Part::One(pattern) => next[at + 1] |= component_fits(pattern, component),
                }
            }
            self.skip_any(&mut next);
            places = next;
        }
        let below = places[..self.parts.len()].contains(&true);
        let at_last = self.parts.len().checked_sub(1).is_some_and(|last| places[last]);
        let all_below = at_last && self.parts.last() == Some(&Part::Any);
        Reached { whole: places[self.parts.len()], below, all_below }
    }

    /// Marks the states after each reachable `**`, because `**` may match no component.
    fn skip_any(&self, places: &mut [bool]) {
        for (at, part) in self.parts.iter().enumerate() {
            if places[at] && *part == Part::Any {
                places[at + 1] = true;
            }
        }
    }

    /// Writes the pattern as reasons show it, below the area's access point.
    pub(super) fn describe(&self, base: &AccessPath, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |parts: &[Part]| {
            parts.iter().all(|part| matches!(part, Part::One(text) if !text.contains(['*', '?'])))
        };
        match self.parts.split_last() {
            Some((Part::Any, [])) => write!(f, "below {}", Trimmed(base)),
            Some((Part::Any, front)) if plain(front) => {
                write!(f, "below {}", Trimmed(base))?;
                front.iter().try_for_each(|part| write!(f, "{part}"))
            }
            _ => {
                write!(f, "on {}", Trimmed(base))?;
                self.parts.iter().try_for_each(|part| write!(f, "{part}"))
            }
        }
    }
}

struct Reached {
    whole: bool,
    below: bool,
    all_below: bool,
}

/// Shows a path without a trailing slash.
struct Trimmed<'a>(&'a AccessPath);

impl fmt::Display for Trimmed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.components().iter().try_for_each(|component| write!(f, "/{component}"))
    }
}

/// Matches `*` and `?` within one component. On a mismatch, it returns to the last `*` and lets it match one
/// more character.
fn component_fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                None => return false,
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("/**"),
            Self::One(text) => write!(f, "/{text}"),
        }
    }
}

impl fmt::Display for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parts.is_empty() {
            return f.write_str("/");
        }
        self.parts.iter().try_for_each(|part| write!(f, "{part}"))
    }
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAbsolute => f.write_str("a path pattern begins with /"),
            Self::TooLong => write!(f, "longer than {} bytes", PathGlob::BYTES_MAX),
            Self::TooManyAny => write!(f, "** more than {} times", PathGlob::ANY_MAX),
            Self::AnyWithinComponent => f.write_str("** stands for whole components: /a/**/b"),
            Self::Braces => f.write_str("{...} is not known in path patterns"),
            Self::Dots => f.write_str("a path pattern has no component . or .."),
        }
    }
}

impl std::error::Error for GlobError {}
