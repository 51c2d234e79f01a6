//! Describes the hypothetical request of `weir explain`, from its command line.

use std::net::{IpAddr, SocketAddr};

use weir_config::Plan;
use weir_config::plan::{ListenerPlan, Mode};
use weir_http::{Scheme, split_authority};
use weir_model::BindAddress;

/// Hypothetical request, which is never sent.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) scheme: Spoken,
    /// Host without port; an IPv6 address is in brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) client: IpAddr,
    /// Request head as a client would send it.
    pub(super) head: String,
}

/// Protocol that the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    Http,
    Https,
    Tcp,
}

impl Question {
    pub(super) fn new(url: &str, method: &str, headers: &[String], client: IpAddr) -> Result<Self, String> {
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| format!("{url:?}: expected http://host/path"))?;
        let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => (Spoken::Http, Some(80)),
            "https" | "wss" => (Spoken::Https, Some(443)),
            "tcp" => (Spoken::Tcp, None),
            other => return Err(format!("{url:?}: {other} is none of http, https and tcp")),
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let bad_host = || format!("{url:?}: {authority:?} is not a host, with or without a port");
        let (host, port) = split_authority(authority.as_bytes()).ok_or_else(bad_host)?;
        let host = String::from_utf8_lossy(host).into_owned();
        if host.is_empty() {
            return Err(bad_host());
        }
        let port = port.or(default_port).ok_or_else(|| format!("{url:?}: the port is missing"))?;
        let head = head(method, authority, target, headers)?;
        Ok(Self { scheme, host, port, client, head })
    }

    /// Returns the listeners that would accept the connection.
    pub(super) fn accepting<'p>(&self, plan: &'p Plan, name: Option<&str>) -> Vec<&'p ListenerPlan> {
        let is_meant = |listener: &&ListenerPlan| match name {
            Some(name) => listener.name.as_str() == name,
            None => self.reaches(listener),
        };
        plan.listeners.iter().filter(is_meant).collect()
    }

    /// Returns the address that the client connects to, if the URL contains an address and not a name.
    pub(super) fn destination(&self) -> Option<SocketAddr> {
        let host = self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.host);
        Some(SocketAddr::new(host.parse().ok()?, self.port))
    }

    /// Returns the scheme of an HTTP request on a listener.
    pub(super) fn http_scheme(listener: &ListenerPlan) -> Scheme {
        if listener.tls.is_some() { Scheme::Https } else { Scheme::Http }
    }

    fn reaches(&self, listener: &ListenerPlan) -> bool {
        let has_port = |bind: &BindAddress| match bind {
            // The host is not compared: it is often a name, or the address of a load balancer in front.
            BindAddress::Inet(address) => address.port() == self.port,
            BindAddress::Unix(_) => false,
        };
        let speaks = match (&listener.mode, self.scheme) {
            (Mode::Tcp(_), Spoken::Http) => listener.tls.is_none(),
            (Mode::Tcp(_), _) => true,
            (Mode::Http(_), Spoken::Http) => listener.tls.is_none(),
            (Mode::Http(_), Spoken::Https) => listener.tls.is_some(),
            (Mode::Http(_), Spoken::Tcp) => false,
        };
        speaks && listener.bind.iter().any(has_port)
    }
}

fn head(method: &str, authority: &str, target: &str, headers: &[String]) -> Result<String, String> {
    let slash = if target.starts_with('/') { "" } else { "/" };
    let mut lines = String::new();
    let mut host = Some(authority);
    for header in headers {
        let (name, value) =
            header.split_once(':').ok_or_else(|| format!("{header:?}: expected \"Name: value\""))?;
        if name.eq_ignore_ascii_case("host") {
            host = None;
        }
        lines.push_str(&format!("{name}: {}\r\n", value.trim()));
    }
    let host = host.map(|host| format!("Host: {host}\r\n")).unwrap_or_default();
    Ok(format!("{method} {slash}{target} HTTP/1.1\r\n{host}{lines}\r\n"))
}
