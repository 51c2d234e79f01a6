//! Parses hosts, paths and networks in the syntax of the file.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;
use weir_http::{HostPattern, PathPattern};

use crate::syntax::source::Located;
use crate::syntax::tree::short;
use crate::values::table::Table;

/// A network, or a single address.
pub(crate) struct Network(pub(crate) IpNet);

impl FromStr for Network {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self(IpNet::from(ip)));
        }
        // Clears the bits beyond the prefix: 10.1.2.3/8 means 10.0.0.0/8.
        text.parse::<IpNet>().map(|network| Self(network.trunc())).map_err(|_| {
            format!("{:?} is neither an IP address nor a network such as 10.0.0.0/8", short(text))
        })
    }
}

pub(crate) fn networks(table: &Table<'_, '_>, key: &str) -> Vec<IpNet> {
    let mut networks = Vec::new();
    for node in table.many(key) {
        let Some(Located { value: Network(network), span }) = table.parse_node(key, node) else { continue };
        let written = node.text().and_then(|text| text.parse::<IpNet>().ok());
        if let Some(written) = written.filter(|written| *written != network) {
            let message = format!("{written} means all of {network}");
            let help = format!("write {network}, or {} for this one address", written.addr());
            table.warning(key, span, message, help);
        }
        networks.push(network);
    }
    networks
}

/// A host name, or `*.` and a domain.
pub(crate) struct Host(pub(crate) HostPattern);

impl FromStr for Host {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let host = text.to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        if let Some(domain) = host.strip_prefix("*.") {
            return if is_host_name(domain) {
                Ok(Self(HostPattern::Wildcard(format!(".{domain}"))))
            } else {
                Err(format!("{:?} is not a domain", short(domain)))
            };
        }
        if host.contains('*') {
            return Err(format!(
                "{:?}: a * can only be the whole first label, as in *.example.org",
                short(text)
            ));
        }
        let ip = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if ip.parse::<Ipv6Addr>().is_ok() {
            return Ok(Self(HostPattern::Exact(format!("[{ip}]"))));
        }
        if is_host_name(host) {
            return Ok(Self(HostPattern::Exact(host.to_owned())));
        }
        if host.rsplit_once(':').is_some_and(|(host, port)| is_host_name(host) && port.parse::<u16>().is_ok())
        {
            return Err(format!("{:?}: hosts are matched without their port", short(text)));
        }
        Err(format!("{:?} is not a host name", short(text)))
    }
}

/// Returns true if the text is a host name. As lenient as DNS, except for characters that a Host header
/// cannot contain.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

pub(crate) fn hosts(table: &Table<'_, '_>, key: &str) -> Vec<HostPattern> {
    let nodes = table.many(key).iter();
    nodes.filter_map(|node| table.parse_node::<Host>(key, node)).map(|host| host.value.0).collect()
}

/// A path pattern; its kind follows from its characters.
pub(crate) struct Path(pub(crate) PathPattern);

impl FromStr for Path {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let pattern = match text.strip_prefix('=') {
            Some(exact) => PathPattern::Exact(exact.trim_start().to_owned()),
            None if text.contains(['*', '?']) => PathPattern::Glob(text.to_owned()),
            None => PathPattern::Prefix(text.to_owned()),
        };
        check_path(&pattern)?;
        Ok(Self(pattern))
    }
}

/// Checks a path pattern. Weir matches paths as the client sends them, so characters that a request line
/// cannot contain would never match.
pub(crate) fn check_path(pattern: &PathPattern) -> Result<(), String> {
    let (path, starts_well) = match pattern {
        PathPattern::Exact(path) => (path, path.starts_with('/') || path == "*"),
        PathPattern::Prefix(path) => (path, path.starts_with('/')),
        PathPattern::Glob(path) => (path, path.starts_with(['/', '*'])),
    };
    if !starts_well {
        return Err(format!("{:?} does not begin with a /", short(path)));
    }
    if let Some(stranger) = path.chars().find(|c| !c.is_ascii_graphic() || *c == '#') {
        return Err(format!(
            "{stranger:?} cannot stand in a path as clients send it: write it percent-encoded"
        ));
    }
    if !matches!(pattern, PathPattern::Glob(_)) && path.contains('?') {
        return Err("a path is matched without its query".to_owned());
    }
    const GLOB_CHARS_MAX: usize = 255;
    if matches!(pattern, PathPattern::Glob(_)) && path.len() > GLOB_CHARS_MAX {
        return Err(format!("a glob has at most {GLOB_CHARS_MAX} characters"));
    }
    Ok(())
}
