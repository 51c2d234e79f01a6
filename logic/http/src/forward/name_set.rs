//! A set of header names and prefixes.

use crate::KnownHeader;
use crate::head::fold_for_cgi;

/// Prefixes of the headers in [`KnownHeader::XAccel`].
const ACCEL: [&[u8]; 2] = [b"x-accel-", b"x-sendfile"];

/// A set of header names and of prefixes with a trailing `*`, optimised for names that it does not contain.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameSet {
    /// Known headers in the set.
    pub(crate) known: u64,
    /// First characters of the other names and of all prefixes: one bit for the lower five bits of each.
    first: u32,
    names: Vec<Box<[u8]>>,
    prefixes: Vec<Box<[u8]>>,
    /// True if names are compared as CGI programs see them ([`fold_for_cgi`]).
    as_cgi: bool,
}

impl NameSet {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Creates an empty set that also contains every spelling that CGI programs cannot distinguish from a
    /// name in it.
    pub(crate) fn of_cgi_names() -> Self {
        Self { as_cgi: true, ..Self::default() }
    }

    /// Adds a name, or every name with this prefix if it ends in `*`.
    pub(crate) fn add(&mut self, name: &str) {
        let (name, is_prefix) = match name.strip_suffix('*') {
            Some(start) => (start, true),
            None => (name, false),
        };
        let folded: Box<[u8]> = name.bytes().map(|b| self.fold(b)).collect();
        match (is_prefix, folded.first()) {
            (true, None) => self.first = u32::MAX,
            (_, None) => return,
            (_, Some(first)) => self.first |= 1 << (first & 31),
        }
        if is_prefix {
            for (known, text) in crate::head::KNOWN {
                if text.as_bytes().starts_with(&folded) {
                    self.known |= known.bit();
                }
            }
            if folded.starts_with(b"x-forwarded-") || b"x-forwarded-".starts_with(&folded) {
                self.known |= KnownHeader::XForwardedOther.bit();
            }
            if ACCEL.iter().any(|start| folded.starts_with(start) || start.starts_with(&folded)) {
                self.known |= KnownHeader::XAccel.bit();
            }
            self.prefixes.push(folded);
        } else {
            self.known |= KnownHeader::of_name(&folded).bit() & !KnownHeader::Other.bit();
            self.names.push(folded);
        }
    }

    /// Adds all names and prefixes of `other`.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (names, end) in [(&other.names, ""), (&other.prefixes, "*")] {
            for name in names {
                self.add(&format!("{}{end}", String::from_utf8_lossy(name)));
            }
        }
    }

    /// Returns true if [`Self::has_other`] can find a name.
    #[inline]
    pub(crate) fn has_others(&self) -> bool {
        self.first != 0
    }

    /// Returns true if the set contains a name, by itself or by a prefix.
    #[inline]
    pub(crate) fn has_other(&self, name: &[u8]) -> bool {
        match name.first() {
            Some(first) if self.first >> (self.fold(*first) & 31) & 1 != 0 => self.search(name),
            _ => false,
        }
    }

    /// Returns true if the set may contain a longer name that begins with `start`.
    pub(crate) fn may_have(&self, start: &[u8]) -> bool {
        let alike = |other: &[u8]| self.begins(start, &other[..other.len().min(start.len())]);
        self.names.iter().any(|name| name.len() > start.len() && alike(name))
            || self.prefixes.iter().any(|prefix| alike(prefix))
    }

    fn search(&self, name: &[u8]) -> bool {
        self.names.iter().any(|n| n.len() == name.len() && self.begins(name, n))
            || self.prefixes.iter().any(|p| self.begins(name, p))
    }

    fn begins(&self, name: &[u8], start: &[u8]) -> bool {
        name.len() >= start.len() && name.iter().zip(start).all(|(n, s)| self.fold(*n) == *s)
    }

    fn fold(&self, byte: u8) -> u8 {
        if self.as_cgi { fold_for_cgi(byte) } else { byte.to_ascii_lowercase() }
    }
}
