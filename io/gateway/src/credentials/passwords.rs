//! The users of an area, from an htpasswd file.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_access::basic::{Htpasswd, PasswordCache, PasswordCheck, PasswordFingerprint};
use weir_access::identity::{BadPassword, BasicUser};

use super::password_checks::{PasswordChecks, Presenter};
use crate::crypto::{self, AwsLc};
use crate::refusal::Refusal;
use crate::single_flight::Flights;

/// Time for which a check result is cached, in seconds.
const REMEMBERED_SECS: u64 = 300;
const REMEMBERED_MAX: usize = 10_000;

/// Users of an area and their recently checked passwords.
pub(crate) struct Passwords {
    file: PathBuf,
    users: Htpasswd,
    remembered: Arc<Mutex<Remembered>>,
    /// Passwords that are being checked. A client that starts with many requests causes one check.
    under_way: Flights<PasswordFingerprint>,
}

/// Passwords that were checked recently.
struct Remembered {
    right: PasswordCache,
    wrong: PasswordCache,
}

impl Passwords {
    /// Reads an htpasswd file. Blocks.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("htpasswd {}: {error}", path.display());
        let mut text = String::new();
        let file = File::open(path).map_err(|error| failed(&error))?;
        // One byte more than the limit shows that the file is too long.
        let limit = Htpasswd::BYTES_MAX as u64 + 1;
        file.take(limit).read_to_string(&mut text).map_err(|error| failed(&error))?;
        let users = Htpasswd::parse(&text).map_err(|error| failed(&error))?;
        let key = crypto::random().ok_or_else(|| failed(&"the system has no random numbers"))?;
        let cache = || PasswordCache::new(&key, REMEMBERED_SECS, REMEMBERED_MAX);
        Ok(Self {
            file: path.to_owned(),
            users,
            remembered: Arc::new(Mutex::new(Remembered { right: cache(), wrong: cache() })),
            under_way: Flights::default(),
        })
    }

    /// Returns the stored password hash of a user.
    pub(crate) fn hash_of(&self, user: &str) -> Option<&str> {
        self.users.hash_of(user)
    }

    /// Checks the password of a user.
    ///
    /// # Errors
    /// If there were too many wrong passwords from this client or for this user, or if too many checks wait.
    pub(crate) async fn check(
        &self,
        checks: &PasswordChecks,
        client: IpAddr,
        user: &str,
        password: String,
        now_s: u64,
    ) -> Result<Result<BasicUser, BadPassword>, Refusal> {
        if PasswordCheck::is_too_long(&password) {
            return Ok(Err(BadPassword));
        }
        let who = checks.presenter(client, &self.file, user);
        let fingerprint = remembered(&self.remembered).right.fingerprint(user, &password, &AwsLc);
        if let Some(known) = self.recall(checks, who, fingerprint, user, now_s)? {
            return Ok(known);
        }
        let _turn = self.under_way.turn(fingerprint).await;
        // The previous holder of the turn may have checked this password.
        if let Some(known) = self.recall(checks, who, fingerprint, user, now_s)? {
            return Ok(known);
        }
        let (check, cache) = (self.users.check(user), Arc::clone(&self.remembered));
        let check = move || {
            let checked = check.run(&password, &AwsLc);
            let mut cache = remembered(&cache);
            let cache = if checked.is_ok() { &mut cache.right } else { &mut cache.wrong };
            cache.remember(fingerprint, now_s);
            checked
        };
        checks.run(who, Box::new(check)).await
    }

    /// Returns the cached result for a password.
    ///
    /// # Errors
    /// If there were too many wrong passwords. Then the cache does not reveal a right password either.
    fn recall(
        &self,
        checks: &PasswordChecks,
        who: Presenter,
        fingerprint: PasswordFingerprint,
        user: &str,
        now_s: u64,
    ) -> Result<Option<Result<BasicUser, BadPassword>>, Refusal> {
        if remembered(&self.remembered).wrong.holds(fingerprint, now_s) {
            return Ok(Some(Err(BadPassword)));
        }
        checks.admit(who)?;
        let is_right = remembered(&self.remembered).right.holds(fingerprint, now_s);
        Ok(is_right.then(|| Ok(BasicUser { name: user.to_owned() })))
    }
}

fn remembered(of: &Mutex<Remembered>) -> MutexGuard<'_, Remembered> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.users.fmt(f)
    }
}
