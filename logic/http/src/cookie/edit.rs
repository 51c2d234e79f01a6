use super::pairs::{pair, set_cookie_pair};

/// Ends Weir's part of a value in which a server's follows.
pub const PREFIX_END: u8 = b'~';

/// What becomes of one of a client's cookies on its way to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CookieEdit<'a> {
    /// Nothing.
    #[default]
    Keep,
    /// Every cookie of this name is taken out.
    Remove(&'a [u8]),
    /// Of each value of this name, what stands before the first [`PREFIX_END`] is taken out, and that too.
    Unprefix(&'a [u8]),
}

/// What becomes of the cookies that a server sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetCookieEdit<'a> {
    /// The server's own cookies of this name are dropped; `line` (with its CR LF) is added, or nothing if it is empty.
    Insert {
        /// The cookie.
        name: &'a [u8],
        /// The whole Set-Cookie line.
        line: &'a [u8],
        /// With the line goes the word that no shared cache may keep the response (RFC 9111 section 5.2.2.7).
        no_cache: bool,
    },
    /// The value of the server's cookie of this name becomes `value`.
    Rewrite {
        /// The cookie.
        name: &'a [u8],
        /// What takes its value's place.
        value: &'a [u8],
    },
    /// `value` and [`PREFIX_END`] are put before the value of the server's cookie of this name.
    Prefix {
        /// The cookie.
        name: &'a [u8],
        /// What is put before its value.
        value: &'a [u8],
    },
}

impl CookieEdit<'_> {
    /// Whether lines have to be looked at.
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        !matches!(self, Self::Keep)
    }

    /// Whether a Cookie line's value changes.
    pub(crate) fn changes(&self, line: &[u8]) -> bool {
        line.split(|byte| *byte == b';').any(|part| self.of_part(part) != Part::Kept)
    }

    /// Appends a Cookie line's value as the server gets it: all that is not meant stays byte for byte, in its order. With
    /// a cookie goes the `;` that parted it from the one before, or behind the first the whitespace after it. Nothing is
    /// appended if no cookie is left.
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
                    // `at` counts from the end, which trimming has left alone.
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
                    // Whitespace behind the value is part of the rest.
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
    /// `name=` and this many last bytes.
    From(usize),
}

impl SetCookieEdit<'_> {
    fn name(&self) -> &[u8] {
        match self {
            Self::Insert { name, .. } | Self::Rewrite { name, .. } | Self::Prefix { name, .. } => name,
        }
    }

    /// Whether a server's Set-Cookie line changes.
    pub(crate) fn changes(&self, line: &[u8]) -> bool {
        set_cookie_pair(line).is_some_and(|(name, _)| name == self.name())
    }

    /// Appends what takes the place of the value of a Set-Cookie line that changes; false if the line is dropped.
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
