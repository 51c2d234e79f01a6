//! Machines, their names and states.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Identifier of a machine at its provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineId(pub String);

/// Name of an intended machine before it exists, which makes creations idempotent. Providers that need a
/// machine name use it, too. It has 1 to 63 characters of `a-z 0-9 -`, without a dash at the beginning or end
/// (a DNS label, RFC 1123).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Token(String);

/// Error of an invalid [`Token`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadToken(String);

/// A machine as its provider reports it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// Identifier for provider calls.
    pub id: MachineId,
    /// Token of the creation; `None` if the provider has lost it.
    pub token: Option<Token>,
    /// Address, once known.
    pub ip: Option<IpAddr>,
    /// Port of the service, if the provider chose it.
    pub port: Option<u16>,
    /// State of the machine.
    pub state: MachineState,
    /// Size, as the provider names it.
    pub flavour: Option<String>,
    /// Zone, as the provider names it.
    pub zone: Option<String>,
    /// Price of an hour, in any currency, if the provider reports it.
    pub cost_per_hour: Option<f64>,
    /// Other attached tags.
    pub tags: BTreeMap<String, String>,
    /// Time of creation, in seconds since 1970.
    pub created_s: Option<u64>,
    /// Reason for the state, for operators.
    pub note: Option<String>,
}

/// State of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineState {
    /// The machine is being created, started or restarted.
    Building,
    /// The machine runs. Health checks determine if its service answers.
    Running,
    /// The machine is being stopped.
    Stopping,
    /// The machine is stopped, and can be started again.
    Stopped,
    /// The machine is being deleted.
    Deleting,
    /// The machine is unusable, and does not recover by itself.
    Failed,
    /// The provider reports an unknown state. The machine counts neither as capacity nor as a problem.
    Unknown,
}

/// Number of random digits at the end of a new token.
const RANDOM_DIGITS: usize = 12;

impl MachineId {
    /// Returns the identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Token {
    /// Maximum length in bytes.
    pub const BYTES_MAX: usize = 63;

    /// Parses a token.
    pub fn new(text: &str) -> Result<Self, BadToken> {
        let permitted = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let good = (1..=Self::BYTES_MAX).contains(&text.len())
            && text.bytes().all(permitted)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if good { Ok(Self(text.to_owned())) } else { Err(BadToken(text.chars().take(80).collect())) }
    }

    /// Creates a unique token: the permitted part of the fleet's name, and random digits.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn fresh(fleet: &str) -> Result<Self, BadToken> {
        let mut random = [0; RANDOM_DIGITS / 2];
        aws_lc_rs::rand::fill(&mut random).map_err(|_| BadToken("no randomness".to_owned()))?;
        let mut text = plain(fleet);
        if !text.is_empty() {
            text.push('-');
        }
        for byte in random {
            text.push_str(&format!("{byte:02x}"));
        }
        Self::new(&text)
    }

    /// Returns the token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the part of a fleet's name that is permitted in a token.
fn plain(fleet: &str) -> String {
    let kept = fleet.bytes().take(Token::BYTES_MAX - RANDOM_DIGITS - 1);
    let plain: String = kept
        .map(|byte| match byte.to_ascii_lowercase() {
            byte @ (b'a'..=b'z' | b'0'..=b'9') => char::from(byte),
            _ => '-',
        })
        .collect();
    plain.trim_start_matches('-').to_owned()
}

/// Returns true if [`Token::fresh`] can have created the name for this fleet.
pub(crate) fn token_of(fleet: &str, name: &str) -> bool {
    let Some((kept, digits)) = name.rsplit_once('-') else { return false };
    let is_random = digits.len() == RANDOM_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_random && kept == plain(fleet)
}

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Token {
    type Error = BadToken;

    fn try_from(text: String) -> Result<Self, BadToken> {
        Self::new(&text)
    }
}

impl From<Token> for String {
    fn from(token: Token) -> Self {
        token.0
    }
}

impl fmt::Display for BadToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no token (1 to {} of a-z, 0-9 and -)", self.0, Token::BYTES_MAX)
    }
}

impl std::error::Error for BadToken {}
