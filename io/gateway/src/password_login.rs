//! Password logins outside storage areas, with the users of an htpasswd file.

use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use weir_access::basic::{Authorization, parse_authorization};

use crate::clock::unix_now_s;
use crate::credentials::{PasswordChecks, Passwords};
use crate::refusal::Refusal;

/// Retry time in seconds if too many checks wait.
const BUSY_SECS: u64 = 5;

/// Checks passwords of the users of an htpasswd file, on its own threads. Clients take turns. Wrong passwords
/// are limited by client and user.
#[derive(Debug)]
pub struct PasswordLogin {
    passwords: Passwords,
    checks: Arc<PasswordChecks>,
}

/// Reason why a client is not logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginRefusal {
    /// The password is missing or wrong.
    Wrong,
    /// The password is not checked now. Retry after this many seconds.
    Later(u64),
}

impl PasswordLogin {
    /// Reads an htpasswd file. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid. The text names it.
    pub fn read(file: &Path) -> Result<Self, String> {
        let checks = PasswordChecks::new().ok_or("passwords: the system has no random numbers")?;
        Ok(Self { passwords: Passwords::read(file)?, checks: Arc::new(checks) })
    }

    /// Returns the user whose password an `Authorization` header has (Basic, RFC 7617). `client` is `None`
    /// for a Unix socket.
    ///
    /// # Errors
    /// If the password is missing, wrong, or not checked now.
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
