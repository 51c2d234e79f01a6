//! The rules for servers in third-party copies.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::AddressClass;
use super::address::{embedded, teredo_client, translated};
use crate::header::{RemoteUrl, Scheme};

/// The servers that a transfer may connect to. Because the client chooses the server, these rules protect
/// everything that this machine can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RemoteRules {
    /// True if plain http is allowed.
    pub http: bool,
    /// Allowed servers; empty = every server that no other rule refuses.
    pub allow: Vec<HostRule>,
    /// Denied servers.
    pub deny: Vec<HostRule>,
    /// Networks with non-public addresses that transfers may connect to.
    pub private: Vec<IpNet>,
}

/// A rule that matches one or more servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRule {
    /// Servers with an address in this network.
    Network(IpNet),
    /// The server with this name, in lower case.
    Name(String),
    /// Servers with names below this domain: `*.example.org`.
    Below(String),
}

/// The error for text that is not a [`HostRule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a host name, `*.` and a domain, an address, or a network such as 192.0.2.0/24")]
pub struct BadHostRule;

/// The reason to refuse a connection to a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Vetoed {
    /// The URL has the scheme http or dav.
    #[error("plain http is not permitted")]
    PlainHttp,
    /// A deny rule matches the server.
    #[error("transfers with {0} are denied")]
    Denied(String),
    /// No allow rule matches the server.
    #[error("transfers with {0} are not allowed")]
    NotAllowed(String),
    /// The name resolves to an address that is not public.
    #[error("{0} leads to a {1} address")]
    NotPublic(String, AddressClass),
}

impl RemoteRules {
    /// Checks the URL before its name is resolved.
    pub fn vet_url(&self, url: &RemoteUrl) -> Result<(), Vetoed> {
        if url.scheme == Scheme::Http && !self.http {
            return Err(Vetoed::PlainHttp);
        }
        if self.deny.iter().any(|rule| rule.has_name(&url.host)) {
            return Err(Vetoed::Denied(url.host.clone()));
        }
        let only_names = !self.allow.iter().any(|rule| matches!(rule, HostRule::Network(_)));
        if !self.allow.is_empty() && only_names && !self.allow.iter().any(|rule| rule.has_name(&url.host)) {
            return Err(Vetoed::NotAllowed(url.host.clone()));
        }
        match literal(&url.host) {
            Some(address) => self.vet_address(&url.host, address),
            None => Ok(()),
        }
    }

    /// Checks an address that the name resolves to. The caller must connect to this address and not resolve
    /// the name again, because the name may have other addresses by then.
    pub fn vet_address(&self, host: &str, address: IpAddr) -> Result<(), Vetoed> {
        let address = address.to_canonical();
        let fits = |rule: &HostRule| rule.has_name(host) || rule.has_address(address);
        let v6 = match address {
            IpAddr::V6(address) => Some(address),
            IpAddr::V4(_) => None,
        };
        // A deny rule for an IPv4 address also matches every IPv6 form of it.
        let behind = v6.and_then(|address| embedded(address).or_else(|| teredo_client(address)));
        let leads = |rule: &HostRule, to: Option<Ipv4Addr>| to.is_some_and(|to| rule.has_address(to.into()));
        if self.deny.iter().any(|rule| fits(rule) || leads(rule, behind)) {
            return Err(Vetoed::Denied(host.to_owned()));
        }
        let class = AddressClass::of(address);
        if class != AddressClass::Public && !self.private.iter().any(|network| network.contains(&address)) {
            return Err(Vetoed::NotPublic(host.to_owned(), class));
        }
        // NAT64 leads to exactly the embedded address, so an allow rule for it applies. Other embedded
        // addresses say nothing about the actual server. Private embedded addresses are refused above despite
        // any allow rule, because the translator would reach them in its own network.
        let translated = v6.and_then(translated);
        if !self.allow.is_empty() && !self.allow.iter().any(|rule| fits(rule) || leads(rule, translated)) {
            return Err(Vetoed::NotAllowed(host.to_owned()));
        }
        Ok(())
    }
}

/// Parses a host that is an address.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

impl HostRule {
    fn has_name(&self, host: &str) -> bool {
        // A trailing dot does not change the name.
        let host = host.strip_suffix('.').unwrap_or(host);
        match self {
            Self::Network(network) => {
                literal(host).is_some_and(|address| network.contains(&address.to_canonical()))
            }
            Self::Name(name) => host.eq_ignore_ascii_case(name),
            Self::Below(domain) => host
                .len()
                .checked_sub(domain.len() + 1)
                .and_then(|at| host.split_at_checked(at))
                .is_some_and(|(_, end)| end.starts_with('.') && end[1..].eq_ignore_ascii_case(domain)),
        }
    }

    fn has_address(&self, address: IpAddr) -> bool {
        matches!(self, Self::Network(network) if network.contains(&address))
    }
}

impl FromStr for HostRule {
    type Err = BadHostRule;

    fn from_str(text: &str) -> Result<Self, BadHostRule> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Network(IpNet::from(address.to_canonical())));
        }
        if text.contains('/') {
            return text
                .parse::<IpNet>()
                .map(|network| Self::Network(network.trunc()))
                .map_err(|_| BadHostRule);
        }
        let (name, below) = match text.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (text, false),
        };
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        // A name whose last label is a number would be a malformed address.
        let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
        if !name.split('.').all(is_label) || name.rsplit('.').next().is_none_or(is_number) {
            return Err(BadHostRule);
        }
        let name = name.to_ascii_lowercase();
        Ok(if below { Self::Below(name) } else { Self::Name(name) })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Below(domain) => write!(f, "*.{domain}"),
        }
    }
}

impl Serialize for HostRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
