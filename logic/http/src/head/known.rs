//! Headers that Weir recognises by name.

macro_rules! known_headers {
    ($($variant:ident = $name:literal,)*) => {
        /// A header that Weir acts on, or one so common that recognising it is cheaper than checking its
        /// characters. There are at most 64, so that a `u64` can hold a set of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)] // The variants are the names.
        pub enum KnownHeader {
            Other,
            /// `X-Forwarded-` with another suffix than For, Proto and Host.
            XForwardedOther,
            /// `X-Accel-` or `X-Sendfile` with any suffix: the headers that a server and a proxy in front of
            /// it use for file offload.
            XAccel,
            $($variant,)*
        }

        /// Names of the known headers in lower case.
        pub(crate) const KNOWN: &[(KnownHeader, &str)] = &[$((KnownHeader::$variant, $name),)*];
    };
}

known_headers! {
    Host = "host",
    Connection = "connection",
    KeepAlive = "keep-alive",
    ProxyConnection = "proxy-connection",
    Te = "te",
    Trailer = "trailer",
    TransferEncoding = "transfer-encoding",
    ContentLength = "content-length",
    Upgrade = "upgrade",
    Http2Settings = "http2-settings",
    Expect = "expect",
    Via = "via",
    Forwarded = "forwarded",
    XForwardedFor = "x-forwarded-for",
    XForwardedProto = "x-forwarded-proto",
    XForwardedHost = "x-forwarded-host",
    Destination = "destination",
    Authorization = "authorization",
    ProxyAuthorization = "proxy-authorization",
    ProxyAuthenticate = "proxy-authenticate",
    WwwAuthenticate = "www-authenticate",
    Cookie = "cookie",
    SetCookie = "set-cookie",
    ContentType = "content-type",
    ContentEncoding = "content-encoding",
    ContentRange = "content-range",
    ContentDisposition = "content-disposition",
    Location = "location",
    ContentLocation = "content-location",
    Server = "server",
    Date = "date",
    UserAgent = "user-agent",
    Referer = "referer",
    Origin = "origin",
    Accept = "accept",
    AcceptEncoding = "accept-encoding",
    AcceptLanguage = "accept-language",
    AcceptRanges = "accept-ranges",
    CacheControl = "cache-control",
    Pragma = "pragma",
    Age = "age",
    Expires = "expires",
    Etag = "etag",
    LastModified = "last-modified",
    Vary = "vary",
    Range = "range",
    IfMatch = "if-match",
    IfNoneMatch = "if-none-match",
    IfModifiedSince = "if-modified-since",
    IfUnmodifiedSince = "if-unmodified-since",
    IfRange = "if-range",
    If = "if",
    MaxForwards = "max-forwards",
    RetryAfter = "retry-after",
    UpgradeInsecureRequests = "upgrade-insecure-requests",
    SecFetchMode = "sec-fetch-mode",
    SecFetchSite = "sec-fetch-site",
    SecFetchDest = "sec-fetch-dest",
    Depth = "depth",
    Overwrite = "overwrite",
}

impl KnownHeader {
    /// Finds the header with this name, in any case.
    pub fn of_name(name: &[u8]) -> Self {
        let mut start = [0; 16];
        let kept = name.len().min(16);
        start[..kept].copy_from_slice(&name[..kept]);
        let start = u128::from_le_bytes(start);
        if let Some(pattern) = candidate(start, name.len())
            && start | pattern.letters == pattern.start
            && name.len() == pattern.text.len()
            && (name.len() <= 16 || name[16..].eq_ignore_ascii_case(&pattern.text.as_bytes()[16..]))
        {
            return pattern.known;
        }
        let begins_as = |pattern: &Pattern, mask| (start | pattern.letters) & mask == pattern.start;
        if begins_as(&FORWARDED, FORWARDED_MASK) {
            Self::XForwardedOther
        } else if begins_as(&ACCEL, ACCEL_MASK) || begins_as(&SENDFILE, SENDFILE_MASK) {
            Self::XAccel
        } else {
            Self::Other
        }
    }

    /// Returns the set that holds only this header.
    pub(crate) const fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// Finds the header for a name of less than 16 bytes; zeros follow the name in `name`. A name that is found
/// is a token, because every byte was compared. A name that is not found may still match one of the known
/// prefixes.
#[inline(always)]
pub(super) fn lookup_short(name: u128, bytes: usize) -> KnownHeader {
    match candidate(name, bytes) {
        // Names of different lengths differ here, too, because no name contains a zero byte.
        Some(pattern) if name | pattern.letters == pattern.start => pattern.known,
        _ => KnownHeader::Other,
    }
}

#[inline(always)]
fn candidate(start: u128, bytes: usize) -> Option<&'static Pattern> {
    PATTERNS.get(usize::from(SLOTS[slot(start | LOWER, bytes)]))
}

