//! RESP, version 2: the protocol of Redis (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).

use std::fmt;

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A short text such as `OK`.
    Simple(String),
    /// An error: its kind in capitals, and the message.
    Error(String),
    /// A number.
    Integer(i64),
    /// Bytes; `None` = null.
    Bulk(Option<Vec<u8>>),
    /// A list of replies; `None` = null.
    Array(Option<Vec<Reply>>),
}

/// Reason why bytes are not a valid reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadReply {
    /// The first byte is not a valid type.
    Kind(u8),
    /// A number is invalid, or a length is below -1.
    Number,
    /// A line, a byte string or a list is longer than any reply that Weir expects, or lists are nested too
    /// deeply.
    TooLong,
    /// A line break is missing.
    LineEnd,
}

/// Maximum length of a reply, in bytes.
pub const REPLY_BYTES_MAX: usize = 64 << 10;

/// Maximum depth of nested lists.
const DEPTH_MAX: usize = 4;

/// Encodes a command of these words.
pub fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Parses the reply at the start of `input`. Returns it with its length in bytes, or `None` if more bytes are
/// needed.
///
/// # Errors
/// If the bytes cannot become a valid reply. The caller must close the connection then.
pub fn parse(input: &[u8]) -> Result<Option<(Reply, usize)>, BadReply> {
    let mut rest = input;
    match reply(&mut rest, DEPTH_MAX) {
        Ok(reply) => Ok(Some((reply, input.len() - rest.len()))),
        Err(Stop::More) if input.len() < REPLY_BYTES_MAX => Ok(None),
        Err(Stop::More) => Err(BadReply::TooLong),
        Err(Stop::Bad(why)) => Err(why),
    }
}

/// Reason to stop parsing.
enum Stop {
    More,
    Bad(BadReply),
}

impl From<BadReply> for Stop {
    fn from(why: BadReply) -> Self {
        Self::Bad(why)
    }
}

fn reply(rest: &mut &[u8], depth: usize) -> Result<Reply, Stop> {
    let kind = *rest.first().ok_or(Stop::More)?;
    if !b"+-:$*".contains(&kind) {
        return Err(BadReply::Kind(kind).into());
    }
    let line = line(rest)?;
    let text = || String::from_utf8_lossy(line).into_owned();
    Ok(match kind {
        b'+' => Reply::Simple(text()),
        b'-' => Reply::Error(text()),
        b':' => Reply::Integer(number(line)?),
        b'$' => Reply::Bulk(match length(line)? {
            None => None,
            Some(length) => {
                let bytes = take(rest, length)?;
                if take(rest, 2)? != b"\r\n" {
                    return Err(BadReply::LineEnd.into());
                }
                Some(bytes.to_vec())
            }
        }),
        _ => Reply::Array(match length(line)? {
            None => None,
            Some(_) if depth == 0 => return Err(BadReply::TooLong.into()),
            // Do not reserve memory for the stated length; memory grows only with received elements.
            Some(length) => Some((0..length).map(|_| reply(rest, depth - 1)).collect::<Result<_, _>>()?),
        }),
    })
}

/// Returns the text between the first byte and the end of its line.
fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Stop> {
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(Stop::More)?;
    let (whole, after) = rest.split_at(end + 1);
    let line = whole[1..].strip_suffix(b"\r\n").ok_or(BadReply::LineEnd)?;
    *rest = after;
    Ok(line)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Stop> {
    let (taken, after) = rest.split_at_checked(count).ok_or(Stop::More)?;
    *rest = after;
    Ok(taken)
}

fn number(line: &[u8]) -> Result<i64, BadReply> {
    let text = std::str::from_utf8(line).map_err(|_| BadReply::Number)?;
    text.parse().map_err(|_| BadReply::Number)
}

/// Parses a length; `None` = -1, which means null.
fn length(line: &[u8]) -> Result<Option<usize>, BadReply> {
    match number(line)? {
        -1 => Ok(None),
        length => match usize::try_from(length).map_err(|_| BadReply::Number)? {
            length if length > REPLY_BYTES_MAX => Err(BadReply::TooLong),
            length => Ok(Some(length)),
        },
    }
}

impl fmt::Display for BadReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(byte) => write!(f, "an answer does not begin with {:?}", char::from(*byte)),
            Self::Number => f.write_str("an answer has a number that is none"),
            Self::TooLong => write!(f, "an answer has more than {REPLY_BYTES_MAX} bytes, or lists in lists"),
            Self::LineEnd => f.write_str("an answer has no line break where one has to be"),
        }
    }
}

impl std::error::Error for BadReply {}
