//! Request methods.

use super::Span;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A request method (RFC 9110 section 9, RFC 4918 section 9). Unknown methods are forwarded.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// Any other token, with its position.
            Other(Span),
        }

        impl Method {
            /// Finds the method with this name; case matters (RFC 9110 section 9.1).
            pub fn known(name: &[u8]) -> Option<Self> {
                $(if name == $name.as_bytes() { return Some(Self::$variant); })*
                None
            }

            /// Returns the name as written in the request.
            pub fn bytes<'a>(&self, buf: &'a [u8]) -> &'a [u8] {
                match self {
                    $(Self::$variant => $name.as_bytes(),)*
                    Self::Other(span) => span.of(buf),
                }
            }
        }
    };
}

methods! {
    /// GET
    Get = "GET",
    /// HEAD
    Head = "HEAD",
    /// POST
    Post = "POST",
    /// PUT
    Put = "PUT",
    /// DELETE
    Delete = "DELETE",
    /// OPTIONS
    Options = "OPTIONS",
    /// PATCH
    Patch = "PATCH",
    /// PROPFIND
    Propfind = "PROPFIND",
    /// PROPPATCH
    Proppatch = "PROPPATCH",
    /// MKCOL
    Mkcol = "MKCOL",
    /// COPY
    Copy = "COPY",
    /// MOVE
    Move = "MOVE",
    /// LOCK
    Lock = "LOCK",
    /// UNLOCK
    Unlock = "UNLOCK",
    /// REPORT
    Report = "REPORT",
    /// SEARCH
    Search = "SEARCH",
    /// TRACE
    Trace = "TRACE",
    /// CONNECT
    Connect = "CONNECT",
}

impl Method {
    /// Maximum length of a method in bytes; a longer one gets 501 (RFC 9112 section 3).
    pub const BYTES_MAX: usize = 64;

    /// Returns true if the method is safe (RFC 9110 section 9.2.1; PROPFIND, REPORT and SEARCH: their own
    /// documents). A safe method requests no change, so a second transmission does no harm.
    pub const fn is_safe(&self) -> bool {
        matches!(
            self,
            Self::Get
                | Self::Head
                | Self::Options
                | Self::Trace
                | Self::Propfind
                | Self::Report
                | Self::Search
        )
    }
}
