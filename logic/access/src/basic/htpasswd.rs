use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::sha_crypt::ShaCrypt;
use crate::crypto::Crypto;
use crate::identity::{BadPassword, BasicUser};

/// The users of an htpasswd file.
#[derive(Clone, Default)]
pub struct Htpasswd {
    users: BTreeMap<String, User>,
}

#[derive(Clone)]
struct User {
    hash: Arc<Hash>,
    /// The hash as it is written.
    text: String,
}

/// A password's hash that can be checked.
#[derive(Clone)]
enum Hash {
    Bcrypt(String),
    Sha(ShaCrypt),
}

/// Why a file cannot be used: the line, from 1, and what is wrong with it. Shows no hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtpasswdError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// One check of a password, with all it needs: run it on a thread that may take its time.
pub struct PasswordCheck {
    user: String,
    hash: Arc<Hash>,
    known: bool,
}

/// Bcrypt doubles its work with each step: 15 takes seconds.
const BCRYPT_COSTS: std::ops::RangeInclusive<u32> = 4..=15;

/// Hashes of a higher cost are reported as slow. Usual are bcrypt costs of 10 to 12, and 5,000 rounds of SHA-crypt.
const BCRYPT_COST_QUICK_MAX: u32 = 12;
const SHA_ROUNDS_QUICK_MAX: u32 = 200_000;

/// What an unknown user's password is compared with, so that the time tells nothing: a hash of nothing that is known, of
/// the cost that `htpasswd -B` uses most.
const UNKNOWN_USER: &str = "$2y$10$abcdefghijklmnopqrstuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu";

impl Htpasswd {
    /// Longest file, in bytes.
    pub const BYTES_MAX: usize = 16 * 1024 * 1024;
    /// Longest password, in bytes. With bcrypt it is 71: what would be cut off, and so not checked, is never right.
    pub const PASSWORD_BYTES_MAX: usize = 256;

    /// Reads lines of `user:hash`; empty ones and those that begin with `#` say nothing. Known hashes are bcrypt (`$2y$`,
    /// `$2b$`, `$2a$`), SHA-256-crypt (`$5$`) and SHA-512-crypt (`$6$`).
    ///
    /// # Errors
    /// A line is none, a user is there twice, or a hash is of a kind that is broken or unknown.
    pub fn parse(text: &str) -> Result<Self, HtpasswdError> {
        if text.len() > Self::BYTES_MAX {
            return Err(HtpasswdError {
                line: 1,
                why: format!("the file is longer than {} bytes", Self::BYTES_MAX),
            });
        }
        let mut users = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fail = |why: String| HtpasswdError { line: at + 1, why };
            let (user, hash) = line.split_once(':').ok_or_else(|| fail("no colon".to_owned()))?;
            if user.is_empty() {
                return Err(fail("no user before the colon".to_owned()));
            }
            // Some files carry further fields, as /etc/shadow does.
            let hash = hash.split(':').next().unwrap_or(hash);
            let text = hash.to_owned();
            let hash = Hash::parse(hash).map_err(|why| fail(format!("user {user}: {why}")))?;
            if users.insert(user.to_owned(), User { hash: Arc::new(hash), text }).is_some() {
                return Err(fail(format!("user {user} is there twice")));
            }
        }
        Ok(Self { users })
    }

    /// How many users there are.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Whether there is a user of this name.
    pub fn knows(&self, user: &str) -> bool {
        self.users.contains_key(user)
    }

    /// A user's hash as it is written. It changes with the password, also if that is the same again.
    pub fn hash_of(&self, user: &str) -> Option<&str> {
        self.users.get(user).map(|user| user.text.as_str())
    }

    /// Returns the users whose hashes are slow, in alphabetical order: the checks of others wait for theirs.
    pub fn slow_users(&self) -> impl Iterator<Item = &str> {
        self.users.iter().filter(|(_, user)| user.hash.is_slow()).map(|(name, _)| name.as_str())
    }

    /// The check of a user's password. There is one for users who do not exist, too: it takes as long and says no.
    pub fn check(&self, user: &str) -> PasswordCheck {
        let (hash, known) = match (self.users.get(user), self.users.values().next()) {
            (Some(user), _) => (Arc::clone(&user.hash), true),
            // The same kind of work as for those who exist.
            (None, Some(other)) => (Arc::clone(&other.hash), false),
            (None, None) => (Arc::new(Hash::Bcrypt(UNKNOWN_USER.to_owned())), false),
        };
        PasswordCheck { user: user.to_owned(), hash, known }
    }
}

impl PasswordCheck {
    /// Returns whether a password is too long to be anybody's. Such a one need not be checked.
    pub fn is_too_long(password: &str) -> bool {
        password.len() > Htpasswd::PASSWORD_BYTES_MAX
    }

    /// Compares in a time that does not depend on the password's bytes. **Takes tens of milliseconds or more.**
    ///
    /// # Errors
    /// The user does not exist, or the password is wrong.
    pub fn run(self, password: &str, crypto: &dyn Crypto) -> Result<BasicUser, BadPassword> {
        if Self::is_too_long(password) {
            return Err(BadPassword);
        }
        let right = match self.hash.as_ref() {
            // Fails for a password that bcrypt would cut off.
            Hash::Bcrypt(hash) => bcrypt::non_truncating_verify(password, hash).unwrap_or(false),
            Hash::Sha(hash) => hash.verify(password.as_bytes(), crypto),
        };
        if right && self.known { Ok(BasicUser { name: self.user }) } else { Err(BadPassword) }
    }
}

impl Hash {
    fn is_slow(&self) -> bool {
        match self {
            Self::Bcrypt(hash) => {
                hash.parse::<bcrypt::HashParts>().is_ok_and(|parts| parts.get_cost() > BCRYPT_COST_QUICK_MAX)
            }
            Self::Sha(hash) => hash.rounds() > SHA_ROUNDS_QUICK_MAX,
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        if ["$2y$", "$2b$", "$2a$"].iter().any(|prefix| text.starts_with(prefix)) {
            let parts: bcrypt::HashParts = text.parse().map_err(|_| "not a whole bcrypt hash".to_owned())?;
            let cost = parts.get_cost();
            if !BCRYPT_COSTS.contains(&cost) {
                return Err(format!("bcrypt cost {cost} is not between 4 and 15"));
            }
            return Ok(Self::Bcrypt(text.to_owned()));
        }
        if text.starts_with("$5$") || text.starts_with("$6$") {
            return ShaCrypt::parse(text).map(Self::Sha);
        }
        let kind = if text.starts_with("$apr1$") || text.starts_with("$1$") {
            "MD5"
        } else if text.starts_with("{SHA}") {
            "unsalted SHA-1"
        } else if text.starts_with('$') {
            return Err("a kind of hash that is not known here; make one with `htpasswd -B`".to_owned());
        } else {
            "plain text or DES crypt"
        };
        Err(format!("{kind} is no protection; make a bcrypt hash with `htpasswd -B`"))
    }
}

impl fmt::Debug for Htpasswd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Htpasswd({} users)", self.users.len())
    }
}

impl fmt::Debug for PasswordCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordCheck(..)")
    }
}

impl fmt::Display for HtpasswdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for HtpasswdError {}
