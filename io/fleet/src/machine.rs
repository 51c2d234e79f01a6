use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What a provider calls a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineId(pub String);

/// Names one intended machine, before there is one: what makes creating repeatable. Also the machine's name where the
/// provider wants one: 1 to 63 characters of `a-z 0-9 -`, none of the outer ones a dash (a DNS label, RFC 1123).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Token(String);

/// Why a text is no [`Token`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadToken(String);

/// A machine as its provider tells of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// What to call it when something is to be done with it.
    pub id: MachineId,
    /// What it was created for; `None` if the provider has lost it.
    pub token: Option<Token>,
    /// Where it can be reached, as soon as that is known.
    pub ip: Option<IpAddr>,
    /// The port of its service, if the provider chose it.
    pub port: Option<u16>,
    /// What it is doing.
    pub state: MachineState,
    /// Its size, as the provider names it.
    pub flavour: Option<String>,
    /// Where it stands, as the provider names it.
    pub zone: Option<String>,
    /// What an hour of it costs, in any currency, if the provider tells.
    pub cost_per_hour: Option<f64>,
    /// What else is attached to it.
    pub tags: BTreeMap<String, String>,
    /// Seconds since 1970.
    pub created_s: Option<u64>,
    /// For people: why it is in this state, where that is worth saying.
    pub note: Option<String>,
}

/// What a machine is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineState {
    /// On its way to running: being created, started or restarted.
    Building,
    /// Running. Whether its service answers is for health checks to say.
    Running,
    /// On its way to stopped.
    Stopping,
    /// There, and not running: can be started again.
    Stopped,
    /// On its way out.
    Deleting,
    /// Of no use, and does not become so by itself.
    Failed,
    /// The provider says something that we do not know. Neither capacity nor in the way.
    Unknown,
}

/// Digits of a fresh token after the fleet's name.
const RANDOM_DIGITS: usize = 12;

impl MachineId {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Token {
    /// The longest, in bytes.
    pub const BYTES_MAX: usize = 63;

    /// Accepts `text` if it is a token.
    pub fn new(text: &str) -> Result<Self, BadToken> {
        let permitted = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let good = (1..=Self::BYTES_MAX).contains(&text.len())
            && text.bytes().all(permitted)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if good { Ok(Self(text.to_owned())) } else { Err(BadToken(text.chars().take(80).collect())) }
    }

    /// One that has not been there before: the fleet's name, as far as it can stand in a token, and random digits.
    ///
    /// # Errors
    /// The system has no randomness to give.
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

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A fleet's name, as far as it can stand in a token.
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

/// Whether a name is one that [`Token::fresh`] makes for a fleet.
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
