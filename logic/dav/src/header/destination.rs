//! The Destination header of COPY and MOVE, and the Source header of third-party copies.

use super::HeaderError;
use crate::path::{DavPath, PathLimits, RequestPath};
use crate::text::trim;

/// The Destination of COPY or MOVE (RFC 4918 section 10.3), or the Source of a third-party copy: a resource
/// of this service or of another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A resource of this service.
    Own(RequestPath),
    /// A resource of another server: needs a third-party copy, or is refused with 502 (RFC 4918 section
    /// 9.8.5).
    Elsewhere(RemoteUrl),
}

/// A URL of another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    /// Protocol of the other server.
    pub scheme: Scheme,
    /// Name or address in lower case; an IPv6 address is in brackets.
    pub host: String,
    /// Port of the URL, or the default of its scheme.
    pub port: u16,
    /// Path and query as written; at least `/`.
    pub target: String,
}

/// Schemes of URLs of other servers; `dav` means http and `davs` means https.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http` or `dav`.
    Http,
    /// `https` or `davs`.
    Https,
}

impl Scheme {
    fn parse(text: &[u8]) -> Option<Self> {
        let is = |name: &[u8]| text.eq_ignore_ascii_case(name);
        match () {
            () if is(b"https") || is(b"davs") => Some(Self::Https),
            () if is(b"http") || is(b"dav") => Some(Self::Http),
            () => None,
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Names under which clients reach this service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnNames {
    /// Hosts in lower case; with a port if only that port belongs to this service.
    names: Vec<(String, Option<u16>)>,
}

impl OwnNames {
    /// Parses names of the form `host` (every port) or `host:port`; an IPv6 address is in brackets. Returns
    /// the first malformed name as the error.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let read = |name: &'a str| split_authority(name).ok_or(name);
        Ok(Self { names: names.into_iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Adds the Host of the current request, if it is well-formed: clients build the Destination from the
    /// name that they use for the source.
    ///
    /// A Host without a port stands for the default port of the scheme; another port of the same machine may
    /// be another server. Adds the ports of both schemes, because only a proxy in front may know the client's
    /// scheme.
    pub fn and_host(&self, host: &str) -> Self {
        let mut names = self.names.clone();
        match split_authority(host) {
            Some((name, None)) => {
                let ports = [Scheme::Http, Scheme::Https].map(Scheme::default_port);
                names.extend(ports.map(|port| (name.clone(), Some(port))));
            }
            Some(named) => names.push(named),
            None => {}
        }
        Self { names }
    }

    fn has(&self, host: &str, port: u16) -> bool {
        self.names.iter().any(|(name, only)| name == host && only.is_none_or(|only| only == port))
    }
}

impl Destination {
    /// Parses the header: an absolute URI, or a path, which is always a resource of this service.
    pub fn parse(text: &[u8], own: &OwnNames, limits: &PathLimits) -> Result<Self, HeaderError> {
        let text = trim(text);
        if text.contains(&b'#') {
            return Err(HeaderError::DestinationPart);
        }
        if text.starts_with(b"//") {
            // A network-path reference is neither of the two forms, and servers that merge slashes would read
            // it as a path.
            return Err(HeaderError::Destination);
        }
        if text.first() == Some(&b'/') {
            return own_path(text, limits);
        }
        let text = std::str::from_utf8(text).map_err(|_| HeaderError::Destination)?;
        let (scheme, rest) = text.split_once("://").ok_or(HeaderError::Destination)?;
        let scheme = Scheme::parse(scheme.as_bytes()).ok_or(HeaderError::Scheme)?;
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(HeaderError::DestinationPart);
        }
        let (host, port) = split_authority(authority).ok_or(HeaderError::Destination)?;
        let port = port.unwrap_or(scheme.default_port());
        let slash = if target.starts_with('/') { "" } else { "/" };
        let target = format!("{slash}{target}");
        if own.has(&host, port) {
            return own_path(target.as_bytes(), limits);
        }
        // A target with whitespace or control bytes could end the request line early; never send it to
        // another server.
        if !target.bytes().all(|byte| byte.is_ascii_graphic())
            || target.len() > limits.bytes_max.saturating_mul(3)
        {
            return Err(HeaderError::Destination);
        }
        Ok(Self::Elsewhere(RemoteUrl { scheme, host, port, target }))
    }
}

fn own_path(text: &[u8], limits: &PathLimits) -> Result<Destination, HeaderError> {
    if text.contains(&b'?') {
        return Err(HeaderError::DestinationPart);
    }
    Ok(Destination::Own(DavPath::parse(text, limits)?))
}

/// Splits host and port as strictly as for request heads: letters, digits and `-._~`, or an IPv6 address in
/// brackets.
fn split_authority(text: &str) -> Option<(String, Option<u16>)> {
    let host_end = match text.strip_prefix('[') {
        Some(rest) => {
            let close = rest.find(']')?;
            rest[..close].parse::<std::net::Ipv6Addr>().ok()?;
            close + 2
        }
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(host_end);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if host.is_empty() || !(host.starts_with('[') || host.bytes().all(is_name)) {
        return None;
    }
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        None => return None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok().filter(|port| *port != 0)?)
        }
        Some(_) => return None,
    };
    Some((host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Destination, HeaderError> {
        let own = OwnNames::new(["Dav.example", "store.example:8443", "[2001:db8::1]"]).unwrap();
        Destination::parse(text.as_bytes(), &own, &PathLimits::default())
    }

    fn own(href: &str) -> Result<Destination, HeaderError> {
        Ok(Destination::Own(DavPath::parse(href.as_bytes(), &PathLimits::default()).unwrap()))
    }

    fn elsewhere(scheme: Scheme, host: &str, port: u16, target: &str) -> Result<Destination, HeaderError> {
        let (host, target) = (host.to_owned(), target.to_owned());
        Ok(Destination::Elsewhere(RemoteUrl { scheme, host, port, target }))
    }

    #[test]
    fn own_names_make_a_destination_local() {
        for (text, read_as) in [
            ("/a/b/", own("/a/b/")),
            ("https://dav.example/a%20b", own("/a%20b")),
            ("https://DAV.EXAMPLE:9000/a", own("/a")),
            ("davs://store.example:8443/a", own("/a")),
            ("http://[2001:db8::1]:80/a", own("/a")),
            ("http://dav.example", own("/")),
            ("https://store.example/a", elsewhere(Scheme::Https, "store.example", 443, "/a")),
            ("dav://other.example/a?x=%2F", elsewhere(Scheme::Http, "other.example", 80, "/a?x=%2F")),
            ("https://other.example?x", elsewhere(Scheme::Https, "other.example", 443, "/?x")),
            ("https://sub.dav.example/", elsewhere(Scheme::Https, "sub.dav.example", 443, "/")),
            ("https://dav.example.evil/", elsewhere(Scheme::Https, "dav.example.evil", 443, "/")),
        ] {
            assert_eq!(read(text), read_as, "{text}");
        }
    }

    #[test]
    fn what_is_no_destination_is_refused() {
        use HeaderError::*;
        for (text, why) in [
            ("", Destination),
            ("a/b", Destination),
            ("//other.example/a", Destination),
            ("https:///a", Destination),
            ("https://:443/a", Destination),
            ("https://h:0/a", Destination),
            ("https://h:99999/a", Destination),
            ("https://h:+1/a", Destination),
            ("https://h:/a", Destination),
            ("https://h h/a", Destination),
            ("https://h%41/a", Destination),
            ("https://[::1/a", Destination),
            ("https://h/a b", Destination),
            ("https://h/\u{e9}", Destination),
            ("ftp://h/a", Scheme),
            ("file:///etc", Scheme),
            ("https://user@dav.example/a", DestinationPart),
            ("https://dav.example/a#b", DestinationPart),
            ("https://dav.example/a?b", DestinationPart),
            ("/a?b", DestinationPart),
            ("/a/../b", Path(crate::path::PathError::DotSegment)),
            ("https://dav.example/%2e%2e", Path(crate::path::PathError::DotSegment)),
        ] {
            assert_eq!(read(text), Err(why), "{text}");
        }
    }

    #[test]
    fn the_host_of_the_request_is_ours_too() {
        let names = OwnNames::new([]).unwrap().and_host("10.0.0.1:8080").and_host("not a host");
        let read = |text: &str| Destination::parse(text.as_bytes(), &names, &PathLimits::default());
        assert_eq!(read("http://10.0.0.1:8080/a"), own("/a"));
        assert_eq!(read("http://10.0.0.1/a"), elsewhere(Scheme::Http, "10.0.0.1", 80, "/a"));
        assert_eq!(OwnNames::new(["a", "b c"]), Err("b c"));
        // A Host without a port stands for the default ports of both schemes only.
        let names = OwnNames::default().and_host("dav.example");
        let read = |text: &str| Destination::parse(text.as_bytes(), &names, &PathLimits::default());
        for url in ["http://dav.example/a", "https://DAV.example/a", "https://dav.example:443/a"] {
            assert_eq!(read(url), own("/a"), "{url}");
        }
        assert_eq!(read("https://dav.example:8443/a"), elsewhere(Scheme::Https, "dav.example", 8443, "/a"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_get_a_verdict(text in "(https?|davs?|x)?(://)?[a-z.:\\[\\]@]{0,12}[/%a-z0-9.?#]{0,20}") {
            let _ = read(&text);
        }
    }
}
