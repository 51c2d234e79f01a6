use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::forward::NameSet;
use crate::head::scan::is_token;
use crate::head::{HeaderFault, KnownHeader, fold_for_cgi, set};

/// Checks one trailer line at a time, byte by byte, keeping only as much of the name as the longest forbidden one has.
#[derive(Debug, Clone)]
pub(super) struct TrailerLine {
    name: [u8; NAME_BYTES],
    /// Bytes of the name so far; counts on past the array.
    name_bytes: u16,
    in_value: bool,
    rules: TrailerRules,
}

/// Names that must not stand in trailers beside those that never may: what a server is to get from Weir, or not at all. A
/// server that merges trailers into headers would take them for genuine.
#[derive(Debug, Clone, Default)]
pub struct TrailerRules(Option<Arc<NameSet>>);

/// Why a trailer line is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrailerFault {
    /// As a header line it would be refused too.
    Line(HeaderFault),
    /// A field that frames, routes, authenticates or describes the message: it must stand in the head.
    Forbidden,
}

/// So much of a name is compared. Of longer ones only the start can be on a list.
const NAME_BYTES: usize = 64;

/// RFC 9110 section 6.5.1: framing, routing, modifiers, authentication, response control, content description.
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

    /// Refuses digests of the body: a service that does not look at trailers must not let one go unchecked (RFC 9530 section 6.5).
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

    /// `is_whole`: no more of the name follows.
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

    /// One byte of a line; CR does not come here.
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

    /// CR: the line is over.
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
        // By these a server is told who a client is, and what has become of an upload.
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
