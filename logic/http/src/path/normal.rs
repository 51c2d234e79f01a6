//! The two normal forms of a path that is not plain.

use std::borrow::Cow;

use super::PathFault;
use super::plain::{is_pchar, is_plain};
use super::rules::{AboveRoot, Backslash, BadEscape, EncodedNul, EncodedSlash, PathParameters, PathRules};

/// A path in its normal forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalPath<'a> {
    /// Path for the server: without dot segments and repeated slashes, otherwise as sent by the client.
    pub forwarded: Cow<'a, [u8]>,
    /// Path that rules compare; `None` = the same as `forwarded`.
    compared: Option<Vec<u8>>,
    /// True if the path has a backslash and the rules refuse it. Only a recipient that treats a backslash as
    /// an ordinary character may get the path.
    pub has_refused_backslash: bool,
}

impl<'a> NormalPath<'a> {
    /// Returns a path that is compared and forwarded as it was sent.
    pub fn as_sent(path: &'a [u8]) -> Self {
        Self { forwarded: Cow::Borrowed(path), compared: None, has_refused_backslash: false }
    }

    /// Returns the path that rules compare. It equals the forwarded path in canonical encoding, without
    /// parameters if these are ignored. Characters that are allowed in a path are decoded; all others are
    /// percent-encoded in upper case.
    pub fn compared(&self) -> &[u8] {
        self.compared.as_deref().unwrap_or(&self.forwarded)
    }

    /// Returns the compared path, if it differs from [`Self::forwarded`].
    pub fn into_compared(self) -> Option<Vec<u8>> {
        self.compared
    }
}

impl PathRules {
    /// Normalises the path of a request target, without its query. Returns a path unchanged if it does not
    /// begin with a slash, such as `*`.
    ///
    /// # Errors
    /// If the path is ambiguous and the rules refuse that.
    pub fn normalize<'a>(&self, path: &'a [u8]) -> Result<NormalPath<'a>, PathFault> {
        if is_plain(path) || path.first() != Some(&b'/') {
            return Ok(NormalPath::as_sent(path));
        }
        let Octets { bytes, has_refused_backslash } = self.octets(path)?;
        let resolved = self.resolve(&bytes)?;
        let compared = Some(self.compared(&resolved)).filter(|compared| *compared != resolved);
        let forwarded = if resolved == path { Cow::Borrowed(path) } else { Cow::Owned(resolved) };
        Ok(NormalPath { forwarded, compared, has_refused_backslash })
    }

    /// Returns the compared form of a path without dot segments.
    fn compared(&self, resolved: &[u8]) -> Vec<u8> {
        let mut named = Vec::with_capacity(resolved.len());
        for segment in resolved.split(|byte| *byte == b'/').skip(1) {
            // A segment with only parameters is an empty segment.
            if !(self.merge_slashes && named.ends_with(b"/")) {
                named.push(b'/');
            }
            named.extend_from_slice(self.compared_name(segment));
        }
        canonical(&named)
    }

    /// Returns the part of a segment that rules compare, in its own encoding.
    pub(crate) fn compared_name<'s>(&self, segment: &'s [u8]) -> &'s [u8] {
        match self.parameters {
            PathParameters::Ignore => before_parameters(segment),
            PathParameters::Keep | PathParameters::Refuse => segment,
        }
    }

    /// Returns the path with all slashes in one spelling, and without bytes that a URI cannot contain.
    fn octets(&self, path: &[u8]) -> Result<Octets, PathFault> {
        let mut octets = Octets { bytes: Vec::with_capacity(path.len() + 8), has_refused_backslash: false };
        let out = &mut octets.bytes;
        let mut at = 0;
        while let Some(&byte) = path.get(at) {
            let escape = if byte == b'%' { unescape(&path[at..]) } else { None };
            let taken = if escape.is_some() { 3 } else { 1 };
            match escape.unwrap_or(byte) {
                b'%' if escape.is_none() && self.bad_escape == BadEscape::Refuse => {
                    return Err(PathFault::BadEscape);
                }
                0 if self.nul == EncodedNul::Refuse => return Err(PathFault::Nul),
                b'/' if escape.is_some() => match self.encoded_slash {
                    EncodedSlash::Refuse => return Err(PathFault::EncodedSlash),
                    EncodedSlash::Keep => out.extend_from_slice(&path[at..at + 3]),
                    EncodedSlash::Decode => out.push(b'/'),
                },
                b'\\' if self.backslash == Backslash::Slash => out.push(b'/'),
                b'\\' => {
                    octets.has_refused_backslash |= self.backslash == Backslash::Refuse;
                    match escape {
                        Some(_) => out.extend_from_slice(&path[at..at + 3]),
                        None => push_escaped(out, byte),
                    }
                }
                0x80.. if escape.is_none() => push_escaped(out, byte),
                _ => out.extend_from_slice(&path[at..at + taken]),
            }
            at += taken;
        }
        Ok(octets)
    }

    /// Removes dot segments (RFC 3986 section 5.2.4) and, if the rules merge slashes, empty segments.
    fn resolve(&self, path: &[u8]) -> Result<Vec<u8>, PathFault> {
        let mut out = Vec::with_capacity(path.len());
        let mut segments = path.split(|byte| *byte == b'/').skip(1).peekable();
        while let Some(segment) = segments.next() {
            let is_last = segments.peek().is_none();
            match self.kind(segment)? {
                Segment::Named => {
                    out.push(b'/');
                    out.extend_from_slice(segment);
                    continue;
                }
                Segment::Empty if !is_last && !self.merge_slashes => out.push(b'/'),
                Segment::Empty | Segment::Current => {}
                Segment::Parent => match out.iter().rposition(|byte| *byte == b'/') {
                    // A server that removes parameters first would have an empty segment here and would go up
                    // one level more.
                    Some(slash) if self.has_only_parameters(&out[slash + 1..]) => {
                        return Err(PathFault::Parameters);
                    }
                    Some(slash) => out.truncate(slash),
                    None if self.above_root == AboveRoot::Refuse => return Err(PathFault::AboveRoot),
                    None => {}
                },
            }
            // A path that ends in such a segment refers to a collection.
            if is_last {
                out.push(b'/');
            }
        }
        Ok(out)
    }

    fn has_only_parameters(&self, segment: &[u8]) -> bool {
        self.parameters != PathParameters::Keep
            && !segment.is_empty()
            && before_parameters(segment).is_empty()
    }

    fn kind(&self, segment: &[u8]) -> Result<Segment, PathFault> {
        if self.parameters == PathParameters::Keep {
            return Ok(Segment::of(segment));
        }
        let name = before_parameters(segment);
        match Segment::of(name) {
            kind if name.len() == segment.len() => Ok(kind),
            _ if self.parameters == PathParameters::Refuse => Err(PathFault::Parameters),
            Segment::Current | Segment::Parent => Err(PathFault::Parameters),
            Segment::Named | Segment::Empty => Ok(Segment::Named),
        }
    }
}

