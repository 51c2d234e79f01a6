//! Addresses of listeners and servers.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The address of a listener: `0.0.0.0:80`, `[::]:443`, `:8080` (all addresses of both families) or
/// `unix:/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum BindAddress {
    /// A TCP address.
    Inet(SocketAddr),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

/// The address of a server: `10.0.0.1:80`, `[::1]:80`, `web.example:80` (resolved by DNS) or `unix:/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ServerAddress {
    /// A TCP address.
    Inet(SocketAddr),
    /// Host name to resolve, with a port.
    Named(ServerHost),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

/// A DNS name and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerHost {
    /// Host name as written, without a trailing dot.
    pub host: Arc<str>,
    /// Port number.
    pub port: u16,
}

/// Reason why a text is not a valid address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadAddress {
    /// The port is missing.
    NoPort,
    /// The text is only a port.
    PortOnly(String),
    /// The port is outside 1 to 65535 (0 to 65535 for a listener).
    Port(String),
    /// An IPv6 address has no brackets.
    Brackets,
    /// The text begins with a scheme such as `http://`; the text of the error is the advice.
    Scheme(String),
    /// The text has more than one colon and is not an IPv6 address.
    Colons,
    /// The host is neither an IP address nor a valid host name.
    Host(String),
    /// The path after `unix:` is not absolute, or is longer than 107 bytes (the kernel's limit).
    UnixPath(String),
}

impl FromStr for BindAddress {
    type Err = BadAddress;
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix_path(path).map(Self::Unix);
        }
        let (host, port) = split_port(text)?;
        let port: u16 = port.parse().map_err(|_| BadAddress::Port(port.to_owned()))?;
        let ip = match host {
            "" | "*" => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            "localhost" => IpAddr::from([127, 0, 0, 1]),
            host => parse_ip(host).ok_or_else(|| BadAddress::Host(host.to_owned()))?,
        };
        Ok(Self::Inet(SocketAddr::new(ip, port)))
    }
}

impl FromStr for ServerAddress {
    type Err = BadAddress;
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix_path(path).map(Self::Unix);
        }
        let (host, port) = split_port(text)?;
        let port =
            port.parse().ok().filter(|port| *port != 0).ok_or_else(|| BadAddress::Port(port.to_owned()))?;
        if let Some(ip) = parse_ip(host) {
            return Ok(Self::Inet(SocketAddr::new(ip, port)));
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        if !is_host_name(name) {
            return Err(BadAddress::Host(host.to_owned()));
        }
        Ok(Self::Named(ServerHost { host: name.into(), port }))
    }
}

fn unix_path(path: &str) -> Result<PathBuf, BadAddress> {
    const SUN_PATH_BYTES_MAX: usize = 107;
    if path.starts_with('/') && path.len() <= SUN_PATH_BYTES_MAX && !path.contains('\0') {
        Ok(PathBuf::from(path))
    } else {
        Err(BadAddress::UnixPath(path.to_owned()))
    }
}

fn split_port(text: &str) -> Result<(&str, &str), BadAddress> {
    let is_port = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((scheme, rest)) = text.split_once("://") {
        return Err(BadAddress::Scheme(match (scheme, rest.split('/').next().unwrap_or(rest)) {
            (_, "") => "an address has no scheme: write address:port".to_owned(),
            ("https", host) => {
                format!("an address has no scheme: write {}, and tls = true in the pool", at_port(host, 443))
            }
            ("http", host) => format!("an address has no scheme: write {}", at_port(host, 80)),
            (_, host) => format!("an address has no scheme: write {host}"),
        }));
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err(if is_port { BadAddress::PortOnly(text.to_owned()) } else { BadAddress::NoPort });
    };
    if let Some(inner) = host.strip_prefix('[') {
        return match inner.strip_suffix(']') {
            Some(ip) if ip.parse::<Ipv6Addr>().is_ok() => Ok((host, port)),
            _ => {
                Err(if text.ends_with(']') { BadAddress::NoPort } else { BadAddress::Host(host.to_owned()) })
            }
        };
    }
    match host.contains(':') {
        false => Ok((host, port)),
        true if [text, host].iter().any(|text| text.parse::<Ipv6Addr>().is_ok()) => Err(BadAddress::Brackets),
        true => Err(BadAddress::Colons),
    }
}

