//! Parser for version 1 of the PROXY header.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use super::{Command, Endpoints, Parsed, ProxyError, Version};

/// Maximum length of a version 1 header with its line end, in bytes.
pub const V1_BYTES_MAX: usize = 107;

const SIGNATURE: &[u8] = b"PROXY ";

pub(super) fn parse(input: &[u8]) -> Result<Parsed, ProxyError> {
    let known = input.len().min(SIGNATURE.len());
    if input[..known] != SIGNATURE[..known] {
        return Err(ProxyError::NotProxy);
    }
    let line = &input[..input.len().min(V1_BYTES_MAX)];
    let Some(end) = line.iter().position(|byte| *byte == b'\r' || *byte == b'\n') else {
        return if line.len() == V1_BYTES_MAX { Err(ProxyError::LineEnd) } else { Ok(Parsed::Incomplete) };
    };
    match line[end..] {
        [b'\r', b'\n', ..] => {}
        [b'\r'] if line.len() < V1_BYTES_MAX => return Ok(Parsed::Incomplete),
        _ => return Err(ProxyError::LineEnd),
    }
    let words = line.get(SIGNATURE.len()..end).ok_or(ProxyError::Protocol)?;
    let words = str::from_utf8(words).map_err(|_| ProxyError::Protocol)?;
    let endpoints = endpoints(words)?;
    let command = Command::Proxy(endpoints);
    Ok(Parsed::Complete { command, version: Version::V1, consumed: end + 2 })
}

fn endpoints(words: &str) -> Result<Endpoints, ProxyError> {
    let (protocol, rest) = words.split_once(' ').unwrap_or((words, ""));
    match protocol {
        "TCP4" => inet::<Ipv4Addr>(rest),
        "TCP6" => inet::<Ipv6Addr>(rest),
        // The specification says to ignore the rest of the line.
        "UNKNOWN" => Ok(Endpoints::Unknown),
        _ => Err(ProxyError::Protocol),
    }
}

fn inet<Ip: FromStr + Into<IpAddr>>(words: &str) -> Result<Endpoints, ProxyError> {
    let mut words = words.split(' ');
    let mut word = || words.next().ok_or(ProxyError::Addresses);
    let ip = |word: &str| word.parse::<Ip>().map(Into::into).map_err(|_| ProxyError::Addresses);
    let (source_ip, destination_ip) = (ip(word()?)?, ip(word()?)?);
    let (source_port, destination_port) = (port(word()?)?, port(word()?)?);
    if words.next().is_some() {
        return Err(ProxyError::Addresses);
    }
    let source = SocketAddr::new(source_ip, source_port);
    Ok(Endpoints::inet(source, SocketAddr::new(destination_ip, destination_port)))
}

/// Parses decimal digits. Rejects a sign or a leading zero, which Rust's parser would accept.
fn port(word: &str) -> Result<u16, ProxyError> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit()) && (word == "0" || !word.starts_with('0'));
    if plain { word.parse().map_err(|_| ProxyError::Addresses) } else { Err(ProxyError::Addresses) }
}
