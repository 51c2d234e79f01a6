//! Fuzzes token requests, as forms and for macaroons: a macaroon covers nothing but its target. Also fuzzes
//! files of VO members and the headers of a proxy: a certificate subject comes from a subject header.

use weir_access::AccessPath;
use weir_access::identity::{TrustedProxies, VoMap, certificate_from_headers};
use weir_access::issue::{MacaroonRequest, TokenRequest};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(body: &[u8]) {
    if let Ok(asked) = TokenRequest::parse(Some("application/x-www-form-urlencoded"), body) {
        // Scopes are not expanded.
        assert!(asked.scopes.scopes().len() <= body.len());
    }
    let Ok(target) = AccessPath::from_plain("/a/b") else { return };
    if let Ok(asked) = MacaroonRequest::parse(body, &target) {
        assert!(asked.scopes.scopes().iter().all(|scope| target.contains(&scope.path)));
    }
    let Ok(text) = std::str::from_utf8(body) else { return };
    let mut map = VoMap::default();
    if map.add_file("vo", text).is_ok() {
        assert!(map.vos(text, None).iter().all(|vo| vo == "vo"));
    }
    let (Ok(network), Ok(peer)) = ("127.0.0.0/8".parse(), "127.0.0.1".parse()) else { return };
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    if let Ok(Some(found)) = certificate_from_headers(&TrustedProxies(vec![network]), peer, 0, lines.clone())
    {
        let is_subject = |name: &str| {
            ["X-VOMS-ssl_client_ee_s_dn", "X-VOMS-voms_user"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
        };
        assert!(lines.clone().any(|(name, _)| is_subject(name)));
        assert!(!found.subject.is_empty());
    }
}
