//! Logins with a password, for what is no storage area: the users of an htpasswd file.

use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use weir_access::basic::{Authorization, parse_authorization};

use crate::clock::unix_now_s;
use crate::credentials::{PasswordChecks, Passwords};
use crate::refusal::Refusal;

/// A client may try again after so many seconds where too many checks wait.
const BUSY_SECS: u64 = 5;

/// Checks passwords of the users of an htpasswd file, on threads of its own, clients in turn. Wrong ones are limited by client and user.
#[derive(Debug)]
pub struct PasswordLogin {
    passwords: Passwords,
    checks: Arc<PasswordChecks>,
}

/// Reason why a client is not logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginRefusal {
    /// There is no password, or it is wrong.
    Wrong,
    /// It is not checked now; after so many seconds it may be.
    Later(u64),
}

impl PasswordLogin {
    /// Reads an htpasswd file. Blocks.
    ///
    /// # Errors
    /// The file cannot be read, or is none. The text names it.
    pub fn read(file: &Path) -> Result<Self, String> {
        let checks = PasswordChecks::new().ok_or("passwords: the system has no random numbers")?;
        Ok(Self { passwords: Passwords::read(file)?, checks: Arc::new(checks) })
    }

    /// Returns the user whose password an `Authorization` header has (Basic, RFC 7617). `client`: `None` = it came through a Unix socket.
    ///
    /// # Errors
    /// The client is not logged in.
    pub async fn check(
        &self,
        client: Option<IpAddr>,
        authorization: Option<&[u8]>,
    ) -> Result<String, LoginRefusal> {
        let value = authorization.and_then(|value| std::str::from_utf8(value).ok());
        let Some(Ok(Authorization::Basic { user, password })) = value.map(parse_authorization) else {
            return Err(LoginRefusal::Wrong);
        };
        let client = client.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        match self.passwords.check(&self.checks, client, &user, password, unix_now_s()).await {
            Ok(Ok(user)) => Ok(user.name),
            Ok(Err(_)) => Err(LoginRefusal::Wrong),
            Err(Refusal::TooManyPasswords(seconds)) => Err(LoginRefusal::Later(seconds)),
            Err(_) => Err(LoginRefusal::Later(BUSY_SECS)),
        }
    }
}
