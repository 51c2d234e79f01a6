use serde_json::json;
use weir_access::jwt::{CachePolicy, KeyCache, KeySet, KeySetError, Metadata, MetadataError, metadata_urls};

use crate::common::Signer;

fn parse(value: &serde_json::Value) -> Result<KeySet, KeySetError> {
    KeySet::parse(value.to_string().as_bytes())
}

#[test]
fn keys_that_verify_nothing_here_are_left_out() {
    let signer = Signer::p256();
    let good = signer.jwk(json!({ "kid": "1" }));
    let others = [
        signer.jwk(json!({ "use": "enc" })),
        signer.jwk(json!({ "key_ops": ["sign"] })),
        signer.jwk(json!({ "alg": "HS256", "kty": "oct", "k": "AAAA" })),
        signer.jwk(json!({ "crv": "secp256k1" })),
        signer.jwk(json!({ "x": "AAAA" })),
        signer.jwk(json!({ "alg": "ECDH-ES" })),
        json!({ "kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I" }),
        json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
        json!({ "kid": 5 }),
        json!("no key"),
    ];
    for other in &others {
        assert_eq!(parse(&json!({ "keys": [other] })), Err(KeySetError::NoUsableKey), "{other}");
        assert_eq!(parse(&json!({ "keys": [other, good] })).unwrap().len(), 1);
    }
}

#[test]
fn a_document_that_is_no_key_set_is_refused() {
    assert_eq!(KeySet::parse(b"<html>"), Err(KeySetError::Malformed));
    assert_eq!(parse(&json!({})), Err(KeySetError::Malformed));
    assert_eq!(parse(&json!({ "keys": [] })), Err(KeySetError::NoUsableKey));
    assert_eq!(parse(&json!({ "keys": vec![0; 257] })), Err(KeySetError::TooMany));
    assert_eq!(KeySet::parse(&vec![b' '; 1024 * 1024 + 1]), Err(KeySetError::TooLong));
}

fn keys() -> KeySet {
    parse(&json!({ "keys": [Signer::ed25519().jwk(json!({}))] })).unwrap()
}

#[test]
fn keys_are_fetched_at_once_then_once_an_hour() {
    let mut cache = KeyCache::new(CachePolicy::default());
    assert_eq!(cache.due_at(), 0);
    assert!(cache.keys(1000).is_empty());
    cache.fetched(keys(), 1000);
    assert_eq!((cache.due_at(), cache.keys(1000).len()), (4600, 1));
}

#[test]
fn unknown_keys_bring_a_fetch_forward_but_no_flood() {
    let mut cache = KeyCache::new(CachePolicy::default());
    cache.fetched(keys(), 1000);
    for _ in 0..1000 {
        cache.key_unknown();
    }
    assert_eq!(cache.due_at(), 1030);
    cache.fetched(keys(), 1030);
    assert_eq!(cache.due_at(), 4630, "asked and answered");
    cache.key_unknown();
    assert_eq!(cache.due_at(), 1060);
}

#[test]
fn keys_outlive_an_issuer_that_is_down_for_a_while() {
    let mut cache = KeyCache::new(CachePolicy::default());
    cache.fetched(keys(), 0);
    let mut pauses = Vec::new();
    let mut now = 3600;
    for _ in 0..12 {
        cache.failed(now);
        pauses.push(cache.due_at() - now);
        now = cache.due_at();
    }
    assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]);
    cache.key_unknown();
    assert_eq!(cache.due_at(), now, "unknown keys do not shorten the pause after a failure");
    assert_eq!(cache.keys(7 * 24 * 3600).len(), 1);
    assert!(cache.keys(7 * 24 * 3600 + 1).is_empty());
    cache.fetched(keys(), now);
    assert_eq!(cache.due_at(), now + 3600);
}

#[test]
fn metadata_is_looked_for_where_either_standard_puts_it() {
    let oidc = "https://a.example/t/.well-known/openid-configuration";
    let oauth = "https://a.example/.well-known/oauth-authorization-server/t";
    assert_eq!(metadata_urls("https://a.example/t"), [oidc, oauth]);
    assert_eq!(metadata_urls("https://a.example/t/"), [oidc, oauth]);
    assert_eq!(
        metadata_urls("https://a.example")[1],
        "https://a.example/.well-known/oauth-authorization-server"
    );
}

#[test]
fn metadata_must_be_the_issuers_and_lead_to_https() {
    let document =
        |issuer: &str, keys: &str| json!({ "issuer": issuer, "jwks_uri": keys, "x": 1 }).to_string();
    let ask = |issuer: &str, keys: &str| {
        Metadata::parse(document(issuer, keys).as_bytes(), "https://a.example/")
            .map(|metadata| metadata.jwks_uri)
    };
    assert_eq!(ask("https://a.example/", "https://k.example/jwk").as_deref(), Ok("https://k.example/jwk"));
    assert_eq!(ask("https://a.example", "https://k.example/jwk"), Err(MetadataError::OtherIssuer));
    for keys in ["http://k.example/jwk", "file:///etc/passwd", "https://", "https://k.example/\nX: y", ""] {
        assert_eq!(ask("https://a.example/", keys), Err(MetadataError::NotHttps("jwks_uri")), "{keys}");
    }
    let local = document("http://localhost:8080", "http://localhost:8080/jwk");
    assert!(Metadata::parse(local.as_bytes(), "http://localhost:8080").is_ok());
    assert_eq!(Metadata::parse(b"[]", "https://a.example/"), Err(MetadataError::Malformed));
}
