//! URLs of requests.

use std::fmt;
use std::str::FromStr;

/// URL of a request: `http://host:port/path?query` or `https://...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) origin: Origin,
    /// Path and query as they are sent.
    pub(crate) path: String,
}

/// The server that a URL names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) is_tls: bool,
    /// Name or address; IPv6 without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("{text:?}: {why}");
        let (is_tls, rest) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some(_) => return Err(bad("the scheme must be http or https")),
            None => return Err(bad("a URL begins with http:// or https://")),
        };
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(bad("a URL has no blanks or control characters"));
        }
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(bad("give credentials in an Authorization header"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(|| bad("the address has no ]"))?;
                (host, if port.is_empty() { None } else { Some(port.strip_prefix(':').unwrap_or("?")) })
            }
            None => authority.rsplit_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(bad("there is no host"));
        }
        let port = match port {
            None => 80 + 363 * u16::from(is_tls),
            Some(port) => {
                port.parse().ok().filter(|port| *port > 0).ok_or_else(|| bad("the port is no number"))?
            }
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { origin: Origin { is_tls, host: host.to_owned(), port }, path })
    }
}

impl Origin {
    /// Returns the value of the Host header.
    pub(crate) fn authority(&self) -> String {
        let default = 80 + 363 * u16::from(self.is_tls);
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == default { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_tls { "https" } else { "http" }, self.authority())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let url: Url = "http://a:8080/x?y=1#z".parse().unwrap();
        assert_eq!((url.origin.host.as_str(), url.origin.port, url.path.as_str()), ("a", 8080, "/x?y=1"));
        let url: Url = "https://[::1]".parse().unwrap();
        assert_eq!((url.origin.host.as_str(), url.origin.port, url.path.as_str()), ("::1", 443, "/"));
        assert_eq!(url.to_string(), "https://[::1]/");
        let url: Url = "http://a?q".parse().unwrap();
        assert_eq!((url.path.as_str(), url.origin.authority().as_str()), ("/?q", "a"));
    }

    #[test]
    fn what_is_no_url_is_told_why() {
        for (text, part) in [
            ("a/b", "http://"),
            ("ftp://a/", "scheme"),
            ("http:///x", "no host"),
            ("http://a:x/", "port"),
            ("http://a:0/", "port"),
            ("http://u:p@a/", "Authorization"),
            ("http://a/ b", "blanks"),
            ("http://[::1/", "no ]"),
        ] {
            let error = text.parse::<Url>().unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
