//! Password files in the format of Apache's htpasswd, and password checks.

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
    /// Text of the hash, as in the file.
    text: String,
}

/// A password hash of a supported kind.
#[derive(Clone)]
enum Hash {
    Bcrypt(String),
    Sha(ShaCrypt),
}

/// Reason why a password file is invalid. It never shows a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtpasswdError {
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error.
    pub why: String,
}

/// A password check with all its data. It is slow, so the caller runs it on a thread that may block.
pub struct PasswordCheck {
    user: String,
    hash: Arc<Hash>,
    known: bool,
}

/// Accepted bcrypt costs. Each step doubles the work; cost 15 takes seconds.
const BCRYPT_COSTS: std::ops::RangeInclusive<u32> = 4..=15;

/// Maximum bcrypt cost that is not reported as slow. Usual are costs of 10 to 12, and 5,000 rounds of
/// SHA-crypt.
const BCRYPT_COST_QUICK_MAX: u32 = 12;
const SHA_ROUNDS_QUICK_MAX: u32 = 200_000;

/// Hash that passwords are compared with if the file has no users, so that the time of a check reveals
/// nothing. No password for it is known. Its cost is the one that `htpasswd -B` uses most.
const UNKNOWN_USER: &str = "$2y$10$abcdefghijklmnopqrstuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu";

impl Htpasswd {
    /// Maximum size of the file, in bytes.
    pub const BYTES_MAX: usize = 16 * 1024 * 1024;
    /// Maximum length of a password, in bytes. With bcrypt the limit is 71 bytes. Bcrypt would ignore any
    /// further bytes, so Weir treats longer passwords as wrong.
    pub const PASSWORD_BYTES_MAX: usize = 256;

    /// Parses lines of `user:hash` and ignores empty lines and lines that begin with `#`. Supports bcrypt
    /// (`$2y$`, `$2b$`, `$2a$`), SHA-256-crypt (`$5$`) and SHA-512-crypt (`$6$`).
    ///
    /// # Errors
    /// If a line has another form, a user occurs twice, or a hash is of an insecure or unknown kind.
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
            // Some files have further fields, as /etc/shadow does.
            let hash = hash.split(':').next().unwrap_or(hash);
            let text = hash.to_owned();
            let hash = Hash::parse(hash).map_err(|why| fail(format!("user {user}: {why}")))?;
            if users.insert(user.to_owned(), User { hash: Arc::new(hash), text }).is_some() {
                return Err(fail(format!("user {user} is there twice")));
            }
        }
        Ok(Self { users })
    }

    /// Returns the number of users.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Returns true if the file has no users.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Returns true if the file has a user of this name.
    pub fn knows(&self, user: &str) -> bool {
        self.users.contains_key(user)
    }

    /// Returns the text of a user's hash. It changes whenever the password is set again, even to the same
    /// password.
    pub fn hash_of(&self, user: &str) -> Option<&str> {
        self.users.get(user).map(|user| user.text.as_str())
    }

    /// Returns the users with slow hashes, in alphabetical order. Their checks delay those of other users.
    pub fn slow_users(&self) -> impl Iterator<Item = &str> {
        self.users.iter().filter(|(_, user)| user.hash.is_slow()).map(|(name, _)| name.as_str())
    }

    /// Returns the check of a user's password. For an unknown user, the check takes as long and always fails.
    pub fn check(&self, user: &str) -> PasswordCheck {
        let (hash, known) = match (self.users.get(user), self.users.values().next()) {
            (Some(user), _) => (Arc::clone(&user.hash), true),
            // Use an existing user's hash, so that the check does the same kind of work.
            (None, Some(other)) => (Arc::clone(&other.hash), false),
            (None, None) => (Arc::new(Hash::Bcrypt(UNKNOWN_USER.to_owned())), false),
        };
        PasswordCheck { user: user.to_owned(), hash, known }
    }
}

impl PasswordCheck {
    /// Returns true if a password is longer than any accepted password. Such a password need not be checked.
    pub fn is_too_long(password: &str) -> bool {
        password.len() > Htpasswd::PASSWORD_BYTES_MAX
    }

    /// Compares the password in a time that does not depend on its bytes. **Takes tens of milliseconds or
    /// more.**
    ///
    /// # Errors
    /// If the user does not exist or the password is wrong.
    pub fn run(self, password: &str, crypto: &dyn Crypto) -> Result<BasicUser, BadPassword> {
        if Self::is_too_long(password) {
            return Err(BadPassword);
        }
        let right = match self.hash.as_ref() {
            // Fails for a password that bcrypt would truncate.
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
