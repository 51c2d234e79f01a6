//! Live properties, and the writing of property values.

use super::locks::{append_active_locks, append_supported_locks};
use crate::date::{http_date, rfc3339};
use crate::etag::EntityTag;
use crate::lock::Lock;
use crate::markup::{DAV, Fragment, PropName, escape};

/// Namespace of the property that holds a file's checksum; clients of StoRM WebDAV use it.
const STORM: &str = "http://storm.italiangrid.org/2014/webdav";

macro_rules! live {
    ($($(#[$doc:meta])* $variant:ident = $namespace:expr, $local:literal;)*) => {
        /// A property that the server maintains (RFC 4918 section 15).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum LiveProperty {
            $($(#[$doc])* $variant,)*
        }

        impl LiveProperty {
            /// Every live property.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            const fn parts(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant => ($namespace, $local),)*
                }
            }
        }
    };
}

live! {
    /// RFC 4918 section 15.1
    CreationDate = DAV, "creationdate";
    /// RFC 4918 section 15.2
    DisplayName = DAV, "displayname";
    /// RFC 4918 section 15.4
    ContentLength = DAV, "getcontentlength";
    /// RFC 4918 section 15.5
    ContentType = DAV, "getcontenttype";
    /// RFC 4918 section 15.6
    Etag = DAV, "getetag";
    /// RFC 4918 section 15.7
    LastModified = DAV, "getlastmodified";
    /// RFC 4918 section 15.8
    LockDiscovery = DAV, "lockdiscovery";
    /// RFC 4918 section 15.9
    ResourceType = DAV, "resourcetype";
    /// RFC 4918 section 15.10
    SupportedLock = DAV, "supportedlock";
    /// RFC 4331 section 3
    QuotaAvailable = DAV, "quota-available-bytes";
    /// RFC 4331 section 4
    QuotaUsed = DAV, "quota-used-bytes";
    /// `{http://storm.italiangrid.org/2014/webdav}Checksum`: the Adler-32 of the file.
    Checksum = STORM, "Checksum";
}

impl LiveProperty {
    /// Returns the name.
    pub fn name(self) -> PropName {
        let (namespace, local) = self.parts();
        PropName::of(namespace.into(), local)
    }

    /// Finds the live property with this name.
    pub fn from_name(name: &PropName) -> Option<Self> {
        Self::ALL.iter().copied().find(|property| property.parts() == (name.namespace(), name.local()))
    }

    /// Returns true if PROPPATCH must refuse the property with 403 and `cannot-modify-protected-property`. A
    /// client may set only the display name (RFC 4918 section 15.2). The set value is stored as a dead
    /// property and replaces the live one.
    pub const fn is_protected(self) -> bool {
        !matches!(self, Self::DisplayName)
    }

    /// Returns true if allprop includes the property, which holds for those of RFC 4918 (section 9.1). Quotas
    /// are excluded because they may be expensive (RFC 4331 section 5).
    pub const fn in_allprop(self) -> bool {
        !matches!(self, Self::QuotaAvailable | Self::QuotaUsed | Self::Checksum)
    }
}

/// A property and its value, for a response.
#[derive(Debug, Clone, Copy)]
pub enum Property<'a> {
    /// Creation time, in seconds since 1970.
    CreationDate(i64),
    /// Name of the file; bytes that are not UTF-8 are replaced.
    DisplayName(&'a [u8]),
    /// Length in bytes.
    ContentLength(u64),
    /// Media type of the file.
    ContentType(&'a str),
    /// Entity tag of the resource.
    Etag(&'a EntityTag),
    /// Time of the last modification, in seconds since 1970.
    LastModified(i64),
    /// Locks that cover the resource.
    LockDiscovery {
        /// Locks that have not expired.
        locks: &'a [&'a Lock],
        /// Time of the request, in seconds since 1970.
        now_s: u64,
    },
    /// Type of the resource.
    ResourceType {
        /// True for a collection.
        collection: bool,
    },
    /// Locks that clients can request.
    SupportedLock {
        /// True for exclusive and shared write locks; false for none.
        locks: bool,
    },
    /// Bytes that can still be stored.
    QuotaAvailable(u64),
    /// Bytes in use.
    QuotaUsed(u64),
    /// Checksum as stored.
    Checksum(&'a str),
    /// A dead property: the server stores it without interpretation.
    Dead(&'a Fragment),
    /// The name without a value, written as an empty element.
    Name(&'a PropName),
}

impl Property<'_> {
    pub(super) fn append(&self, out: &mut String) {
        match *self {
            Self::CreationDate(unix_s) => append_text(out, LiveProperty::CreationDate, &rfc3339(unix_s)),
            Self::DisplayName(name) => {
                append_text(out, LiveProperty::DisplayName, &String::from_utf8_lossy(name));
            }
            Self::ContentLength(bytes) => append_text(out, LiveProperty::ContentLength, &bytes.to_string()),
            Self::ContentType(media_type) => append_text(out, LiveProperty::ContentType, media_type),
            Self::Etag(etag) => append_text(out, LiveProperty::Etag, &etag.to_string()),
            Self::LastModified(unix_s) => append_text(out, LiveProperty::LastModified, &http_date(unix_s)),
            Self::LockDiscovery { locks, now_s } => append_active_locks(out, locks, now_s),
            Self::ResourceType { collection: true } => {
                out.push_str("<D:resourcetype><D:collection/></D:resourcetype>");
            }
            Self::ResourceType { collection: false } => out.push_str("<D:resourcetype/>"),
            Self::SupportedLock { locks } => append_supported_locks(out, locks),
            Self::QuotaAvailable(bytes) => append_text(out, LiveProperty::QuotaAvailable, &bytes.to_string()),
            Self::QuotaUsed(bytes) => append_text(out, LiveProperty::QuotaUsed, &bytes.to_string()),
            Self::Checksum(checksum) => append_text(out, LiveProperty::Checksum, checksum),
            Self::Dead(value) => out.push_str(value.as_str()),
            Self::Name(name) => name.append_empty_element(out),
        }
    }
}

fn append_text(out: &mut String, property: LiveProperty, text: &str) {
    let (namespace, local) = property.parts();
    let (prefix, declaration) = match namespace {
        DAV => ("D", String::new()),
        namespace => ("S", format!(" xmlns:S=\"{namespace}\"")),
    };
    out.push_str(&format!("<{prefix}:{local}{declaration}>"));
    escape::text(out, text);
    out.push_str(&format!("</{prefix}:{local}>"));
}