/// A known name for comparison without case: bit 5 of each letter is set on both sides, other bytes must be
/// equal.
struct Pattern {
    start: u128,
    letters: u128,
    text: &'static str,
    known: KnownHeader,
}

const FORWARDED: Pattern = pattern(KnownHeader::XForwardedOther, "x-forwarded-");
const FORWARDED_MASK: u128 = (1 << (12 * 8)) - 1;
const ACCEL: Pattern = pattern(KnownHeader::XAccel, "x-accel-");
const ACCEL_MASK: u128 = (1 << (8 * 8)) - 1;
const SENDFILE: Pattern = pattern(KnownHeader::XAccel, "x-sendfile");
const SENDFILE_MASK: u128 = (1 << (10 * 8)) - 1;

static PATTERNS: [Pattern; KNOWN.len()] = {
    let mut patterns = [const { pattern(KnownHeader::Other, "") }; KNOWN.len()];
    let mut i = 0;
    while i < KNOWN.len() {
        patterns[i] = pattern(KNOWN[i].0, KNOWN[i].1);
        i += 1;
    }
    patterns
};

const fn pattern(known: KnownHeader, text: &'static str) -> Pattern {
    let bytes = text.as_bytes();
    let (mut start, mut letters) = (0, 0);
    let mut i = 0;
    while i < bytes.len() && i < 16 {
        start |= (bytes[i] as u128) << (8 * i);
        if bytes[i].is_ascii_lowercase() {
            letters |= 0x20 << (8 * i);
        }
        i += 1;
    }
    Pattern { start, letters, text, known }
}

const LOWER: u128 = u128::from_le_bytes([0x20; 16]);
/// Hash factor, found by search, under which no two known names share a slot.
const FACTOR: u64 = 0x365b_eca3_33b7_27b5;

/// Index of the only name that may have each hash.
static SLOTS: [u8; 256] = {
    let mut slots = [u8::MAX; 256];
    let mut i = 0;
    while i < KNOWN.len() {
        let at = slot(pattern(KNOWN[i].0, KNOWN[i].1).start | LOWER, KNOWN[i].1.len());
        assert!(slots[at] == u8::MAX, "two known names share a slot: find another FACTOR");
        slots[at] = i as u8;
        i += 1;
    }
    slots
};

/// Hashes the first 16 bytes of a name in lower case, and its length.
#[inline(always)]
const fn slot(lower: u128, bytes: usize) -> usize {
    let folded = (lower as u64) ^ ((lower >> 64) as u64).rotate_left(5);
    (folded.wrapping_add(bytes as u64).wrapping_mul(FACTOR) >> 56) as usize
}

/// Returns the set of these headers.
pub(crate) const fn set(of: &[KnownHeader]) -> u64 {
    let mut bits = 0;
    let mut i = 0;
    while i < of.len() {
        bits |= of[i].bit();
        i += 1;
    }
    bits
}

const _: () = assert!(KNOWN.len() + 3 <= 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_found_in_any_case() {
        for (known, name) in KNOWN {
            assert_eq!(KnownHeader::of_name(name.as_bytes()), *known);
            assert_eq!(KnownHeader::of_name(name.to_ascii_uppercase().as_bytes()), *known);
        }
        assert_eq!(KnownHeader::of_name(b"x-FORWARDED-port"), KnownHeader::XForwardedOther);
        for name in ["X-Accel-Redirect", "x-accel-x", "X-SENDFILE", "x-sendfile-type"] {
            assert_eq!(KnownHeader::of_name(name.as_bytes()), KnownHeader::XAccel, "{name}");
        }
        assert_eq!(KnownHeader::of_name(b"x-sendfil"), KnownHeader::Other);
    }

    #[test]
    fn a_name_that_differs_in_one_byte_is_another_one() {
        for (known, name) in KNOWN {
            for at in 0..name.len() {
                for flip in 0..8 {
                    let mut other = name.as_bytes().to_vec();
                    other[at] ^= 1 << flip;
                    if !other.eq_ignore_ascii_case(name.as_bytes()) {
                        assert_ne!(KnownHeader::of_name(&other), *known, "{other:?}");
                    }
                }
            }
            assert_ne!(KnownHeader::of_name(&name.as_bytes()[1..]), *known);
            assert_ne!(KnownHeader::of_name(format!("{name}x").as_bytes()), *known);
            assert_ne!(KnownHeader::of_name(format!("{name}\0").as_bytes()), *known);
        }
    }
}
