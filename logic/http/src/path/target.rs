//! Normalisation of a whole request target.

use std::borrow::Cow;

use super::normal::push_escaped;
use super::plain::is_plain;
use super::{PathFault, PathRules};
use crate::{RequestHead, TargetForm};

/// The result of the normalisation of a request target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalTarget {
    /// Target that replaces the client's; `None` = unchanged.
    pub rewritten: Option<Vec<u8>>,
    /// Path that rules compare; `None` = the path of the target.
    pub compared: Option<Vec<u8>>,
    /// Same as in [`super::NormalPath`].
    pub has_refused_backslash: bool,
}

impl NormalTarget {
    /// Result for an unchanged target.
    pub const AS_SENT: Self = Self { rewritten: None, compared: None, has_refused_backslash: false };

    /// Normalises the target of a head in its buffer. Without `rules`, paths are compared and forwarded as
    /// sent, except for bytes from 0x80. These are always encoded, because no target may contain them (RFC
    /// 3986 section 2).
    ///
    /// # Errors
    /// The same as [`PathRules::normalize`].
    #[inline]
    pub fn of(buf: &[u8], head: &RequestHead, rules: Option<&PathRules>) -> Result<Self, PathFault> {
        let is_ascii = head.target.query.is_none_or(|query| query.of(buf).is_ascii());
        if is_ascii && is_plain(head.target.path.of(buf)) {
            return Ok(Self::AS_SENT);
        }
        Self::of_any(buf, head, rules)
    }

    fn of_any(buf: &[u8], head: &RequestHead, rules: Option<&PathRules>) -> Result<Self, PathFault> {
        let target = &head.target;
        if matches!(target.form, TargetForm::Authority | TargetForm::Asterisk) {
            return Ok(Self::AS_SENT);
        }
        let sent = target.path.of(buf);
        let (path, compared, has_refused_backslash) = match rules {
            Some(rules) => {
                let normal = rules.normalize(sent)?;
                let has_refused_backslash = normal.has_refused_backslash;
                (normal.forwarded.clone(), normal.into_compared(), has_refused_backslash)
            }
            None => (ascii(sent), None, false),
        };
        let query = target.query.map(|query| ascii(query.of(buf)));
        let stays = matches!(path, Cow::Borrowed(_)) && matches!(query, None | Some(Cow::Borrowed(_)));
        let rewritten = (!stays).then(|| {
            let before = &buf[target.span.start as usize..target.path.start as usize];
            let mut rewritten = [before, &path].concat();
            if let Some(query) = query {
                rewritten.push(b'?');
                rewritten.extend_from_slice(&query);
            }
            rewritten
        });
        Ok(Self { rewritten, compared, has_refused_backslash })
    }

    /// Returns the received bytes of a request with `target` in place of its target.
    pub fn replace(buf: &[u8], head: &RequestHead, target: &[u8]) -> Vec<u8> {
        let span = head.target.span;
        [&buf[..span.start as usize], target, &buf[span.end as usize..]].concat()
    }
}

/// Percent-encodes the bytes from 0x80.
fn ascii(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() * 2);
    for byte in text {
        match byte {
            0x80.. => push_escaped(&mut out, *byte),
            byte => out.push(*byte),
        }
    }
    Cow::Owned(out)
}
