//! The target of a request, normalised as a whole.

use std::borrow::Cow;

use super::normal::push_escaped;
use super::plain::is_plain;
use super::{PathFault, PathRules};
use crate::{RequestHead, TargetForm};

/// What becomes of the target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalTarget {
    /// The target that takes the place of the client's; `None` = it stays as it was sent.
    pub rewritten: Option<Vec<u8>>,
    /// The path that rules compare; `None` = that of the target.
    pub compared: Option<Vec<u8>>,
    /// As in [`super::NormalPath`].
    pub has_refused_backslash: bool,
}

impl NormalTarget {
    /// Nothing changes.
    pub const AS_SENT: Self = Self { rewritten: None, compared: None, has_refused_backslash: false };

    /// Of a head in its buffer. Without `rules` paths are compared, and go to servers, as they were sent; but for bytes
    /// from 0x80 on, which no target can have (RFC 3986 section 2): these are always encoded.
    ///
    /// # Errors
    /// As [`PathRules::normalize`].
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

    /// What has been read of a request, with `target` in the place of its target.
    pub fn replace(buf: &[u8], head: &RequestHead, target: &[u8]) -> Vec<u8> {
        let span = head.target.span;
        [&buf[..span.start as usize], target, &buf[span.end as usize..]].concat()
    }
}

/// Text with its bytes from 0x80 on encoded.
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
