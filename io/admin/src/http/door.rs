//! Admits clients by network, login and host name.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use hyper::Request;
use hyper::header;
use ipnet::IpNet;
use weir_http::HostPattern;
use weir_net::tls::ServerTls;

/// Verifies the identity of a client.
pub trait Login: fmt::Debug + Send + Sync {
    /// Checks a login. `client`: `None` = through a Unix socket. `authorization`: the value of that header.
    fn check<'a>(&'a self, client: Option<IpAddr>, authorization: Option<&'a [u8]>) -> LoggingIn<'a>;
}

/// A login in progress; the check of a password takes a while.
pub type LoggingIn<'a> = Pin<Box<dyn Future<Output = LoginOutcome> + Send + 'a>>;

/// Result of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginOutcome {
    /// The password is a user's.
    Welcome,
    /// The password is missing or wrong.
    Wrong,
    /// The password was not checked, because too many wrong ones came or too many others wait. Contains the
    /// seconds until the next try.
    Later(u64),
}

/// Access rules of the admin HTTP interface.
#[derive(Debug, Clone, Default)]
pub struct Door {
    /// Networks whose clients may connect; empty = all.
    pub allow: Vec<IpNet>,
    /// Further names that requests may have in Host.
    pub hosts: Vec<HostPattern>,
    /// Password check; `None` = no password is needed.
    pub login: Option<Arc<dyn Login>>,
    /// TLS; `None` = plaintext.
    pub tls: Option<Arc<ServerTls>>,
}

impl Door {
    /// Returns true if a client may connect. `client`: `None` = through a Unix socket.
    pub(super) fn admits(&self, client: Option<IpAddr>) -> bool {
        let Some(client) = client.map(|client| client.to_canonical()) else { return true };
        self.allow.is_empty() || self.allow.iter().any(|network| network.contains(&client))
    }

    /// Returns the host name of the request if it is not a name of this interface. A foreign name shows that
    /// another site has sent the client here (DNS rebinding). Such an attack cannot use a Unix socket, TLS or
    /// a password, so those requests are not checked.
    pub(super) fn strange_host<'r, B>(
        &self,
        client: Option<IpAddr>,
        request: &'r Request<B>,
    ) -> Option<&'r str> {
        if client.is_none() || self.login.is_some() || self.tls.is_some() {
            return None;
        }
        let in_uri = request.uri().authority().map(|authority| authority.as_str());
        let host = match (in_uri, request.headers().get(header::HOST)) {
            (Some(authority), _) => authority,
            (None, Some(host)) => host.to_str().unwrap_or("?"),
            // Browsers always send a host.
            (None, None) => return None,
        };
        (!self.knows(host)).then_some(host)
    }

    fn knows(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name).trim_end_matches('.').to_ascii_lowercase();
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
        // Names that end in localhost always belong to this machine (RFC 6761 section 6.3).
        address.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.hosts.iter().any(|pattern| match pattern {
                HostPattern::Exact(exact) => *exact == name,
                HostPattern::Wildcard(suffix) => name.len() > suffix.len() && name.ends_with(suffix.as_str()),
            })
            || machine().is_some_and(|machine| machine == name)
    }
}

/// Returns the host name of the machine, in lower case.
fn machine() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &str) -> Request<()> {
        Request::builder().uri("/").header("Host", host).body(()).unwrap()
    }

    #[test]
    fn names_of_other_sites_are_strange_and_those_of_the_machine_are_not() {
        let hosts = vec![
            HostPattern::Exact("weir.example".to_owned()),
            HostPattern::Wildcard(".ops.example".to_owned()),
        ];
        let door = Door { hosts, ..Door::default() };
        let client = Some(IpAddr::from([127, 0, 0, 1]));
        let machine = machine().unwrap();
        let known = [
            "127.0.0.1:8404",
            "[::1]:8404",
            "[::1]",
            "10.0.0.1",
            "localhost:8404",
            "LOCALHOST.",
            "a.localhost",
            "weir.example:8404",
            "one.ops.example",
            machine.as_str(),
        ];
        for host in known {
            assert_eq!(door.strange_host(client, &asked(host)), None, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8404",
            "ops.example",
            "127.0.0.1.evil.example",
            "localhost.evil",
            "",
        ] {
            assert_eq!(door.strange_host(client, &asked(host)), Some(host), "{host}");
        }
        let absolute =
            Request::builder().uri("http://evil.example/").header("Host", "127.0.0.1").body(()).unwrap();
        assert_eq!(door.strange_host(client, &absolute), Some("evil.example"));
        assert_eq!(door.strange_host(None, &asked("evil.example")), None);
    }

    #[test]
    fn only_networks_of_the_list_get_in_whatever_family_a_socket_is_of() {
        let door = Door { allow: vec!["10.1.0.0/16".parse().unwrap()], ..Door::default() };
        assert!(door.admits(None));
        assert!(door.admits(Some("10.1.2.3".parse().unwrap())));
        assert!(door.admits(Some("::ffff:10.1.2.3".parse().unwrap())));
        assert!(!door.admits(Some("10.2.0.1".parse().unwrap())));
        assert!(!door.admits(Some("127.0.0.1".parse().unwrap())));
    }
}
