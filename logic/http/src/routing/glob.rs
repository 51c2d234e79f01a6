//! Compiled globs.

/// A compiled [`crate::PathPattern::Glob`]. A match takes at most path length times pattern length steps, for
/// any input.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    tokens: Box<[Token]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// One byte except `/`.
    One,
    /// Any number of bytes except `/`.
    Star,
    /// Any number of bytes.
    StarStar,
}

/// Maximum number of tokens; a longer pattern does not compile.
const TOKENS_MAX: usize = 255;
const WORDS: usize = 4;

impl Glob {
    /// Compiles a pattern; `encode` converts the text between wildcards. Returns `None` if the pattern has
    /// more than 255 tokens.
    pub(super) fn compile(pattern: &str, encode: fn(&[u8]) -> Vec<u8>) -> Option<Self> {
        let mut tokens: Vec<Token> = Vec::new();
        let mut rest = pattern.as_bytes();
        while !rest.is_empty() {
            let text = rest.iter().position(|byte| matches!(byte, b'*' | b'?')).unwrap_or(rest.len());
            if text > 0 {
                tokens.extend(encode(&rest[..text]).into_iter().map(Token::Byte));
                rest = &rest[text..];
                continue;
            }
            let (token, taken) = match rest {
                [b'*', b'*', ..] => (Token::StarStar, 2),
                [b'*', ..] => (Token::Star, 1),
                _ => (Token::One, 1),
            };
            rest = &rest[taken..];
            // Merges adjacent stars into the widest of them.
            match (tokens.last_mut(), token) {
                (Some(last @ (Token::Star | Token::StarStar)), Token::StarStar) => *last = token,
                (Some(Token::Star | Token::StarStar), Token::Star) => {}
                _ => tokens.push(token),
            }
        }
        (tokens.len() <= TOKENS_MAX).then(|| Self { tokens: tokens.into() })
    }

    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let mut states = States::default();
        self.enter(&mut states, 0);
        for byte in path {
            let mut next = States::default();
            for at in states.iter() {
                match self.tokens.get(at) {
                    Some(Token::Byte(b)) if b == byte => self.enter(&mut next, at + 1),
                    Some(Token::One) if *byte != b'/' => self.enter(&mut next, at + 1),
                    Some(Token::Star) if *byte != b'/' => self.enter(&mut next, at),
                    Some(Token::StarStar) => self.enter(&mut next, at),
                    _ => {}
                }
            }
            if next.is_empty() {
                return false;
            }
            states = next;
        }
        states.has(self.tokens.len())
    }

    /// Adds the state before token `at`, and the next one if the token may match nothing.
    fn enter(&self, states: &mut States, at: usize) {
        states.add(at);
        if let Some(Token::Star | Token::StarStar) = self.tokens.get(at) {
            states.add(at + 1);
        }
    }
}

/// A set of positions in the pattern, 0 to 255.
#[derive(Default)]
struct States([u64; WORDS]);

impl States {
    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let at = bits.trailing_zeros() as usize;
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    word * 64 + at
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Glob::compile(pattern, <[u8]>::to_vec).unwrap().matches(path.as_bytes())
    }

    #[test]
    fn one_star_stays_within_a_segment() {
        assert!(matches("/a/*/c", "/a/b/c"));
        assert!(matches("/a/*/c", "/a//c"));
        assert!(!matches("/a/*/c", "/a/b/b/c"));
        assert!(matches("/*.jpg", "/x.jpg"));
        assert!(!matches("/*.jpg", "/a/x.jpg"));
    }

    #[test]
    fn two_stars_cross_segments() {
        assert!(matches("/a/**/c", "/a/b/b/c"));
        assert!(matches("/**.jpg", "/a/b/x.jpg"));
        assert!(matches("/a/**", "/a/"));
        assert!(!matches("/a/**", "/a"));
        assert!(matches("***", "/a/b"));
        assert!(matches("**", ""));
    }

    #[test]
    fn a_question_mark_is_one_character_but_a_slash() {
        assert!(matches("/v?/x", "/v1/x"));
        assert!(!matches("/v?/x", "/v/x"));
        assert!(!matches("/v?x", "/v/x"));
    }

    #[test]
    fn a_hostile_path_costs_no_more_than_its_length() {
        let pattern = "**a".repeat(80);
        assert!(!matches(&pattern, &"a".repeat(79)));
        assert!(!matches(&pattern, &("a".repeat(8000) + "b")));
        assert!(matches(&pattern, &"a".repeat(8000)));
        assert!(Glob::compile(&"?".repeat(256), <[u8]>::to_vec).is_none());
    }
}
