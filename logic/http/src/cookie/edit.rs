//! Edits of Cookie and Set-Cookie lines for sticky sessions.

use super::pairs::{pair, set_cookie_pair};

/// Separator between Weir's prefix and the server's own value in a cookie.
pub const PREFIX_END: u8 = b'~';

/// The edit of a client's cookie before the request goes to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CookieEdit<'a> {
    /// No change.
    #[default]
    Keep,
    /// Removes every cookie with this name.
    Remove(&'a [u8]),
    /// Removes Weir's prefix, up to and including the first [`PREFIX_END`], from each value of this name.
    Unprefix(&'a [u8]),
}

/// The edit of the cookies that a server sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetCookieEdit<'a> {
    /// Drops the server's cookies of this name and adds `line` (with its CR LF); an empty `line` adds
    /// nothing.
    Insert {
        /// Name of the cookie.
        name: &'a [u8],
        /// Complete Set-Cookie line.
        line: &'a [u8],
        /// True if the response must also forbid shared caches to store it (RFC 9111 section 5.2.2.7).
        no_cache: bool,
    },
    /// Replaces the value of the server's cookie of this name with `value`.
    Rewrite {
        /// Name of the cookie.
        name: &'a [u8],
        /// New value.
        value: &'a [u8],
    },
    /// Puts `value` and [`PREFIX_END`] before the value of the server's cookie of this name.
    Prefix {
        /// Name of the cookie.
        name: &'a [u8],
        /// Prefix without the separator.
        value: &'a [u8],
    },
}

