//! The methods of the service, and what it tells clients about them (RFC 9110 section 9, RFC 4918 section 9).

use std::fmt;

/// A method that the service knows.
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
    /// RFC 5789; a part of a file, as [`crate::range::PARTIAL_UPDATE`] has it
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
    /// All of them, in the order in which Allow lists them.
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

    /// The method of this name; case counts (RFC 9110 section 9.1). `None` is answered with 501, but for POST,
    /// which is well known and allowed nowhere: 405.
    pub fn parse(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str().as_bytes() == name)
    }

    /// Its name.
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

    /// Whether it asks for no change (RFC 9110 section 9.2.1, RFC 4918 section 9.1).
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::Options | Self::Get | Self::Head | Self::Propfind)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing (RFC 4918 calls it an unmapped URL).
    Missing,
    /// A file.
    File,
    /// A directory.
    Collection,
}

/// What a storage area offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Only methods that change nothing.
    pub read_only: bool,
    /// Locks (RFC 4918 section 6).
    pub locks: bool,
}

impl Offer {
    /// Whether `method` may be used on a resource of this kind.
    pub const fn allows(self, method: Method, kind: Kind) -> bool {
        if self.read_only && !method.is_safe() {
            // COPY changes nothing at its source; a destination that is read-only refuses it by itself.
            return matches!(method, Method::Copy) && !matches!(kind, Kind::Missing);
        }
        match method {
            Method::Options => true,
            Method::Get | Method::Head | Method::Propfind => !matches!(kind, Kind::Missing),
            Method::Delete | Method::Proppatch | Method::Copy | Method::Move => {
                !matches!(kind, Kind::Missing)
            }
            // RFC 4918 section 9.7.2: PUT for collections is left undefined; here it is refused.
            Method::Put => !matches!(kind, Kind::Collection),
            // There is nothing else that parts can be put into.
            Method::Patch => matches!(kind, Kind::File),
            // RFC 4918 section 9.3: MKCOL is only for what does not exist.
            Method::Mkcol => matches!(kind, Kind::Missing),
            Method::Lock => self.locks,
            Method::Unlock => self.locks && !matches!(kind, Kind::Missing),
        }
    }

    /// The Allow header for a resource of this kind (RFC 9110 section 10.2.1).
    pub fn allow(self, kind: Kind) -> String {
        let names = Method::ALL.into_iter().filter(|method| self.allows(*method, kind)).map(Method::as_str);
        names.collect::<Vec<_>>().join(", ")
    }

    /// The DAV header (RFC 4918 sections 10.1 and 18): class 1, class 3, and class 2 where there are locks; and whether PATCH
    /// puts parts into files, by the name that clients look for.
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
