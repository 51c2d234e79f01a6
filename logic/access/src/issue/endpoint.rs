//! The addresses of Weir's token endpoint: token requests, public keys, and metadata.

use std::fmt;

use crate::AccessPath;
use crate::jwt::metadata_urls;
use crate::wlcg::Operation;

/// The addresses of an issuer of Weir's own tokens: its URLs, and the paths of this server that they lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    issuer: String,
    origin: String,
    token: String,
    keys: String,
    metadata: Vec<String>,
}

/// The content at a path of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointPage {
    /// The endpoint that issues tokens (RFC 6749 section 3.2).
    Token,
    /// The public keys (RFC 7517 section 5).
    Keys,
    /// The metadata of the issuer (OpenID Connect Discovery 1.0, RFC 8414).
    Metadata,
}

/// Reason why an endpoint is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointError {
    /// The issuer is not an `https:` URL of a host with an optional path. `http:` is permitted only for a
    /// loopback address.
    Issuer,
    /// The path is invalid, or is the root.
    Path,
}

impl Endpoint {
    /// Creates the endpoint of an issuer that issues tokens at `path` of the same host. The keys are at
    /// `jwks` in the same directory.
    ///
    /// # Errors
    /// If the issuer or the path is invalid.
    pub fn new(issuer: &str, path: &str) -> Result<Self, EndpointError> {
        let after_scheme = ["https://", "http://"].iter().find_map(|scheme| issuer.strip_prefix(scheme));
        let host = after_scheme.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let unusable =
            |c: char| c.is_ascii_control() || matches!(c, ' ' | '?' | '#' | '"' | '\\' | '%' | '@');
        // Clients send passwords and tokens there, so it needs TLS (RFC 6749 section 3.2).
        let in_clear = issuer.starts_with("http:") && !is_this_machine(host);
        if host.is_empty() || in_clear || issuer.contains(unusable) || !issuer.is_ascii() {
            return Err(EndpointError::Issuer);
        }
        let plain = AccessPath::from_encoded(path).map_err(|_| EndpointError::Path)?;
        let is_same = path.is_ascii() && !path.contains(unusable) && plain.to_string() == path;
        let (parent, _) = path.rsplit_once('/').filter(|_| is_same).ok_or(EndpointError::Path)?;
        if plain.is_directory() || path.ends_with("/jwks") {
            return Err(EndpointError::Path);
        }
        let origin = &issuer[..issuer.len() - after_scheme.map_or(0, str::len) + host.len()];
        let below = |url: String| url[origin.len()..].to_owned();
        Ok(Self {
            issuer: issuer.to_owned(),
            origin: origin.to_owned(),
            token: path.to_owned(),
            keys: format!("{parent}/jwks"),
            metadata: metadata_urls(issuer).into_iter().map(below).collect(),
        })
    }

    /// Returns the content at a path of the server, in the form of a URL. Other spellings of the same path do
    /// not match.
    pub fn page(&self, path: &[u8]) -> Option<EndpointPage> {
        match path {
            path if path == self.token.as_bytes() => Some(EndpointPage::Token),
            path if path == self.keys.as_bytes() => Some(EndpointPage::Keys),
            path => {
                self.metadata.iter().any(|there| there.as_bytes() == path).then_some(EndpointPage::Metadata)
            }
        }
    }

    /// Returns true if the host of a request is the issuer's host. Clients that look for the issuer send
    /// their requests there.
    pub fn is_at(&self, host: &[u8]) -> bool {
        let (scheme, own) = self.origin.split_once("://").unwrap_or_default();
        let default = if scheme == "http" { ":80" } else { ":443" };
        let plain = |host: &[u8]| host.strip_suffix(default.as_bytes()).unwrap_or(host).to_ascii_lowercase();
        plain(own.as_bytes()) == plain(host)
    }

    /// Returns the metadata document. `has_keys` is true if tokens can be verified with a public key.
    /// `methods` are the client authentication methods, by their names in RFC 8414.
    pub fn metadata(&self, has_keys: bool, methods: &[&str]) -> serde_json::Value {
        let mut document = serde_json::json!({
            "issuer": self.issuer,
            "token_endpoint": format!("{}{}", self.origin, self.token),
            "token_endpoint_auth_methods_supported": methods,
            "grant_types_supported": ["client_credentials"],
            // Empty, because there is no authorization endpoint.
            "response_types_supported": [],
            "scopes_supported": Operation::ALL.map(Operation::name),
        });
        if has_keys {
            document["jwks_uri"] = format!("{}{}", self.origin, self.keys).into();
        }
        document
    }
}

