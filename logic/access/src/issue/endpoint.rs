use std::fmt;

use crate::AccessPath;
use crate::jwt::metadata_urls;
use crate::wlcg::Operation;

/// Where an issuer of own tokens is found: its URLs, and what is at the paths of the server that they lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    issuer: String,
    origin: String,
    token: String,
    keys: String,
    metadata: Vec<String>,
}

/// What one of its paths is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointPage {
    /// Tokens are issued there (RFC 6749 section 3.2).
    Token,
    /// The public keys (RFC 7517 section 5).
    Keys,
    /// What the issuer says of itself (OpenID Connect Discovery 1.0, RFC 8414).
    Metadata,
}

/// Why there cannot be such an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointError {
    /// The issuer is no `https:` URL of a host, perhaps with a path; `http:` is for this machine's own address only.
    Issuer,
    /// The path is none, or the root.
    Path,
}

impl Endpoint {
    /// Of an issuer whose tokens are issued at `path` of the same host. The keys are beside it, as `jwks`.
    ///
    /// # Errors
    /// One of the two is wrong.
    pub fn new(issuer: &str, path: &str) -> Result<Self, EndpointError> {
        let after_scheme = ["https://", "http://"].iter().find_map(|scheme| issuer.strip_prefix(scheme));
        let host = after_scheme.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let unusable =
            |c: char| c.is_ascii_control() || matches!(c, ' ' | '?' | '#' | '"' | '\\' | '%' | '@');
        // Passwords and tokens go there (RFC 6749 section 3.2).
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

    /// What is at a path of the server, as a URL has it. Paths that are written in another way are none of these.
    pub fn page(&self, path: &[u8]) -> Option<EndpointPage> {
        match path {
            path if path == self.token.as_bytes() => Some(EndpointPage::Token),
            path if path == self.keys.as_bytes() => Some(EndpointPage::Keys),
            path => {
                self.metadata.iter().any(|there| there.as_bytes() == path).then_some(EndpointPage::Metadata)
            }
        }
    }

    /// Whether this is the issuer's host, as a request names it: whoever looks for the issuer asks there.
    pub fn is_at(&self, host: &[u8]) -> bool {
        let (scheme, own) = self.origin.split_once("://").unwrap_or_default();
        let default = if scheme == "http" { ":80" } else { ":443" };
        let plain = |host: &[u8]| host.strip_suffix(default.as_bytes()).unwrap_or(host).to_ascii_lowercase();
        plain(own.as_bytes()) == plain(host)
    }

    /// The metadata document. `has_keys`: there is a public half to verify tokens with. `methods`: how clients can prove who they
    /// are, as RFC 8414 names it.
    pub fn metadata(&self, has_keys: bool, methods: &[&str]) -> serde_json::Value {
        let mut document = serde_json::json!({
            "issuer": self.issuer,
            "token_endpoint": format!("{}{}", self.origin, self.token),
            "token_endpoint_auth_methods_supported": methods,
            "grant_types_supported": ["client_credentials"],
            // There is no authorization endpoint.
            "response_types_supported": [],
            "scopes_supported": Operation::ALL.map(Operation::name),
        });
        if has_keys {
            document["jwks_uri"] = format!("{}{}", self.origin, self.keys).into();
        }
        document
    }
}

/// A host, with its port if it has one, that nobody else can be behind.
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
