//! Rate limits for password attempts, per client and per user.

use std::collections::BTreeMap;
use std::net::IpAddr;

use weir_model::client_network;

use crate::budget::Budgets;
use crate::crypto::Crypto;

/// Wrong passwords for one user from one client: the burst, and the time in milliseconds in which it comes
/// back.
const OF_PAIR: (u32, u64) = (10, 60_000);
/// Wrong passwords from one client for all users; it is larger because many people can share an address.
const OF_CLIENT: (u32, u64) = (100, 600_000);
/// Wrong passwords for one user from all clients that this user has never logged in from.
const OF_USER: (u32, u64) = (100, 3_600_000);

/// Time for which a client that a user has logged in from is remembered, in milliseconds.
const KNOWN_MS: u64 = 7 * 24 * 3_600_000;
const KNOWN_MAX: usize = 10_000;

/// Limits the number of password attempts.
///
/// | budget | burst | one more after |
/// |---|---|---|
/// | of a client for one user | 10 | 6 s |
/// | of a client, for users that have never logged in from it | 100 | 6 s |
/// | of a user, from clients that the user has never logged in from | 100 | 36 s |
///
/// The first two budgets are charged before the cache of right passwords is searched, else a cache hit would
/// reveal the right password to an attacker. They charge each password that is not in the cache, even if it
/// is not checked afterwards.
///
/// A pair of a client and a user that has logged in from it has a table of its own and no other limit. So
/// neither unknown clients nor other users behind the same address can lock that user out. A right password
/// costs nothing.
///
/// A client is an IPv4 address or an IPv6 /64 network. Times are milliseconds of any clock that never goes
/// back.
#[derive(Debug)]
pub struct PasswordAttempts {
    key: [u8; 32],
    /// Budgets of the pairs in `known`. There is always room, because `known` has no more entries than the
    /// table.
    known_pairs: Budgets<(IpAddr, UserKey)>,
    strange_pairs: Budgets<(IpAddr, UserKey)>,
    clients: Budgets<IpAddr>,
    users: Budgets<UserKey>,
    /// Clients that have presented a user's right password, and the time of the last success.
    known: BTreeMap<(IpAddr, UserKey), u64>,
}

/// Key of a user of a password file. It is a keyed hash, because user names are untrusted and may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserKey([u8; 32]);

/// A password attempt before its check. It counts as wrong until [`PasswordAttempts::end`] reports another
/// result.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Attempt {
    client: IpAddr,
    user: UserKey,
    /// Set when the user has never logged in from this client.
    is_strange: bool,
}

/// Result of an [`Attempt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The password is right.
    Right,
    /// The password is wrong.
    Wrong,
    /// The password was not checked, because the client has gone or too many checks wait.
    NotChecked,
}

impl PasswordAttempts {
    /// Creates empty limits. `key` is 32 random bytes, generated at each start of the process.
    pub fn new(key: &[u8; 32]) -> Self {
        Self {
            key: *key,
            known_pairs: Budgets::new(OF_PAIR.0, OF_PAIR.1),
            strange_pairs: Budgets::new(OF_PAIR.0, OF_PAIR.1),
            clients: Budgets::new(OF_CLIENT.0, OF_CLIENT.1),
            users: Budgets::new(OF_USER.0, OF_USER.1),
            known: BTreeMap::new(),
        }
    }

    /// Returns the key of a user of a password file.
    pub fn user(&self, file: &[u8], user: &str, crypto: &dyn Crypto) -> UserKey {
        // The length distinguishes ("ab", "c") from ("a", "bc").
        let length = (file.len() as u64).to_be_bytes();
        UserKey(crypto.hmac_sha256(&self.key, &[&length[..], file, user.as_bytes()]))
    }

    /// Returns the seconds until the client may try this user again; `None` = it may try now.
    pub fn wait_secs(&self, client: IpAddr, user: UserKey, now_ms: u64) -> Option<u64> {
        let client = client_network(client);
        let pair = (client, user);
        if self.has_come(client, user, now_ms) {
            return self.known_pairs.wait_secs(&pair, now_ms);
        }
        let of_pair = self.strange_pairs.wait_secs(&pair, now_ms);
        of_pair.or_else(|| self.clients.wait_secs(&client, now_ms))
    }

    /// Counts a password that is not in the cache of right passwords.
    ///
    /// # Errors
    /// If the limit is reached; the caller must not check the password then. The error is the number of
    /// seconds until the client may try again.
    pub fn begin(&mut self, client: IpAddr, user: UserKey, now_ms: u64) -> Result<Attempt, u64> {
        let client = client_network(client);
        let pair = (client, user);
        if self.has_come(client, user, now_ms) {
            self.known_pairs.take(pair, now_ms)?;
            return Ok(Attempt { client, user, is_strange: false });
        }
        // Charge the client first, so that it cannot fill the table of pairs with invented users.
        self.clients.take(client, now_ms)?;
        // The pair stays charged if the user's budget is spent, because the cache was already searched for
        // the password.
        let taken = self.strange_pairs.take(pair, now_ms).and_then(|()| self.users.take(user, now_ms));
        if let Err(seconds) = taken {
            self.clients.give_back(&client);
            return Err(seconds);
        }
        Ok(Attempt { client, user, is_strange: true })
    }

    /// Settles the charges of [`Self::begin`] by the result of the attempt.
    pub fn end(&mut self, attempt: Attempt, end: AttemptEnd, now_ms: u64) {
        let Attempt { client, user, is_strange } = attempt;
        if end == AttemptEnd::Wrong {
            return;
        }
        if is_strange {
            self.users.give_back(&user);
        }
        if end == AttemptEnd::Right {
            match is_strange {
                true => {
                    self.clients.give_back(&client);
                    self.strange_pairs.give_back(&(client, user));
                }
                false => self.known_pairs.give_back(&(client, user)),
            }
            self.remember(client, user, now_ms);
        }
    }

    /// Returns true if some user has logged in from a client recently.
    pub fn knows(&self, client: IpAddr, now_ms: u64) -> bool {
        let client = client_network(client);
        let (first, last) = (UserKey([0; 32]), UserKey([0xff; 32]));
        let mut users = self.known.range((client, first)..=(client, last));
        users.any(|(_, at_ms)| is_recent(*at_ms, now_ms))
    }

    fn has_come(&self, client: IpAddr, user: UserKey, now_ms: u64) -> bool {
        self.known.get(&(client, user)).is_some_and(|at_ms| is_recent(*at_ms, now_ms))
    }

    fn remember(&mut self, client: IpAddr, user: UserKey, now_ms: u64) {
        if self.known.len() >= KNOWN_MAX && !self.known.contains_key(&(client, user)) {
            let oldest = self.known.iter().min_by_key(|(_, at_ms)| **at_ms).map(|(pair, _)| *pair);
            oldest.map(|pair| self.known.remove(&pair));
        }
        self.known.insert((client, user), now_ms);
    }
}

fn is_recent(at_ms: u64, now_ms: u64) -> bool {
    now_ms.saturating_sub(at_ms) < KNOWN_MS
}
