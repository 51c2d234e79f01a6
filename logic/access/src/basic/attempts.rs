use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::budget::{Budgets, network};
use crate::crypto::Crypto;

/// Wrong passwords for one user from one client: so many at once, which come back within a minute.
const OF_PAIR: (u32, u64) = (10, 60_000);
/// Wrong passwords from one client, whatever the user: many people can share an address. They come back within ten minutes.
const OF_CLIENT: (u32, u64) = (100, 600_000);
/// Wrong passwords for one user from all clients from which that user has never come. They come back within an hour: NIST SP 800-63B
/// section 5.2.2 has at most 100 for an account.
const OF_USER: (u32, u64) = (100, 3_600_000);

/// A client from which a user has come is remembered for so long, in milliseconds.
const KNOWN_MS: u64 = 7 * 24 * 3_600_000;
const KNOWN_MAX: usize = 10_000;

/// Limits how many passwords are tried.
///
/// | budget | at once | one more after |
/// |---|---|---|
/// | of a client for a user | 10 | 6 s |
/// | of a client | 100 | 6 s |
/// | of a user, from clients from which the user has never come | 100 | 36 s |
///
/// The first one counts before any look at remembered passwords, which would tell a guesser which one is right: it counts a password
/// that is not among them even if it is not checked then. The third one leaves out clients that have shown the user's password:
/// strangers do not lock a user out. A right password costs nothing.
///
/// A client is an address, of IPv6 a network of 64 bits. Times are milliseconds of any clock that never goes back.
#[derive(Debug)]
pub struct PasswordAttempts {
    key: [u8; 32],
    pairs: Budgets<(IpAddr, UserKey)>,
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
            pairs: Budgets::new(OF_PAIR.0, OF_PAIR.1),
            clients: Budgets::new(OF_CLIENT.0, OF_CLIENT.1),
            users: Budgets::new(OF_USER.0, OF_USER.1),
            known: BTreeMap::new(),
        }
    }

    /// What stands for a user of a file.
    pub fn user(&self, file: &[u8], user: &str, crypto: &dyn Crypto) -> UserKey {
        // The length keeps ("ab", "c") apart from ("a", "bc").
        let length = (file.len() as u64).to_be_bytes();
        UserKey(crypto.hmac_sha256(&self.key, &[&length[..], file, user.as_bytes()]))
    }

    /// Whether nothing that a client says of a user is looked at now: in how many seconds it is.
    pub fn wait_secs(&self, client: IpAddr, user: UserKey, now_ms: u64) -> Option<u64> {
        self.pairs.wait_secs(&(network(client), user), now_ms)
    }

    /// Counts a password that is not among the remembered ones.
    ///
    /// # Errors
    /// It is one too many, and must not be checked: in how many seconds the client may try again.
    pub fn begin(&mut self, client: IpAddr, user: UserKey, now_ms: u64) -> Result<Attempt, u64> {
        let client = network(client);
        // What was looked up among the remembered ones counts here, even if it is refused below.
        self.pairs.take((client, user), now_ms)?;
        self.clients.take(client, now_ms)?;
        let is_strange = !self.has_come(client, user, now_ms);
        if is_strange && let Err(seconds) = self.users.take(user, now_ms) {
            self.clients.give_back(&client);
            return Err(seconds);
        }
        Ok(Attempt { client, user, is_strange })
    }

    /// Settles what [`Self::begin`] has counted.
    pub fn end(&mut self, attempt: Attempt, end: AttemptEnd, now_ms: u64) {
        let Attempt { client, user, is_strange } = attempt;
        if end == AttemptEnd::Wrong {
            return;
        }
        self.clients.give_back(&client);
        if is_strange {
            self.users.give_back(&user);
        }
        if end == AttemptEnd::Right {
            self.pairs.give_back(&(client, user));
            self.remember(client, user, now_ms);
        }
    }

    /// Whether some user has come from a client.
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
