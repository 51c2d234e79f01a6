use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use weir_access::basic::{Htpasswd, PositiveCache};
use weir_access::identity::{BadPassword, BasicUser};
use weir_storage::Disk;

use super::TOO_MANY;
use crate::crypto::{self, AwsLc};
use crate::refusal::Refusal;

/// How long a password that was right need not be checked again, in seconds.
const REMEMBERED_SECS: u64 = 300;
const REMEMBERED_MAX: usize = 10_000;
/// Checks are slow on purpose, and keep a core busy: no more than this many at a time, or waiting.
const CHECKS_MAX: usize = 2;
const WAITING_MAX: usize = 256;

/// The users of an area.
pub(crate) struct Passwords {
    users: Htpasswd,
    right: Mutex<PositiveCache>,
    threads: Disk,
}

impl Passwords {
    /// Reads an htpasswd file. Blocks.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("htpasswd {}: {error}", path.display());
        let mut text = String::new();
        let file = File::open(path).map_err(|error| failed(&error))?;
        // One byte more tells that it is too long.
        let limit = Htpasswd::BYTES_MAX as u64 + 1;
        file.take(limit).read_to_string(&mut text).map_err(|error| failed(&error))?;
        let users = Htpasswd::parse(&text).map_err(|error| failed(&error))?;
        let key = crypto::random().ok_or_else(|| failed(&"the system has no random numbers"))?;
        Ok(Self {
            users,
            right: Mutex::new(PositiveCache::new(&key, REMEMBERED_SECS, REMEMBERED_MAX)),
            threads: Disk::new("passwords", CHECKS_MAX, WAITING_MAX),
        })
    }

    /// What a user's password is checked with.
    pub(crate) fn hash_of(&self, user: &str) -> Option<&str> {
        self.users.hash_of(user)
    }

    /// Whether it is the user's password.
    ///
    /// # Errors
    /// Too many are being checked.
    pub(crate) async fn check(
        &self,
        user: &str,
        password: String,
        now_s: u64,
    ) -> Result<Result<BasicUser, BadPassword>, Refusal> {
        let fingerprint = {
            let right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
            let fingerprint = right.fingerprint(user, &password, &AwsLc);
            if let Some(user) = right.look_up(user, fingerprint, now_s) {
                return Ok(Ok(user));
            }
            fingerprint
        };
        let check = self.users.check(user);
        let checked =
            self.threads.run(move || Ok(check.run(&password, &AwsLc))).await.map_err(|_| TOO_MANY)?;
        if checked.is_ok() {
            self.right.lock().unwrap_or_else(PoisonError::into_inner).remember(fingerprint, now_s);
        }
        Ok(checked)
    }
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.users.fmt(f)
    }
}
