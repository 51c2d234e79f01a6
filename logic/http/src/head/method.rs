use super::Span;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A request method (RFC 9110 section 9, RFC 4918 section 9). Unknown ones pass.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// Any other token, and where it stands.
            Other(Span),
        }

        impl Method {
            /// The method of this name; case counts (RFC 9110 section 9.1).
            pub fn known(name: &[u8]) -> Option<Self> {
                $(if name == $name.as_bytes() { return Some(Self::$variant); })*
                None
            }

            /// The name as it stands in the request.
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
    /// Longest method that is read, in bytes. Over it: 501 (RFC 9112 section 3).
    pub const BYTES_MAX: usize = 64;

    /// Whether the method is safe (RFC 9110 section 9.2.1; PROPFIND, REPORT and SEARCH: their own documents): it asks
    /// for no change, so sending it twice does no harm.
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