/// Returns the segment up to the first semicolon, encoded or not, because a server may decode a path before
/// it removes parameters.
fn before_parameters(segment: &[u8]) -> &[u8] {
    let is_semicolon = |at: &usize| match segment[*at..] {
        [b';', ..] => true,
        [b'%', b'3', low, ..] => low.eq_ignore_ascii_case(&b'b'),
        _ => false,
    };
    let end = (0..segment.len()).find(is_semicolon);
    &segment[..end.unwrap_or(segment.len())]
}

struct Octets {
    bytes: Vec<u8>,
    has_refused_backslash: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Segment {
    Named,
    Empty,
    /// `.`
    Current,
    /// `..`
    Parent,
}

impl Segment {
    /// Classifies a segment by its name, which may be encoded.
    fn of(name: &[u8]) -> Self {
        if name.is_empty() {
            return Self::Empty;
        }
        let mut dots = 0;
        let mut rest = name;
        while !rest.is_empty() {
            rest = match rest {
                [b'.', rest @ ..] => rest,
                [b'%', b'2', b'e' | b'E', rest @ ..] => rest,
                _ => return Self::Named,
            };
            dots += 1;
        }
        match dots {
            1 => Self::Current,
            2 => Self::Parent,
            _ => Self::Named,
        }
    }
}

/// Converts a path to canonical encoding. A `%` without two hexadecimal digits is an ordinary character.
pub(crate) fn canonical(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len() + 8);
    let mut at = 0;
    while let Some(&byte) = path.get(at) {
        let escape = if byte == b'%' { unescape(&path[at..]) } else { None };
        match escape {
            Some(decoded) if is_pchar(decoded) => out.push(decoded),
            Some(decoded) => push_escaped(&mut out, decoded),
            None if byte == b'/' || is_pchar(byte) => out.push(byte),
            None => push_escaped(&mut out, byte),
        }
        at += if escape.is_some() { 3 } else { 1 };
    }
    out
}

/// Decodes the escape at the start of a text that begins with `%`.
fn unescape(text: &[u8]) -> Option<u8> {
    let &[_, high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

pub(super) fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}
