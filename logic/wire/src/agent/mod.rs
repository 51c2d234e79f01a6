//! HAProxy's agent-check protocol: the reply of an agent that runs beside a server.
//!
//! A reply is one line of words, separated by spaces, tabs or commas, in any order and case. If two words set
//! the same property, the last one counts. Properties that the reply does not mention keep their values. The
//! text after `#` is a remark for people.

mod state;

pub use state::AgentState;

/// An agent's reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentReply {
    /// Percentage of the server's configured weight, from a word such as `75%`.
    pub weight_percent: Option<u32>,
    /// Maximum number of concurrent requests, from a word such as `maxconn:30`.
    pub connections_max: Option<u32>,
    /// CPU load from a word such as `cpu:63%`; 100 = all processors are busy. HAProxy ignores this word.
    pub cpu_percent: Option<u32>,
    /// Administrative state: whether the server should get requests.
    pub wish: Option<AgentWish>,
    /// Operational state: whether the server can handle requests.
    pub condition: Option<AgentCondition>,
    /// Text after `#`.
    pub remark: String,
    /// First unknown word. Weir still applies the other words.
    pub unknown: Option<String>,
}

/// The administrative state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentWish {
    /// The server gets requests.
    Ready,
    /// The server gets no new requests.
    Drain,
    /// The server gets no new requests and no health checks.
    Maintenance,
}

/// The operational state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentCondition {
    /// Up, if its health checks succeed too.
    Up,
    /// Down.
    Down,
    /// Down, because the server has failed.
    Failed,
    /// Down, because the server was stopped on purpose.
    Stopped,
}

/// Maximum length of a reply without a line end, in bytes; the rest is cut off.
pub const REPLY_BYTES_MAX: usize = 1_024;

/// Returns true if the first line of the reply has arrived, or the maximum length.
pub fn is_complete(input: &[u8]) -> bool {
    input.len() >= REPLY_BYTES_MAX || input.iter().any(|byte| is_line_end(*byte))
}

/// Parses the first non-empty line of `input`. Returns `None` if there is none.
pub fn parse(input: &[u8]) -> Option<AgentReply> {
    let input = &input[..input.len().min(REPLY_BYTES_MAX)];
    let line = input.split(|byte| is_line_end(*byte)).find(|line| !line.trim_ascii().is_empty())?;
    let line = String::from_utf8_lossy(line);
    let (words, remark) = line.split_once('#').unwrap_or((&line, ""));
    let mut reply = AgentReply { remark: printable(remark.trim()), ..AgentReply::default() };
    for word in words.split([' ', '\t', ',']).filter(|word| !word.is_empty()) {
        if !take(&mut reply, word) && reply.unknown.is_none() {
            reply.unknown = Some(printable(word));
        }
    }
    Some(reply)
}

/// Applies a word to the reply. Returns false if the word is unknown.
fn take(reply: &mut AgentReply, word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    match lower.as_str() {
        "up" => reply.condition = Some(AgentCondition::Up),
        "down" => reply.condition = Some(AgentCondition::Down),
        "fail" => reply.condition = Some(AgentCondition::Failed),
        "stopped" => reply.condition = Some(AgentCondition::Stopped),
        "ready" => reply.wish = Some(AgentWish::Ready),
        "drain" => reply.wish = Some(AgentWish::Drain),
        "maint" => reply.wish = Some(AgentWish::Maintenance),
        other => {
            let percent = other.strip_suffix('%').and_then(number);
            let connections = other.strip_prefix("maxconn:").and_then(number);
            reply.weight_percent = percent.or(reply.weight_percent);
            reply.connections_max = connections.or(reply.connections_max);
            let cpu = other.strip_prefix("cpu:").and_then(|load| load.strip_suffix('%')).and_then(number);
            reply.cpu_percent = cpu.or(reply.cpu_percent);
            return percent.is_some() || connections.is_some() || cpu.is_some();
        }
    }
    true
}

/// Parses digits only, because Rust's parser also accepts a sign.
fn number(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Replaces control characters, so that an agent cannot control an administrator's terminal.
fn printable(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    text.chars().take(CHARS_MAX).map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n' | 0)
}

impl AgentCondition {
    /// Returns the word of the agent protocol.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Failed => "fail",
            Self::Stopped => "stopped",
        }
    }
}

impl AgentWish {
    /// Returns the word of the agent protocol.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Drain => "drain",
            Self::Maintenance => "maint",
        }
    }
}
