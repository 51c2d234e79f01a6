use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::budget::{Budgets, network};
use crate::crypto::Crypto;

/// Wrong passwords for one user from one client: so many at once, which come back within a minute.
const OF_PAIR: (u32, u64) = (10, 60_000);
/// Wrong passwords from one client, whatever the user: many people can share an address. They come back within ten minutes.
const OF_CLIENT: (u32, u64) = (100, 600_000);
/// Wrong passwords for one user from all clients from which that user has never come. They come back within an hour.
const OF_USER: (u32, u64) = (100, 3_600_000);

/// A client from which a user has come is remembered for so long, in milliseconds.
const KNOWN_MS: u64 = 7 * 24 * 3_600_000;
const KNOWN_MAX: usize = 10_000;

/// Limits how many passwords are tried.
///
/// | budget | at once | one more after |
/// |---|---|---|
/// | of a client for a user | 10 | 6 s |
/// | of a client, for users who have never come from it | 100 | 6 s |
/// | of a user, from clients from which the user has never come | 100 | 36 s |
///
/// The first two count before any look at remembered passwords, which would tell a guesser which one is right: they count a password
/// that is not among them even if it is not checked then. Pairs of a client and a user who has come from it have a table of their own and
/// no other limit: neither strangers nor neighbours behind the same address lock that user out. A right password costs nothing.
///
/// A client is an address, of IPv6 a network of 64 bits. Times are milliseconds of any clock that never goes back.
#[derive(Debug)]
pub struct PasswordAttempts {
    key: [u8; 32],
    /// At most as many keys as `known` has: there is always room.
    known_pairs: Budgets<(IpAddr, UserKey)>,
    strange_pairs: Budgets<(IpAddr, UserKey)>,
    clients: Budgets<IpAddr>,
    users: Budgets<UserKey>,
    /// Clients that have shown a user's password, and when they did it last.
    known: BTreeMap<(IpAddr, UserKey), u64>,
}

/// Stands for a user of a password file: a keyed hash, because names come from strangers and may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserKey([u8; 32]);

/// A password that is about to be checked. It counts as wrong until [`PasswordAttempts::end`] says otherwise.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Attempt {
    client: IpAddr,
    user: UserKey,
    /// The user has never come from this client.
    is_strange: bool,
}

/// How an [`Attempt`] has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The password is the user's.
    Right,
    /// It is not.
    Wrong,
    /// It was not checked: its client is gone, or too many checks wait.
    NotChecked,
}

impl PasswordAttempts {
    /// `key` is 32 random bytes, made at each start.
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

    /// Returns the key of a user of a file.
    pub fn user(&self, file: &[u8], user: &str, crypto: &dyn Crypto) -> UserKey {
        // The length keeps ("ab", "c") apart from ("a", "bc").
        let length = (file.len() as u64).to_be_bytes();
        UserKey(crypto.hmac_sha256(&self.key, &[&length[..], file, user.as_bytes()]))
    }

    /// Returns the seconds until the client may try this user again; `None`: now.
    pub fn wait_secs(&self, client: IpAddr, user: UserKey, now_ms: u64) -> Option<u64> {
        let client = network(client);
        let pair = (client, user);
        if self.has_come(client, user, now_ms) {
            return self.known_pairs.wait_secs(&pair, now_ms);
        }
        let of_pair = self.strange_pairs.wait_secs(&pair, now_ms);
        of_pair.or_else(|| self.clients.wait_secs(&client, now_ms))
    }

    /// Counts a password that is not among the remembered ones.
    ///
    /// # Errors
    /// It is one too many, and must not be checked: the seconds until the client may try again.
    pub fn begin(&mut self, client: IpAddr, user: UserKey, now_ms: u64) -> Result<Attempt, u64> {
        let client = network(client);
        let pair = (client, user);
        if self.has_come(client, user, now_ms) {
            self.known_pairs.take(pair, now_ms)?;
            return Ok(Attempt { client, user, is_strange: false });
        }
        // The client pays first: it cannot fill the table of pairs with invented users.
        self.clients.take(client, now_ms)?;
        // A pair keeps what it has taken if the user's budget is spent: the password was looked up among the remembered ones.
        let taken = self.strange_pairs.take(pair, now_ms).and_then(|()| self.users.take(user, now_ms));
        if let Err(seconds) = taken {
            self.clients.give_back(&client);
            return Err(seconds);
        }
        Ok(Attempt { client, user, is_strange: true })
    }

    /// Settles what [`Self::begin`] has counted.
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

    /// Returns whether some user has come from a client.
    pub fn knows(&self, client: IpAddr, now_ms: u64) -> bool {
        let client = network(client);
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
