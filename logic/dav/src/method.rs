//! The supported methods, and the Allow and DAV headers (RFC 9110 section 9, RFC 4918 section 9).

use std::fmt;

/// A method that the service implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// RFC 9110 section 9.3.7
    Options,
    /// RFC 9110 section 9.3.1
    Get,
    /// RFC 9110 section 9.3.2
    Head,
    /// RFC 9110 section 9.3.4
    Put,
    /// RFC 5789; writes a part of a file in the format of [`crate::range::PARTIAL_UPDATE`]
    Patch,
    /// RFC 9110 section 9.3.5, RFC 4918 section 9.6
    Delete,
    /// RFC 4918 section 9.1
    Propfind,
    /// RFC 4918 section 9.2
    Proppatch,
    /// RFC 4918 section 9.3
    Mkcol,
    /// RFC 4918 section 9.8
    Copy,
    /// RFC 4918 section 9.9
    Move,
    /// RFC 4918 section 9.10
    Lock,
    /// RFC 4918 section 9.11
    Unlock,
}

impl Method {
    /// Every method, in the order of the Allow header.
    pub const ALL: [Self; 13] = [
        Self::Options,
        Self::Get,
        Self::Head,
        Self::Put,
        Self::Patch,
        Self::Delete,
        Self::Propfind,
        Self::Proppatch,
        Self::Mkcol,
        Self::Copy,
        Self::Move,
        Self::Lock,
        Self::Unlock,
    ];

    /// Parses a method name; case matters (RFC 9110 section 9.1). The response to `None` is 501, except for
    /// POST: 405, because it is a known method that no resource allows.
    pub fn parse(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str().as_bytes() == name)
    }

    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Options => "OPTIONS",
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Propfind => "PROPFIND",
            Self::Proppatch => "PROPPATCH",
            Self::Mkcol => "MKCOL",
            Self::Copy => "COPY",
            Self::Move => "MOVE",
            Self::Lock => "LOCK",
            Self::Unlock => "UNLOCK",
        }
    }

    /// Returns true if the method changes nothing (RFC 9110 section 9.2.1, RFC 4918 section 9.1).
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::Options | Self::Get | Self::Head | Self::Propfind)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The kind of resource at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing exists at the path (an unmapped URL in RFC 4918).
    Missing,
    /// A file.
    File,
    /// A directory.
    Collection,
}

/// The capabilities of a storage area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// True if only methods that change nothing are allowed.
    pub read_only: bool,
    /// True if locks are offered (RFC 4918 section 6).
    pub locks: bool,
}

impl Offer {
    /// Returns true if a resource of this kind accepts `method`.
    pub const fn allows(self, method: Method, kind: Kind) -> bool {
        if self.read_only && !method.is_safe() {
            // COPY changes nothing at its source; a read-only destination refuses it separately.
            return matches!(method, Method::Copy) && !matches!(kind, Kind::Missing);
        }
        match method {
            Method::Options => true,
            Method::Get | Method::Head | Method::Propfind => !matches!(kind, Kind::Missing),
            Method::Delete | Method::Proppatch | Method::Copy | Method::Move => {
                !matches!(kind, Kind::Missing)
            }
            // RFC 4918 section 9.7.2 leaves PUT on collections undefined; Weir refuses it.
            Method::Put => !matches!(kind, Kind::Collection),
            // PATCH writes a part into an existing file only.
            Method::Patch => matches!(kind, Kind::File),
            // RFC 4918 section 9.3: MKCOL is only for URLs without a resource.
            Method::Mkcol => matches!(kind, Kind::Missing),
            Method::Lock => self.locks,
            Method::Unlock => self.locks && !matches!(kind, Kind::Missing),
        }
    }

    /// Returns the Allow header for a resource of this kind (RFC 9110 section 10.2.1).
    pub fn allow(self, kind: Kind) -> String {
        let names = Method::ALL.into_iter().filter(|method| self.allows(*method, kind)).map(Method::as_str);
        names.collect::<Vec<_>>().join(", ")
    }

    /// Returns the DAV header (RFC 4918 sections 10.1 and 18): classes 1 and 3, and class 2 if there are
    /// locks. Announces PATCH with partial updates under the name that clients look for.
    pub const fn dav(self) -> &'static str {
        match (self.read_only, self.locks) {
            (true, _) => "1, 3",
            (false, true) => "1, 2, 3, sabredav-partialupdate",
            (false, false) => "1, 3, sabredav-partialupdate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allow_says_what_a_kind_of_resource_takes() {
        let (full, no_locks) =
            (Offer { read_only: false, locks: true }, Offer { read_only: false, locks: false });
        let read_only = Offer { read_only: true, locks: true };
        for (offer, kind, allow) in [
            (
                full,
                Kind::File,
                "OPTIONS, GET, HEAD, PUT, PATCH, DELETE, PROPFIND, PROPPATCH, COPY, MOVE, LOCK, UNLOCK",
            ),
            (
                full,
                Kind::Collection,
                "OPTIONS, GET, HEAD, DELETE, PROPFIND, PROPPATCH, COPY, MOVE, LOCK, UNLOCK",
            ),
            (full, Kind::Missing, "OPTIONS, PUT, MKCOL, LOCK"),
            (no_locks, Kind::Collection, "OPTIONS, GET, HEAD, DELETE, PROPFIND, PROPPATCH, COPY, MOVE"),
            (no_locks, Kind::Missing, "OPTIONS, PUT, MKCOL"),
            (read_only, Kind::File, "OPTIONS, GET, HEAD, PROPFIND, COPY"),
            (read_only, Kind::Missing, "OPTIONS"),
        ] {
            assert_eq!(offer.allow(kind), allow, "{offer:?} {kind:?}");
        }
        let partial = "sabredav-partialupdate";
        assert_eq!(full.dav(), format!("1, 2, 3, {partial}"));
        assert_eq!((no_locks.dav(), read_only.dav()), (&*format!("1, 3, {partial}"), "1, 3"));
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for method in Method::ALL {
            assert_eq!(Method::parse(method.as_str().as_bytes()), Some(method));
        }
        for name in [&b"get"[..], b"POST", b"patch", b"TRACE", b"", b"GET "] {
            assert_eq!(Method::parse(name), None);
        }
    }
}