/// Returns `host` with `port`, unless it already has a port.
fn at_port(host: &str, port: u16) -> String {
    let has_port =
        host.rsplit_once(':').is_some_and(|(before, _)| !before.contains(':') || before.ends_with(']'));
    if has_port { host.to_owned() } else { format!("{host}:{port}") }
}

fn parse_ip(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Returns true for a host name of RFC 1123 section 2.1, with the underscores that service names use in
/// practice. Rejects a name whose last label has only digits, because that is a mistyped IPv4 address and
/// never a registered name.
fn is_host_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let mistyped_ip = name.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    name.len() <= 253 && name.split('.').all(label) && !mistyped_ip
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Named(ServerHost { host, port }) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPort => f.write_str("the port is missing: write address:port"),
            Self::PortOnly(port) => write!(f, "{port:?} is only a port: write address:{port}"),
            Self::Port(port) => write!(f, "{port:?} is not a port (1 to 65535)"),
            Self::Brackets => f.write_str("an IPv6 address stands in brackets: [2001:db8::1]:80"),
            Self::Scheme(help) => f.write_str(help),
            Self::Colons => f.write_str("there is a colon too many: write address:port"),
            Self::Host(host) => write!(f, "{host:?} is neither an IP address nor a host name"),
            Self::UnixPath(path) => {
                write!(f, "{path:?} is not a Unix socket path: absolute, at most 107 bytes")
            }
        }
    }
}

impl std::error::Error for BadAddress {}

macro_rules! through_text {
    ($type:ident) => {
        impl TryFrom<String> for $type {
            type Error = BadAddress;
            fn try_from(text: String) -> Result<Self, BadAddress> {
                text.parse()
            }
        }
        impl From<$type> for String {
            fn from(address: $type) -> Self {
                address.to_string()
            }
        }
    };
}

through_text!(BindAddress);
through_text!(ServerAddress);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_an_ip_a_name_or_a_unix_socket() {
        assert!(matches!("10.0.0.1:80".parse(), Ok(ServerAddress::Inet(_))));
        assert!(matches!("[::1]:80".parse(), Ok(ServerAddress::Inet(_))));
        assert!(matches!("unix:/run/a.sock".parse(), Ok(ServerAddress::Unix(_))));
        let named = ServerAddress::Named(ServerHost { host: "web.example".into(), port: 80 });
        assert_eq!("web.example.:80".parse(), Ok(named));
    }

    #[test]
    fn a_mistyped_address_says_what_is_wrong() {
        let wrong = |text: &str| text.parse::<ServerAddress>().unwrap_err();
        assert_eq!(wrong("10.0.0.1"), BadAddress::NoPort);
        assert_eq!(wrong("8080"), BadAddress::PortOnly("8080".into()));
        assert_eq!(wrong("10.0.0.1:0"), BadAddress::Port("0".into()));
        assert_eq!(wrong("10.0.0.1:http"), BadAddress::Port("http".into()));
        assert_eq!(wrong("10.0.0.300:80"), BadAddress::Host("10.0.0.300".into()));
        assert_eq!(wrong("::1:80"), BadAddress::Brackets);
        assert_eq!(wrong("2001:db8:0:0:0:0:0:1:80"), BadAddress::Brackets);
        assert_eq!(wrong("10.0.0.1:80:"), BadAddress::Colons);
        for (text, written) in [
            ("http://10.0.0.1", "write 10.0.0.1:80"),
            ("http://[::1]:8080/app", "write [::1]:8080"),
            ("https://app.example.org", "write app.example.org:443, and tls = true in the pool"),
            ("tcp://db:5432", "write db:5432"),
            ("http://", "write address:port"),
        ] {
            assert_eq!(wrong(text).to_string(), format!("an address has no scheme: {written}"));
        }
        assert_eq!(wrong("we b:80"), BadAddress::Host("we b".into()));
        assert_eq!(wrong("unix:run/a"), BadAddress::UnixPath("run/a".into()));
    }

    #[test]
    fn a_bare_port_binds_every_address_of_both_families() {
        assert_eq!(":8080".parse(), Ok(BindAddress::Inet("[::]:8080".parse().unwrap())));
    }
}
