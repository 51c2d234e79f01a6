//! The content of a sticky cookie: `ID`, or with limits on its life `ID|LAST|FIRST`, both times in seconds
//! since 1970 as hexadecimal digits.

/// Content of a sticky cookie, without the protection that it had in transit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StickyToken<'a> {
    /// Identifier of a server.
    pub id: &'a [u8],
    /// Times of its issue and last renewal, if it contains them.
    pub age: Option<TokenAge>,
}

/// Times of a token's first issue and last renewal, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenAge {
    /// Time of the last renewal.
    pub last_s: u64,
    /// Time of the first issue.
    pub first_s: u64,
}

/// Time for which tokens are valid, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenLife {
    /// Longest time without a request.
    pub idle_max_s: Option<u64>,
    /// Longest time since the first issue.
    pub life_max_s: Option<u64>,
}

/// Largest difference between the clocks of two Weirs, in seconds.
const CLOCK_SKEW_S: u64 = 300;

impl<'a> StickyToken<'a> {
    /// Longest id, in bytes; ids can be server names.
    pub const ID_BYTES_MAX: usize = weir_model::Name::BYTES_MAX;

    /// Parses a token; returns `None` if the text is not one.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let mut parts = text.split(|byte| *byte == b'|');
        let id = parts.next().filter(|id| (1..=Self::ID_BYTES_MAX).contains(&id.len()))?;
        let age = match (parts.next(), parts.next(), parts.next()) {
            (None, None, None) => None,
            (Some(last), Some(first), None) => {
                Some(TokenAge { last_s: number(last)?, first_s: number(first)? })
            }
            _ => return None,
        };
        Some(Self { id, age })
    }

    /// Appends the token to `out`.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.id);
        if let Some(TokenAge { last_s, first_s }) = self.age {
            out.extend_from_slice(format!("|{last_s:x}|{first_s:x}").as_bytes());
        }
    }
}

impl TokenLife {
    /// Returns true if tokens contain times.
    pub fn is_limited(&self) -> bool {
        self.idle_max_s.is_some() || self.life_max_s.is_some()
    }

    /// Returns true if a token is valid. With limits, a token without times is invalid, and so is one from
    /// the future.
    pub fn permits(&self, age: Option<TokenAge>, now_s: u64) -> bool {
        if !self.is_limited() {
            return true;
        }
        let Some(TokenAge { last_s, first_s }) = age else { return false };
        let within = |since: u64, max: Option<u64>| {
            since <= now_s.saturating_add(CLOCK_SKEW_S)
                && max.is_none_or(|max| now_s.saturating_sub(since) <= max)
        };
        within(last_s, self.idle_max_s) && within(first_s, self.life_max_s) && first_s <= last_s
    }

    /// Returns the times of the token that a response issues. `before` are those of a valid token in the
    /// request.
    pub fn renewed(&self, before: Option<TokenAge>, now_s: u64) -> Option<TokenAge> {
        let first_s = before.map_or(now_s, |before| before.first_s.min(now_s));
        self.is_limited().then_some(TokenAge { last_s: now_s, first_s })
    }

    /// Returns true if a valid token should be renewed although its server is the same. That is not with
    /// every response, but often enough to measure an idle time to a sixteenth of its limit.
    pub fn is_to_renew(&self, age: Option<TokenAge>, now_s: u64) -> bool {
        let (Some(max), Some(age)) = (self.idle_max_s, age) else { return false };
        now_s.saturating_sub(age.last_s) >= (max / 16).max(1)
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let is_plain = (1..=16).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit);
    std::str::from_utf8(text).ok().filter(|_| is_plain).and_then(|text| u64::from_str_radix(text, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn age(last_ago: u64, first_ago: u64) -> Option<TokenAge> {
        Some(TokenAge { last_s: NOW - last_ago, first_s: NOW - first_ago })
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        for token in [
            StickyToken { id: b"w1", age: None },
            StickyToken { id: b"10.0.0.1:80", age: age(5, 100) },
            StickyToken { id: b"x", age: Some(TokenAge { last_s: u64::MAX, first_s: 0 }) },
        ] {
            let mut text = Vec::new();
            token.append(&mut text);
            assert_eq!(StickyToken::parse(&text), Some(token), "{:?}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn what_is_no_token_is_none() {
        let long = "x".repeat(65);
        for text in
            ["", "|1|1", "w1|1", "w1|1|2|3", "w1||1", "w1|+1|1", "w1|g|1", "w1|1|11111111111111111", &long]
        {
            assert_eq!(StickyToken::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_token_counts_as_long_as_it_was_used_and_is_not_too_old() {
        let life = TokenLife { idle_max_s: Some(60), life_max_s: Some(600) };
        assert!(life.permits(age(60, 600), NOW));
        assert!(!life.permits(age(61, 100), NOW), "unused for too long");
        assert!(!life.permits(age(1, 601), NOW), "too old");
        assert!(!life.permits(None, NOW), "without times it could live for ever");
        let ahead = |s| Some(TokenAge { last_s: NOW + s, first_s: NOW });
        assert!(life.permits(ahead(10), NOW), "another Weir's clock is ahead");
        assert!(!life.permits(ahead(3_600), NOW), "nobody gave that out");
        assert!(TokenLife::default().permits(None, NOW) && TokenLife::default().permits(age(1, 10_000), NOW));
    }

    #[test]
    fn a_renewed_token_keeps_the_time_of_the_first() {
        let life = TokenLife { idle_max_s: Some(160), life_max_s: None };
        assert_eq!(life.renewed(age(50, 500), NOW), age(0, 500));
        assert_eq!(life.renewed(None, NOW), age(0, 0));
        assert_eq!(TokenLife::default().renewed(age(1, 1), NOW), None);
        assert!(!life.is_to_renew(age(9, 500), NOW) && life.is_to_renew(age(10, 500), NOW));
        assert!(!TokenLife { idle_max_s: None, life_max_s: Some(9) }.is_to_renew(age(100, 500), NOW));
    }
}