impl CookieEdit<'_> {
    /// Returns true if Cookie lines may need an edit.
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        !matches!(self, Self::Keep)
    }

    /// Returns true if the edit changes the value of a Cookie line.
    pub(crate) fn changes(&self, line: &[u8]) -> bool {
        line.split(|byte| *byte == b';').any(|part| self.of_part(part) != Part::Kept)
    }

    /// Appends the edited value of a Cookie line. All other cookies keep their bytes and their order. A
    /// removed cookie loses the `;` before it; the first one loses the `;` and the whitespace after it
    /// instead. Appends nothing if no cookie remains.
    pub(crate) fn append(&self, out: &mut Vec<u8>, line: &[u8]) {
        let start = out.len();
        let mut is_first = true;
        for (index, part) in line.split(|byte| *byte == b';').enumerate() {
            let edited = self.of_part(part);
            if edited == Part::Removed {
                continue;
            }
            if !is_first {
                out.push(b';');
            }
            let moves_up = is_first && index > 0;
            let part = if moves_up { part.trim_ascii_start() } else { part };
            is_first = false;
            match edited {
                Part::From(at) => {
                    let equals = part.iter().position(|byte| *byte == b'=').unwrap_or(0);
                    // `at` counts from the end, which the trimming has not changed.
                    out.extend_from_slice(&part[..=equals]);
                    out.extend_from_slice(&part[part.len() - at..]);
                }
                Part::Kept | Part::Removed => out.extend_from_slice(part),
            }
        }
        if out[start..].iter().all(|byte| matches!(byte, b';' | b' ' | b'\t')) {
            out.truncate(start);
        }
    }

    fn of_part(&self, part: &[u8]) -> Part {
        let (Self::Remove(wanted) | Self::Unprefix(wanted)) = self else { return Part::Kept };
        match pair(part) {
            Some((name, _)) if name != *wanted => Part::Kept,
            None => Part::Kept,
            Some(_) if matches!(self, Self::Remove(_)) => Part::Removed,
            Some((_, value)) => match value.iter().position(|byte| *byte == PREFIX_END) {
                Some(end) => {
                    // The rest includes whitespace after the value.
                    let behind = part.len() - part.trim_ascii_end().len();
                    Part::From(value.len() - end - 1 + behind)
                }
                None => Part::Kept,
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Kept,
    Removed,
    /// `name=`, then this number of last bytes.
    From(usize),
}

impl SetCookieEdit<'_> {
    fn name(&self) -> &[u8] {
        match self {
            Self::Insert { name, .. } | Self::Rewrite { name, .. } | Self::Prefix { name, .. } => name,
        }
    }

    /// Returns true if the edit changes a Set-Cookie line of the server.
    pub(crate) fn changes(&self, line: &[u8]) -> bool {
        set_cookie_pair(line).is_some_and(|(name, _)| name == self.name())
    }

    /// Appends the new value of a changed Set-Cookie line; returns false if the line is dropped.
    pub(crate) fn append(&self, out: &mut Vec<u8>, line: &[u8]) -> bool {
        let (own, keeps_value) = match self {
            Self::Insert { .. } => return false,
            Self::Rewrite { value, .. } => (value, false),
            Self::Prefix { value, .. } => (value, true),
        };
        let end = line.iter().position(|byte| *byte == b';').unwrap_or(line.len());
        let equals = line.iter().position(|byte| *byte == b'=').unwrap_or(0);
        out.extend_from_slice(&line[..=equals]);
        out.extend_from_slice(own);
        if keeps_value {
            out.push(PREFIX_END);
            out.extend_from_slice(line[equals + 1..end].trim_ascii_start());
        }
        out.extend_from_slice(&line[end..]);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(edit: CookieEdit<'_>, line: &str) -> String {
        let mut out = Vec::new();
        edit.append(&mut out, line.as_bytes());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_cookie_is_taken_out_and_the_others_stay_byte_for_byte() {
        let remove = |line| edited(CookieEdit::Remove(b"SRV"), line);
        assert_eq!(remove("SRV=a"), "");
        assert_eq!(remove("SRV=a; b=2"), "b=2");
        assert_eq!(remove("a=1; SRV=x; b=2"), "a=1; b=2");
        assert_eq!(remove("a=1;SRV=x;b=\"2 3\""), "a=1;b=\"2 3\"");
        assert_eq!(remove("a=1;  SRV=x"), "a=1");
        assert_eq!(remove("SRV=x;SRV=y;"), "");
        assert_eq!(remove(" SRV = x ;  odd; =; a=1"), "odd; =; a=1");
        assert_eq!(remove("SRVX=1; srv=2; XSRV=3; v=SRV=4"), "SRVX=1; srv=2; XSRV=3; v=SRV=4");
        assert_eq!(remove("SRV"), "SRV", "without = it is no cookie of that name");
    }

    #[test]
    fn a_prefix_is_taken_off_and_the_server_gets_its_own_value() {
        let unprefix = |line| edited(CookieEdit::Unprefix(b"SID"), line);
        assert_eq!(unprefix("SID=w1~abc"), "SID=abc");
        assert_eq!(unprefix("a=1; SID=w1~a~c ; b=x~y"), "a=1; SID=a~c ; b=x~y");
        assert_eq!(unprefix("SID=abc"), "SID=abc");
        assert_eq!(unprefix("SID= w1~ abc"), "SID= abc");
        assert_eq!(unprefix("SID=~"), "SID=");
    }

    #[test]
    fn only_lines_with_the_cookie_change() {
        assert!(CookieEdit::Remove(b"SRV").changes(b"a=1; SRV=2"));
        assert!(!CookieEdit::Remove(b"SRV").changes(b"a=1"));
        assert!(!CookieEdit::Unprefix(b"SRV").changes(b"SRV=2"));
        assert!(!CookieEdit::Keep.changes(b"SRV=2"));
    }

    #[test]
    fn a_servers_cookie_is_given_weirs_value() {
        let mut out = Vec::new();
        let rewrite = SetCookieEdit::Rewrite { name: b"SID", value: b"w1" };
        assert!(rewrite.changes(b"SID=abc; Path=/") && !rewrite.changes(b"sid=abc"));
        assert!(rewrite.append(&mut out, b"SID=abc; Path=/"));
        assert_eq!(out, b"SID=w1; Path=/");
        out.clear();
        assert!(SetCookieEdit::Prefix { name: b"SID", value: b"w1" }.append(&mut out, b"SID=abc; Path=/"));
        assert_eq!(out, b"SID=w1~abc; Path=/");
        assert!(
            !SetCookieEdit::Insert { name: b"SID", line: b"", no_cache: false }.append(&mut out, b"SID=1")
        );
    }
}
