//! Cross-site request forgery: changes that a page of another origin makes a browser send.

use weir_access::identity::Identity;
use weir_net::service::Request;

/// Returns true if a page of another origin made a browser send this changing request with ambient
/// credentials. These are a password, a certificate, or just the client's address. A foreign page cannot add
/// a token, so requests with tokens pass.
///
/// Uses Sec-Fetch-Site (Fetch Metadata) if the browser sends it, else Origin (RFC 6454). Other programs send
/// neither.
pub(crate) fn is_forged(request: &Request, identity: &Identity) -> bool {
    if is_safe(request.method()) || matches!(identity, Identity::Token(_) | Identity::Delegated(_)) {
        return false;
    }
    match (request.header("Sec-Fetch-Site"), request.header("Origin")) {
        (Some(site), _) => !matches!(site, b"same-origin" | b"none"),
        (None, Some(origin)) => !is_own(origin, request.host()),
        (None, None) => false,
    }
}

fn is_safe(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"PROPFIND")
}

/// Returns true if an origin is that of the request's host. `null` is never the own origin: sandboxed pages
/// send it.
fn is_own(origin: &[u8], host: Option<&[u8]>) -> bool {
    let schemes = [(&b"https://"[..], &b":443"[..]), (&b"http://"[..], &b":80"[..])];
    let Some(host) = host else { return false };
    schemes.into_iter().any(|(scheme, port)| {
        let bare = |authority: &[u8]| authority.strip_suffix(port).unwrap_or(authority).to_ascii_lowercase();
        origin.strip_prefix(scheme).is_some_and(|authority| bare(authority) == bare(host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forged(method: &str, headers: &[(&str, &str)]) -> bool {
        let headers = [&[("Host", "data.example.org")], headers].concat();
        is_forged(&Request::new(method, "/a", &headers), &Identity::Anonymous)
    }

    #[test]
    fn what_a_page_of_another_origin_sends_is_forged() {
        for site in ["cross-site", "same-site", ""] {
            assert!(forged("PUT", &[("Sec-Fetch-Site", site), ("Origin", "https://data.example.org")]));
        }
        for origin in
            ["https://evil.example.org", "null", "https://data.example.org.evil", "data.example.org"]
        {
            assert!(forged("DELETE", &[("Origin", origin)]), "{origin}");
        }
        assert!(forged("POST", &[("Origin", "http://data.example.org:81")]));
    }

    #[test]
    fn what_the_own_page_or_another_program_sends_is_not() {
        assert!(!forged("PUT", &[]));
        assert!(!forged("PUT", &[("Sec-Fetch-Site", "same-origin")]));
        assert!(!forged("MKCOL", &[("Origin", "https://DATA.example.org")]));
        assert!(!forged("MKCOL", &[("Origin", "http://data.example.org:80")]));
        // Reading is harmless: the browser does not show the response to the page.
        assert!(!forged("GET", &[("Sec-Fetch-Site", "cross-site")]));
    }
}
