//! SHA-256-crypt and SHA-512-crypt, as defined by glibc's crypt(3) and U. Drepper's "Unix crypt using SHA-256
//! and SHA-512" (version 0.6).

use crate::crypto::Crypto;

/// A SHA-256-crypt or SHA-512-crypt hash.
#[derive(Clone)]
pub(super) struct ShaCrypt {
    kind: Kind,
    rounds: u32,
    salt: String,
    /// Checksum in crypt's base64, as in the file; the comparison uses this text.
    checksum: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sha256,
    Sha512,
}

const ROUNDS_DEFAULT: u32 = 5000;
const ROUNDS_MIN: u32 = 1000;
/// Maximum number of rounds. The standard permits 999,999,999, but a password check must not compute for
/// minutes.
const ROUNDS_MAX: u32 = 1_000_000;
const SALT_MAX: usize = 16;

impl ShaCrypt {
    /// Parses `$5$salt$checksum`, `$6$salt$checksum`, and both with `rounds=N$` before the salt.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (kind, rest) = match (text.strip_prefix("$5$"), text.strip_prefix("$6$")) {
            (Some(rest), _) => (Kind::Sha256, rest),
            (None, Some(rest)) => (Kind::Sha512, rest),
            (None, None) => return Err("not a SHA-crypt hash".to_owned()),
        };
        let (rounds, rest) = match rest.strip_prefix("rounds=").and_then(|rest| rest.split_once('$')) {
            None => (ROUNDS_DEFAULT, rest),
            Some((number, rest)) => {
                let rounds = number.parse().ok().filter(|rounds| (ROUNDS_MIN..=ROUNDS_MAX).contains(rounds));
                (rounds.ok_or(format!("rounds are not between {ROUNDS_MIN} and {ROUNDS_MAX}"))?, rest)
            }
        };
        let (salt, checksum) = rest.split_once('$').ok_or("no checksum")?;
        let length = if kind == Kind::Sha256 { 43 } else { 86 };
        if salt.len() > SALT_MAX || checksum.len() != length {
            return Err("not a whole SHA-crypt hash".to_owned());
        }
        Ok(Self { kind, rounds, salt: salt.to_owned(), checksum: checksum.to_owned() })
    }

    pub(super) fn rounds(&self) -> u32 {
        self.rounds
    }

    pub(super) fn verify(&self, password: &[u8], crypto: &dyn Crypto) -> bool {
        crypto.equal(self.compute(password, crypto).as_bytes(), self.checksum.as_bytes())
    }

    fn compute(&self, password: &[u8], crypto: &dyn Crypto) -> String {
        let salt = self.salt.as_bytes();
        let hash = |parts: &[&[u8]]| match self.kind {
            Kind::Sha256 => crypto.sha256(parts).to_vec(),
            Kind::Sha512 => crypto.sha512(parts).to_vec(),
        };
        // Steps 4 to 8.
        let b = hash(&[password, salt, password]);
        // Steps 1 to 3 and 9 to 12.
        let filled = repeated(&b, password.len());
        let mut parts = vec![password, salt, filled.as_slice()];
        let mut length = password.len();
        while length > 0 {
            parts.push(if length & 1 == 1 { &b } else { password });
            length >>= 1;
        }
        let mut a = hash(&parts);
        // Steps 13 to 16.
        let p = repeated(&hash(&vec![password; password.len()]), password.len());
        // Steps 17 to 20.
        let count = 16 + usize::from(a.first().copied().unwrap_or(0));
        let s = repeated(&hash(&vec![salt; count]), salt.len());
        // Step 21.
        for round in 0..self.rounds {
            let odd = round % 2 == 1;
            let none: &[u8] = &[];
            a = hash(&[
                if odd { &p } else { &a },
                if round % 3 != 0 { &s } else { none },
                if round % 7 != 0 { &p } else { none },
                if odd { &a } else { &p },
            ]);
        }
        self.written(&a)
    }

    /// Encodes the digest (step 22): groups of three bytes, one from each third of the digest, in crypt's
    /// alphabet with the lowest bits first.
    fn written(&self, digest: &[u8]) -> String {
        let at = |index: usize| u32::from(digest.get(index).copied().unwrap_or(0));
        let mut text = String::with_capacity(self.checksum.len());
        let mut push = |high: u32, middle: u32, low: u32, count: usize| {
            let mut bits = high << 16 | middle << 8 | low;
            for _ in 0..count {
                text.push(char::from(ALPHABET[(bits & 63) as usize]));
                bits >>= 6;
            }
        };
        // Each third has 10 bytes (SHA-256) or 21 bytes (SHA-512); the remaining bytes follow at the end. The
        // third that supplies the first byte of a group rotates from group to group, in opposite directions
        // for the two kinds.
        match self.kind {
            Kind::Sha256 => {
                for group in 0..10 {
                    let thirds = [group, group + 10, group + 20];
                    let lead = (3 - group % 3) % 3;
                    let pick = |offset: usize| at(thirds[(lead + offset) % 3]);
                    push(pick(0), pick(1), pick(2), 4);
                }
                push(0, at(31), at(30), 3);
            }
            Kind::Sha512 => {
                for group in 0..21 {
                    let thirds = [group, group + 21, group + 42];
                    let lead = group % 3;
                    let pick = |offset: usize| at(thirds[(lead + offset) % 3]);
                    push(pick(0), pick(1), pick(2), 4);
                }
                push(0, 0, at(63), 2);
            }
        }
        text
    }
}

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Repeats `block` up to `length` bytes.
fn repeated(block: &[u8], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_forever_or_is_cut_off_is_refused() {
        let checksum = "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc8";
        assert!(ShaCrypt::parse(&format!("$5$rounds=999999999$s${checksum}")).is_err());
        assert!(ShaCrypt::parse(&format!("$5$rounds=10$s${checksum}")).is_err());
        assert!(ShaCrypt::parse("$5$salt$short").is_err());
        assert!(ShaCrypt::parse("$5$salt").is_err());
    }
}
