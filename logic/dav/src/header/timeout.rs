//! The Timeout header of LOCK, and DAV:timeout.

use crate::text::{elements, number};

/// Limits of lock timeouts (RFC 4918 section 10.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeoutPolicy {
    /// Timeout of a lock without a readable Timeout header, in seconds.
    pub default_s: u32,
    /// Longest timeout until the next refresh, in seconds; also granted for `Infinite`.
    pub max_s: u32,
}

impl Default for TimeoutPolicy {
    fn default() -> Self {
        Self { default_s: 600, max_s: 3_600 }
    }
}

impl TimeoutPolicy {
    /// Returns the granted seconds, at least 1: the first readable timeout in the header's list, cut to the
    /// maximum.
    pub fn grant(&self, header: Option<&[u8]>) -> u32 {
        let wish = header.and_then(|text| elements(text).find_map(wish));
        wish.unwrap_or(self.default_s).min(self.max_s).max(1)
    }
}

fn wish(text: &[u8]) -> Option<u32> {
    if text.eq_ignore_ascii_case(b"infinite") {
        return Some(u32::MAX);
    }
    let (unit, seconds) = text.split_at_checked(b"Second-".len())?;
    let seconds = number(seconds).filter(|_| unit.eq_ignore_ascii_case(b"Second-"))?;
    Some(u32::try_from(seconds).unwrap_or(u32::MAX))
}

/// Formats the value of DAV:timeout (RFC 4918 section 14.29).
pub fn timeout_text(seconds: u32) -> String {
    format!("Second-{seconds}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wish_that_can_be_understood_counts() {
        let policy = TimeoutPolicy { default_s: 60, max_s: 1_000 };
        for (header, granted) in [
            (None, 60),
            (Some("Second-10"), 10),
            (Some("second-0"), 1),
            (Some("Infinite, Second-10"), 1_000),
            (Some("Extend, Second-10, Infinite"), 10),
            (Some("Second-4100000000"), 1_000),
            (Some("Second-99999999999999999999999"), 1_000),
            (Some("Second-"), 60),
            (Some("Second--1"), 60),
            (Some("10"), 60),
            (Some(""), 60),
        ] {
            assert_eq!(policy.grant(header.map(str::as_bytes)), granted, "{header:?}");
        }
        assert_eq!(timeout_text(10), "Second-10");
    }
}