/// Returns true for a loopback host with an optional port. No other machine can answer at such a host.
fn is_this_machine(host: &str) -> bool {
    let (name, port) = match host.strip_prefix("[::1]") {
        Some(rest) => ("::1", rest.strip_prefix(':').or(rest.is_empty().then_some(""))),
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, Some("")),
        },
    };
    let is_port = port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    is_port && matches!(name, "localhost" | "127.0.0.1" | "::1")
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Issuer => {
                "expected a URL such as \"https://storage.example.org\", without query or escapes"
            }
            Self::Path => "expected a path such as \"/oauth/token\", whose last name is not jwks",
        })
    }
}

impl std::error::Error for EndpointError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_of_an_issuer_has_its_page() {
        let endpoint = Endpoint::new("https://a.org:8443/vo/", "/vo/oauth/token").unwrap();
        for (path, page) in [
            ("/vo/oauth/token", Some(EndpointPage::Token)),
            ("/vo/oauth/jwks", Some(EndpointPage::Keys)),
            ("/vo/.well-known/openid-configuration", Some(EndpointPage::Metadata)),
            ("/.well-known/oauth-authorization-server/vo", Some(EndpointPage::Metadata)),
            ("/vo/oauth/token/", None),
            ("/vo/oauth/%74oken", None),
            ("/oauth/token", None),
        ] {
            assert_eq!(endpoint.page(path.as_bytes()), page, "{path}");
        }
        let document = endpoint.metadata(true, &["client_secret_basic"]);
        assert_eq!(
            document["token_endpoint_auth_methods_supported"],
            serde_json::json!(["client_secret_basic"])
        );
        assert_eq!(document["response_types_supported"], serde_json::json!([]));
        assert_eq!(document["token_endpoint"], "https://a.org:8443/vo/oauth/token");
        assert_eq!(document["jwks_uri"], "https://a.org:8443/vo/oauth/jwks");
        assert!(endpoint.metadata(false, &[]).get("jwks_uri").is_none());
        let read =
            crate::jwt::Metadata::parse(document.to_string().as_bytes(), "https://a.org:8443/vo/").unwrap();
        assert_eq!(read.jwks_uri, "https://a.org:8443/vo/oauth/jwks");
    }

    #[test]
    fn an_issuer_is_at_its_host_whatever_the_default_port() {
        let endpoint = Endpoint::new("https://a.org/vo", "/oauth/token").unwrap();
        for (host, expected) in
            [("a.org", true), ("A.ORG:443", true), ("a.org:80", false), ("b.org", false), ("", false)]
        {
            assert_eq!(endpoint.is_at(host.as_bytes()), expected, "{host}");
        }
        let odd = Endpoint::new("http://127.0.0.1:8080", "/oauth/token").unwrap();
        assert!(odd.is_at(b"127.0.0.1:8080") && !odd.is_at(b"127.0.0.1"));
    }

    #[test]
    fn an_issuer_in_clear_text_is_only_ever_this_machine() {
        for (issuer, sound) in [
            ("http://a.org", false),
            ("http://127.0.0.1", true),
            ("http://localhost:8080/vo", true),
            ("http://[::1]:80", true),
            ("http://localhost.a.org", false),
            ("http://127.0.0.1.a.org", false),
            ("http://localhost:a.org", false),
            ("http://[::1].a.org", false),
        ] {
            assert_eq!(Endpoint::new(issuer, "/oauth/token").is_ok(), sound, "{issuer}");
        }
    }

    #[test]
    fn what_is_no_issuer_or_no_path_is_refused() {
        for issuer in
            ["", "a.org", "https://", "https:///x", "https://a?b", "https://a b", "ftp://a", "https://u@a"]
        {
            assert_eq!(Endpoint::new(issuer, "/oauth/token"), Err(EndpointError::Issuer), "{issuer}");
        }
        for path in ["", "/", "oauth", "/oauth/", "/a/../b", "/a//b", "/a?b", "/a%20b", "/oauth/jwks"] {
            assert_eq!(Endpoint::new("https://a.org", path), Err(EndpointError::Path), "{path}");
        }
    }
}
