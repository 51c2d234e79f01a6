//! Set-Cookie lines of Weir's own cookies.

use serde::{Deserialize, Serialize};

/// The attributes of a cookie (RFC 6265 section 5.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CookieAttributes {
    /// Path prefix of the requests that carry the cookie.
    pub path: String,
    /// Domain that receives the cookie, with its subdomains; `None` = only the host that set it.
    pub domain: Option<String>,
    /// Lifetime in seconds; `None` = until the browser is closed.
    pub max_age_s: Option<u64>,
    /// True if the cookie is hidden from scripts.
    pub http_only: bool,
    /// Rule for requests from other sites; `None` = the browser's default.
    pub same_site: Option<SameSite>,
}

/// The rule for requests from other sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SameSite {
    /// No request from another site carries the cookie.
    Strict,
    /// Only links that the user follows carry the cookie.
    Lax,
    /// All requests carry the cookie; browsers then require Secure.
    None,
}

impl SameSite {
    /// Returns the value in the header.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Lax => "Lax",
            Self::None => "None",
        }
    }
}

/// Appends a complete Set-Cookie line with its CR LF. `secure`: the browser sends the cookie only over TLS.
pub fn append_set_cookie(
    out: &mut Vec<u8>,
    name: &str,
    value: &[u8],
    attributes: &CookieAttributes,
    secure: bool,
) {
    let mut add = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
    add(&[b"Set-Cookie: ", name.as_bytes(), b"=", value, b"; Path=", attributes.path.as_bytes()]);
    if let Some(domain) = &attributes.domain {
        add(&[b"; Domain=", domain.as_bytes()]);
    }
    if let Some(seconds) = attributes.max_age_s {
        add(&[b"; Max-Age=", seconds.to_string().as_bytes()]);
    }
    if attributes.http_only {
        add(&[b"; HttpOnly"]);
    }
    if secure {
        add(&[b"; Secure"]);
    }
    if let Some(same_site) = attributes.same_site {
        add(&[b"; SameSite=", same_site.name().as_bytes()]);
    }
    add(&[b"\r\n"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_set_with_its_attributes() {
        let plain = CookieAttributes {
            path: "/".to_owned(),
            domain: None,
            max_age_s: None,
            http_only: true,
            same_site: Some(SameSite::Lax),
        };
        let mut out = Vec::new();
        append_set_cookie(&mut out, "SRV", b"w1", &plain, false);
        assert_eq!(out, b"Set-Cookie: SRV=w1; Path=/; HttpOnly; SameSite=Lax\r\n");
        let more = CookieAttributes {
            path: "/app".to_owned(),
            domain: Some("example.org".to_owned()),
            max_age_s: Some(3600),
            http_only: false,
            same_site: None,
        };
        out.clear();
        append_set_cookie(&mut out, "SRV", b"w1", &more, true);
        let line: &[u8] = b"Set-Cookie: SRV=w1; Path=/app; Domain=example.org; Max-Age=3600; Secure\r\n";
        assert_eq!(out, line);
    }
}
