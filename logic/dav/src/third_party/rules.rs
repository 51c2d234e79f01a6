use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::AddressClass;
use super::address::{embedded, teredo_client, translated};
use crate::header::{RemoteUrl, Scheme};

/// Which servers a transfer may have to do with. A client names them, so that these rules stand between it and whatever this
/// machine can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RemoteRules {
    /// Plain http is spoken, too.
    pub http: bool,
    /// Only these; empty = all that nothing else refuses.
    pub allow: Vec<HostRule>,
    /// None of these.
    pub deny: Vec<HostRule>,
    /// Networks whose addresses are not public, and may be connected to nonetheless.
    pub private: Vec<IpNet>,
}

/// A server, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRule {
    /// Those with an address in this network.
    Network(IpNet),
    /// That of this name, in lower case.
    Name(String),
    /// Those of the names below this one: `*.example.org`.
    Below(String),
}

/// A text that is no [`HostRule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a host name, `*.` and a domain, an address, or a network such as 192.0.2.0/24")]
pub struct BadHostRule;

/// Why a server must not be connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Vetoed {
    /// Its URL begins with http or dav.
    #[error("plain http is not permitted")]
    PlainHttp,
    /// It is among those denied.
    #[error("transfers with {0} are denied")]
    Denied(String),
    /// It is not among those allowed.
    #[error("transfers with {0} are not allowed")]
    NotAllowed(String),
    /// It leads to an address that is not on the Internet.
    #[error("{0} leads to a {1} address")]
    NotPublic(String, AddressClass),
}

impl RemoteRules {
    /// What can be said before the name is resolved.
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

    /// Whether the server of a name may be connected to at this address, one of those that the name has. The connection must be
    /// made to that address, and not to the name again, which may have others by then.
    pub fn vet_address(&self, host: &str, address: IpAddr) -> Result<(), Vetoed> {
        let address = address.to_canonical();
        let fits = |rule: &HostRule| rule.has_name(host) || rule.has_address(address);
        let v6 = match address {
            IpAddr::V6(address) => Some(address),
            IpAddr::V4(_) => None,
        };
        // Where an address leads is denied by whatever way it is written.
        let behind = v6.and_then(|address| embedded(address).or_else(|| teredo_client(address)));
        let leads = |rule: &HostRule, to: Option<Ipv4Addr>| to.is_some_and(|to| rule.has_address(to.into()));
        if self.deny.iter().any(|rule| fits(rule) || leads(rule, behind)) {
            return Err(Vetoed::Denied(host.to_owned()));
        }
        let class = AddressClass::of(address);
        if class != AddressClass::Public && !self.private.iter().any(|network| network.contains(&address)) {
            return Err(Vetoed::NotPublic(host.to_owned(), class));
        }
        // A translation leads to that very address, while behind other kinds of embedded ones there is whoever. What is private is
        // refused above, whatever is allowed: it would be private to whoever translates.
        let translated = v6.and_then(translated);
        if !self.allow.is_empty() && !self.allow.iter().any(|rule| fits(rule) || leads(rule, translated)) {
            return Err(Vetoed::NotAllowed(host.to_owned()));
        }
        Ok(())
    }
}

/// A host that is an address.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

impl HostRule {
    fn has_name(&self, host: &str) -> bool {
        // The dot of a name that is complete changes nothing.
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
        // What ends in digits would be an address, written wrongly.
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
