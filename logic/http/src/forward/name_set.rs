use crate::KnownHeader;
use crate::head::fold_for_cgi;

/// How names begin that are [`KnownHeader::XAccel`].
const ACCEL: [&[u8]; 2] = [b"x-accel-", b"x-sendfile"];

/// A set of field names, some of them ends with `*`, made to say no fast.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameSet {
    /// Known names in the set.
    pub(crate) known: u64,
    /// First characters of the other names and of all patterns, as bits of their lower five bits.
    first: u32,
    names: Vec<Box<[u8]>>,
    prefixes: Vec<Box<[u8]>>,
    /// Names are compared as CGI programs see them ([`fold_for_cgi`]).
    as_cgi: bool,
}

impl NameSet {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A set that also has the other spellings of its names that CGI programs cannot tell from them.
    pub(crate) fn of_cgi_names() -> Self {
        Self { as_cgi: true, ..Self::default() }
    }

    /// Adds a name, or with a trailing `*` every name that begins so.
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

    /// Adds all that is in `other`.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (names, end) in [(&other.names, ""), (&other.prefixes, "*")] {
            for name in names {
                self.add(&format!("{}{end}", String::from_utf8_lossy(name)));
            }
        }
    }

    /// Whether there are names that only [`Self::has_other`] tells.
    #[inline]
    pub(crate) fn has_others(&self) -> bool {
        self.first != 0
    }

    /// Whether a name is in the set, by itself or by a pattern.
    #[inline]
    pub(crate) fn has_other(&self, name: &[u8]) -> bool {
        match name.first() {
            Some(first) if self.first >> (self.fold(*first) & 31) & 1 != 0 => self.search(name),
            _ => false,
        }
    }

    /// Whether a name that begins so, and is longer, may be in the set.
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
