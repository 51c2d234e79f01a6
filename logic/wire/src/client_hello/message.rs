//! Parser of the ClientHello message itself.

use super::ClientHelloError;
use crate::bytes::Bytes;

/// Server name and protocols that a client requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHello {
    /// Requested host name (SNI), in lower case and without a trailing dot; `None` if the client sends none.
    pub server_name: Option<String>,
    /// Protocols that the client offers.
    pub alpn: Alpn,
}

/// Protocol names (ALPN) in the client's order; empty if the client offers none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Alpn(Box<[u8]>);

const EXTENSION_SERVER_NAME: u16 = 0;
const EXTENSION_ALPN: u16 = 16;

impl Alpn {
    /// Returns the names, such as `h2` or `http/1.1`.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = Bytes(&self.0);
        std::iter::from_fn(move || rest.part_u8())
    }
}

/// Parses a message without its header.
pub(super) fn parse(message: &[u8]) -> Result<ClientHello, ClientHelloError> {
    let malformed = ClientHelloError::Malformed;
    let mut rest = Bytes(message);
    let _version = rest.take(2).ok_or(malformed("version"))?;
    let _random = rest.take(32).ok_or(malformed("random"))?;
    rest.part_u8().filter(|id| id.len() <= 32).ok_or(malformed("session id"))?;
    let suites = rest.part_u16().ok_or(malformed("cipher suites"))?;
    if suites.is_empty() || !suites.len().is_multiple_of(2) {
        return Err(malformed("cipher suites"));
    }
    rest.part_u8().filter(|methods| !methods.is_empty()).ok_or(malformed("compression methods"))?;

    let mut hello = ClientHello { server_name: None, alpn: Alpn::default() };
    if rest.is_empty() {
        return Ok(hello);
    }
    let mut extensions = rest.part_u16().map(Bytes).ok_or(malformed("extensions"))?;
    if !rest.is_empty() {
        return Err(malformed("extensions"));
    }
    while !extensions.is_empty() {
        let kind = extensions.u16().ok_or(malformed("extension"))?;
        let content = extensions.part_u16().ok_or(malformed("extension"))?;
        match kind {
            // Reject a second name: Weir could check one name while the server uses the other.
            EXTENSION_SERVER_NAME if hello.server_name.is_some() => return Err(malformed("server name")),
            EXTENSION_SERVER_NAME => {
                hello.server_name = Some(server_name(content).ok_or(malformed("server name"))?);
            }
            EXTENSION_ALPN if !hello.alpn.0.is_empty() => return Err(malformed("protocol names")),
            EXTENSION_ALPN => hello.alpn = alpn(content).ok_or(malformed("protocol names"))?,
            _ => {}
        }
    }
    Ok(hello)
}

/// Parses a list with one host name (RFC 6066 section 3). The RFC defines no other type of name.
fn server_name(content: &[u8]) -> Option<String> {
    const HOST_NAME: u8 = 0;
    const NAME_BYTES_MAX: usize = 253;
    let mut rest = Bytes(content);
    let mut names = Bytes(rest.part_u16()?);
    let kind = names.u8()?;
    let name = names.part_u16()?;
    if kind != HOST_NAME || !names.is_empty() || !rest.is_empty() {
        return None;
    }
    let name = str::from_utf8(name.strip_suffix(b".").unwrap_or(name)).ok()?;
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let is_name = name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label);
    is_name.then(|| name.to_ascii_lowercase())
}

/// Parses a list of at least one name; no name may be empty (RFC 7301 section 3.1).
fn alpn(content: &[u8]) -> Option<Alpn> {
    let mut rest = Bytes(content);
    let list = rest.part_u16()?;
    let mut names = Bytes(list);
    while !names.is_empty() {
        names.part_u8().filter(|name| !name.is_empty())?;
    }
    (rest.is_empty() && !list.is_empty()).then(|| Alpn(list.into()))
}
