//! What an agent beside a server says of it: HAProxy's agent-check protocol.
//!
//! One line of words, divided by spaces, tabs or commas, in any order and case; of two words about the same thing the
//! latter counts. What is not said stays as it is. After `#` there is a remark for people.

mod state;

pub use state::AgentState;

/// An agent's reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentReply {
    /// `75%`: of the weight that the server is configured with.
    pub weight_percent: Option<u32>,
    /// `maxconn:30`: requests at once.
    pub connections_max: Option<u32>,
    /// `cpu:63%`: how busy its processors are, 100 = all of them. HAProxy does not know it, and passes over it.
    pub cpu_percent: Option<u32>,
    /// Whether the server shall get requests.
    pub wish: Option<AgentWish>,
    /// Whether it can take them.
    pub condition: Option<AgentCondition>,
    /// What stands behind `#`.
    pub remark: String,
    /// The first word that means nothing. The others count nonetheless.
    pub unknown: Option<String>,
}

/// What is to be done with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentWish {
    /// It gets requests.
    Ready,
    /// It gets nothing new.
    Drain,
    /// It gets nothing new, and is not checked.
    Maintenance,
}

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentCondition {
    /// Up, if its checks say so, too.
    Up,
    /// Down.
    Down,
    /// Down: it does not work as it should.
    Failed,
    /// Down: somebody has stopped it.
    Stopped,
}

/// A reply that has no line end after this many bytes is cut off there.
pub const REPLY_BYTES_MAX: usize = 1_024;

/// Whether all of a reply that counts is there: a line.
pub fn is_complete(input: &[u8]) -> bool {
    input.len() >= REPLY_BYTES_MAX || input.iter().any(|byte| is_line_end(*byte))
}

/// Reads the first line of `input`, or all of it where there is no other. `None` = nothing was said.
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

/// False if the word means nothing.
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

/// Digits alone: Rust's own parser would let a sign pass.
fn number(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// What is shown to people is not to control their terminals.
fn printable(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    text.chars().take(CHARS_MAX).map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n' | 0)
}

impl AgentCondition {
    /// The agent's word for it.
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
    /// The agent's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Drain => "drain",
            Self::Maintenance => "maint",
        }
    }
}
