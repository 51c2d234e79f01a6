//! Fuzzes tokens and the formats that carry them: no input panics, and none is accepted as a signed token.

use weir_access::basic::{Htpasswd, parse_authorization};
use weir_access::issue::{Endpoint, MacaroonRequest, Minting, OwnKey, OwnKeys, Presentation, TokenRequest};
use weir_access::jwt::{Algorithm, Claims, Jws, KeySet, Metadata};
use weir_access::token::{Issuer, issuer_of, verify};
use weir_access::{AccessPath, Crypto, PublicKey};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(bytes: &[u8]) {
    let root = AccessPath::root();
    let _ = Claims::parse(bytes);
    let _ = Metadata::parse(bytes, "https://a.example");
    let _ = MacaroonRequest::parse(bytes, &root);
    let _ = TokenRequest::parse(Some("application/x-www-form-urlencoded"), bytes);
    let keys = KeySet::parse(bytes).unwrap_or_default();
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = Htpasswd::parse(text);
    let _ = parse_authorization(text);
    let _ = Jws::parse(text);
    let issuer = issuer_of(text).unwrap_or_default();
    assert!(
        verify(text, &Issuer::new(&issuer), &keys, &NeverVerifies, 1_800_000_000).is_err(),
        "nothing has been signed"
    );
    let key = OwnKey::hs256("k", &[7; 32]).expect("long enough");
    let keys = OwnKeys { current: key, previous: Vec::new() };
    let audiences = vec![issuer.clone()];
    let minting = Minting { issuer, audiences, lifetime_max_secs: 60, keys };
    let (url, path) = text.split_once(' ').unwrap_or((text, "/oauth/token"));
    if let Ok(endpoint) = Endpoint::new(url, path) {
        let document = endpoint.metadata(true, &[]);
        assert!(Metadata::parse(document.to_string().as_bytes(), url).is_ok(), "others cannot find {url}");
    }
    let _ = OwnKey::read(Algorithm::Es256, bytes, &NeverVerifies);
    let client = std::net::IpAddr::from([192, 0, 2, 1]);
    let presentation = Presentation { path: &root, method: "GET", client };
    assert!(
        minting.verify(text, &presentation, &NeverVerifies, 0, 1_800_000_000).is_err(),
        "nothing has been signed"
    );
}

/// A crypto library that accepts no signature, so that only the code around it is fuzzed.
struct NeverVerifies;

impl Crypto for NeverVerifies {
    fn verifies(&self, _: Algorithm, _: &PublicKey, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn sign_es256(&self, _: &[u8], _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn public_point_p256(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn hmac_sha256(&self, _: &[u8], _: &[&[u8]]) -> [u8; 32] {
        [0; 32]
    }

    fn sha256(&self, _: &[&[u8]]) -> [u8; 32] {
        [0; 32]
    }

    fn sha512(&self, _: &[&[u8]]) -> [u8; 64] {
        [0; 64]
    }

    fn equal(&self, _: &[u8], _: &[u8]) -> bool {
        false
    }
}
