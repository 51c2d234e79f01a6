//! Checks of trailer lines.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::forward::NameSet;
use crate::head::scan::is_token;
use crate::head::{HeaderFault, KnownHeader, fold_for_cgi, set};

/// Checks a trailer line byte by byte. Keeps only as much of the name as the longest forbidden name needs.
#[derive(Debug, Clone)]
pub(super) struct TrailerLine {
    name: [u8; NAME_BYTES],
    /// Bytes of the name so far; may exceed the length of the array.
    name_bytes: u16,
    in_value: bool,
    rules: TrailerRules,
}

/// Names that are forbidden in trailers, in addition to those that always are. Weir sets or removes these
/// headers, and a server that merges trailers into headers would trust them.
#[derive(Debug, Clone, Default)]
pub struct TrailerRules(Option<Arc<NameSet>>);

/// The reason to refuse a trailer line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrailerFault {
    /// The line would be refused as a header line, too.
    Line(HeaderFault),
    /// The field frames, routes, authenticates or describes the message, so it may occur only in the head.
    Forbidden,
}

/// Bytes of a name that are compared; only the start of a longer name can be on a list.
const NAME_BYTES: usize = 64;

/// Headers that may not be trailers (RFC 9110 section 6.5.1): framing, routing, modifiers, authentication,
/// response control, content description.
const FORBIDDEN: u64 = set(&[
    KnownHeader::XForwardedOther,
    KnownHeader::XAccel,
    KnownHeader::Host,
    KnownHeader::Connection,
    KnownHeader::KeepAlive,
    KnownHeader::ProxyConnection,
    KnownHeader::Te,
    KnownHeader::Trailer,
    KnownHeader::TransferEncoding,
    KnownHeader::ContentLength,
    KnownHeader::Upgrade,
    KnownHeader::Http2Settings,
    KnownHeader::Expect,
    KnownHeader::Via,
    KnownHeader::Forwarded,
    KnownHeader::XForwardedFor,
    KnownHeader::XForwardedProto,
    KnownHeader::XForwardedHost,
    KnownHeader::Destination,
    KnownHeader::Authorization,
    KnownHeader::ProxyAuthorization,
    KnownHeader::ProxyAuthenticate,
    KnownHeader::WwwAuthenticate,
    KnownHeader::Cookie,
    KnownHeader::SetCookie,
    KnownHeader::ContentType,
    KnownHeader::ContentEncoding,
    KnownHeader::ContentRange,
    KnownHeader::ContentDisposition,
    KnownHeader::Location,
    KnownHeader::ContentLocation,
    KnownHeader::Date,
    KnownHeader::Origin,
    KnownHeader::CacheControl,
    KnownHeader::Pragma,
    KnownHeader::Age,
    KnownHeader::Expires,
    KnownHeader::Vary,
    KnownHeader::Range,
    KnownHeader::IfMatch,
    KnownHeader::IfNoneMatch,
    KnownHeader::IfModifiedSince,
    KnownHeader::IfUnmodifiedSince,
    KnownHeader::IfRange,
    KnownHeader::If,
    KnownHeader::MaxForwards,
    KnownHeader::RetryAfter,
    KnownHeader::Depth,
    KnownHeader::Overwrite,
]);

impl TrailerRules {
    pub(crate) fn new(names: NameSet) -> Self {
        Self(Some(Arc::new(names)))
    }

    /// Refuses digests of the body, for a service that ignores trailers and must not leave a digest unchecked
    /// (RFC 9530 section 6.5).
    pub fn no_digests() -> Self {
        static NAMES: LazyLock<Arc<NameSet>> = LazyLock::new(|| {
            let mut names = NameSet::new();
            ["digest", "content-digest", "repr-digest", "content-md5"]
                .iter()
                .for_each(|name| names.add(name));
            Arc::new(names)
        });
        Self(Some(Arc::clone(&NAMES)))
    }

    const fn none() -> Self {
        Self(None)
    }

    /// Returns true if the name is forbidden. `is_whole`: true if `name` is not just the start of the name.
    fn refuse(&self, name: &[u8], is_whole: bool) -> bool {
        let Some(names) = &self.0 else { return false };
        if is_whole { names.has_other(name) } else { names.may_have(name) }
    }
}

impl TrailerLine {
    pub(super) const fn new() -> Self {
        Self { name: [0; NAME_BYTES], name_bytes: 0, in_value: false, rules: TrailerRules::none() }
    }

    pub(super) fn with_rules(rules: &TrailerRules) -> Self {
        Self { rules: rules.clone(), ..Self::new() }
    }

    /// Checks one byte of a line, except CR.
    pub(super) fn push(&mut self, byte: u8) -> Result<(), TrailerFault> {
        if self.in_value {
            return match byte {
                b'\n' => Err(TrailerFault::Line(HeaderFault::BareLf)),
                b'\t' => Ok(()),
                0..=0x1f | 0x7f => Err(TrailerFault::Line(HeaderFault::ValueByte)),
                _ => Ok(()),
            };
        }
        match byte {
            b':' if self.name_bytes == 0 => Err(TrailerFault::Line(HeaderFault::EmptyName)),
            b':' if self.is_forbidden() => Err(TrailerFault::Forbidden),
            b':' => {
                self.in_value = true;
                Ok(())
            }
            b' ' | b'\t' if self.name_bytes == 0 => Err(TrailerFault::Line(HeaderFault::LeadingSpace)),
            b' ' | b'\t' => Err(TrailerFault::Line(HeaderFault::SpaceBeforeColon)),
            b'\n' => Err(TrailerFault::Line(HeaderFault::BareLf)),
            _ if !is_token(byte) => Err(TrailerFault::Line(HeaderFault::NameByte)),
            _ => {
                if let Some(place) = self.name.get_mut(usize::from(self.name_bytes)) {
                    *place = fold_for_cgi(byte);
                }
                self.name_bytes = self.name_bytes.saturating_add(1);
                Ok(())
            }
        }
    }

    /// Ends the line, at CR.
    pub(super) fn end(&mut self) -> Result<(), TrailerFault> {
        if !self.in_value {
            return Err(TrailerFault::Line(HeaderFault::NoColon));
        }
        self.in_value = false;
        self.name_bytes = 0;
        Ok(())
    }

    fn is_forbidden(&self) -> bool {
        let kept = usize::from(self.name_bytes).min(NAME_BYTES);
        let starts = |text: &[u8]| kept >= text.len() && self.name[..text.len()].eq_ignore_ascii_case(text);
        // Servers trust these headers for the identity of a client and for the state of an upload.
        let told: [&[u8]; 4] = [b"x-forwarded-", b"x-voms-", b"x-remote-user", b"x-weir-upload"];
        if told.into_iter().any(starts) {
            return true;
        }
        let is_whole = usize::from(self.name_bytes) <= NAME_BYTES;
        (is_whole && FORBIDDEN & KnownHeader::of_name(&self.name[..kept]).bit() != 0)
            || self.rules.refuse(&self.name[..kept], is_whole)
    }
}

impl fmt::Display for TrailerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(fault) => write!(f, "in a trailer: {fault}"),
            Self::Forbidden => f.write_str("a trailer that must stand in the head (RFC 9110 section 6.5.1)"),
        }
    }
}
