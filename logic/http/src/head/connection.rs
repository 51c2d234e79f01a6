//! The options of the Connection header.

use super::scan::list;
use super::{HeaderFault, HeaderTable, KnownHeader, Version};

/// The options of the Connection lines (RFC 9110 section 7.6.1).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectionOptions {
    pub(super) close: bool,
    pub(super) keep_alive: bool,
    pub(super) upgrade: bool,
    /// True if an option names a header to remove.
    pub(super) nominates: bool,
}

impl ConnectionOptions {
    /// Parses the lines. Fails if there are more options than any client needs, because each option is
    /// compared with each header line.
    #[inline]
    pub(super) fn read(buf: &[u8], table: &HeaderTable) -> Result<Self, HeaderFault> {
        let mut options = Self::default();
        match table.find(KnownHeader::Connection).map(|entry| entry.value().of(buf)) {
            None => Ok(options),
            // Fast path for the most common value, without parsing a list.
            Some(value) if !table.repeats(KnownHeader::Connection) && is_keep_alive(value) => {
                options.keep_alive = true;
                Ok(options)
            }
            Some(_) => Self::read_lists(buf, table),
        }
    }

    fn read_lists(buf: &[u8], table: &HeaderTable) -> Result<Self, HeaderFault> {
        let mut options = Self::default();
        let lists = table.all(KnownHeader::Connection).map(|entry| list(entry.value().of(buf)));
        for (index, option) in lists.flatten().enumerate() {
            if index == OPTIONS_MAX {
                return Err(HeaderFault::TooManyConnectionOptions);
            }
            options.add(option);
        }
        Ok(options)
    }

    fn add(&mut self, option: &[u8]) {
        if option.eq_ignore_ascii_case(b"keep-alive") {
            self.keep_alive = true;
        } else if option.eq_ignore_ascii_case(b"close") {
            self.close = true;
        } else if option.eq_ignore_ascii_case(b"upgrade") {
            self.upgrade = true;
        } else {
            self.nominates = true;
        }
    }

    /// Returns true if the connection stays open after the message (RFC 9112 section 9.3).
    pub(super) fn persists(self, version: Version) -> bool {
        match version {
            Version::Http11 => !self.close,
            Version::Http10 => self.keep_alive && !self.close,
        }
    }
}

const OPTIONS_MAX: usize = 32;

/// Compares with `keep-alive`, ignoring case. Setting bit 5 is safe: values hold no control characters, so no
/// other byte becomes a letter or a hyphen.
#[inline]
fn is_keep_alive(value: &[u8]) -> bool {
    value.len() == 10 && value.first_chunk::<10>().is_some_and(|v| v.map(|b| b | 0x20) == *b"keep-alive")
}
