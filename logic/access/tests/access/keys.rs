//! Tests of key sets, of the key cache, and of issuer metadata.

use serde_json::json;
use weir_access::jwt::{
    CachePolicy, KeyCache, KeySearch, KeySet, KeySetError, Metadata, MetadataError, metadata_urls,
};

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
    assert!(cache.keys(1000).0.is_empty());
    assert_eq!(cache.search(Some("a"), 0, 1000), KeySearch::Fetching);
    fetch(&mut cache, 1000);
    assert_eq!((cache.due_at(), cache.keys(1000).0.len()), (4600, 1));
}

/// Performs a fetch that succeeds at once.
fn fetch(cache: &mut KeyCache, now: u64) {
    cache.started(now);
    cache.fetched(keys(), now);
}

/// Searches for an unknown key id with the current version of the keys.
fn search(cache: &mut KeyCache, id: &str, now: u64) -> KeySearch {
    let (_, version) = cache.keys(now);
    cache.search(Some(id), version, now)
}

#[test]
fn a_new_key_is_fetched_at_once_however_short_the_last_fetch_is_ago() {
    let mut cache = KeyCache::new(CachePolicy::default());
    fetch(&mut cache, 1000);
    assert_eq!(search(&mut cache, "rotated-in", 1000), KeySearch::Fetching);
    assert!(cache.due_at() <= 1000, "{}", cache.due_at());
    let (_, before) = cache.keys(1000);
    fetch(&mut cache, 1000);
    assert_eq!(cache.search(Some("rotated-in"), before, 1000), KeySearch::Changed, "to be verified again");
    assert_eq!(search(&mut cache, "rotated-in", 1000), KeySearch::Missing, "it is not there");
    assert_eq!(cache.due_at(), 4600, "asked and answered");
    // The key counts as missing only for a short time.
    assert_eq!(search(&mut cache, "rotated-in", 1010), KeySearch::Fetching);
}

#[test]
fn made_up_keys_bring_about_few_fetches() {
    let mut cache = KeyCache::new(CachePolicy::default());
    fetch(&mut cache, 1000);
    let mut fetches = Vec::new();
    for now in 1000..1060 {
        for number in 0..100 {
            if search(&mut cache, &format!("made up {now} {number}"), now) == KeySearch::Fetching {
                fetch(&mut cache, now);
                fetches.push(now);
            }
        }
    }
    assert_eq!(fetches, [1000, 1000, 1000, 1000, 1010, 1020, 1030, 1040, 1050]);
    // The cache cannot know whether the issuer has a further key until the next fetch.
    assert_eq!(search(&mut cache, "rotated-in", 1055), KeySearch::Later(5));
    assert_eq!(cache.due_at(), 1060);
}

#[test]
fn a_key_that_comes_while_keys_are_fetched_waits_for_the_next_fetch() {
    let mut cache = KeyCache::new(CachePolicy::default());
    fetch(&mut cache, 1000);
    assert_eq!(search(&mut cache, "a", 1001), KeySearch::Fetching);
    cache.started(1001);
    // The issuer may have written its answer before it had this key.
    assert_eq!(search(&mut cache, "b", 1001), KeySearch::Fetching);
    assert_eq!(search(&mut cache, "a", 1001), KeySearch::Fetching);
    cache.fetched(keys(), 1001);
    assert_eq!(search(&mut cache, "a", 1001), KeySearch::Missing);
    assert!(cache.due_at() <= 1001);
    assert_eq!(search(&mut cache, "b", 1001), KeySearch::Fetching);
}

/// Returns a key set with one key, whose id is "1".
fn named_keys() -> KeySet {
    parse(&json!({ "keys": [Signer::ed25519().jwk(json!({ "kid": "1" }))] })).unwrap()
}

#[test]
fn a_key_that_a_fetch_has_found_is_not_missing() {
    for began_before in [false, true] {
        let mut cache = KeyCache::new(CachePolicy::default());
        if began_before {
            cache.started(1000);
        }
        assert_eq!(search(&mut cache, "1", 1000), KeySearch::Fetching);
        if !began_before {
            cache.started(1000);
        }
        cache.fetched(named_keys(), 1000);
        assert_eq!(cache.due_at(), 4600, "nobody waits for more");
        // The issuer may have a new key with the same id.
        assert_eq!(search(&mut cache, "1", 1001), KeySearch::Fetching);
        cache.started(1001);
        cache.fetched(named_keys(), 1001);
        assert_eq!(search(&mut cache, "1", 1001), KeySearch::Missing);
        assert_eq!(search(&mut cache, "2", 1001), KeySearch::Fetching);
        cache.started(1001);
        cache.fetched(named_keys(), 1001);
        assert_eq!(search(&mut cache, "2", 1001), KeySearch::Missing);
    }
}

#[test]
fn without_keys_nobody_says_that_a_key_is_missing() {
    let mut cache = KeyCache::new(CachePolicy::default());
    assert_eq!(search(&mut cache, "a", 1000), KeySearch::Fetching);
    cache.started(1000);
    cache.failed(1000);
    assert_eq!(search(&mut cache, "a", 1000), KeySearch::Later(10));
    // Tokens wait for keys, so the pauses stay short.
    for now in [1010, 1030, 1060, 1090] {
        assert_eq!(cache.due_at(), now);
        cache.started(now);
        cache.failed(now);
        assert!(matches!(search(&mut cache, "a", now), KeySearch::Later(1..=30)), "{now}");
    }
    // The same holds if the present keys are too old.
    let mut cache = KeyCache::new(CachePolicy::default());
    fetch(&mut cache, 0);
    let late = 8 * 24 * 3600;
    cache.started(late);
    cache.failed(late);
    assert!(cache.keys(late).0.is_empty());
    assert_eq!(search(&mut cache, "a", late), KeySearch::Later(10));
}

#[test]
fn keys_outlive_an_issuer_that_is_down_for_a_while() {
    let mut cache = KeyCache::new(CachePolicy::default());
    fetch(&mut cache, 0);
    let mut pauses = Vec::new();
    let mut now = 3600;
    for _ in 0..12 {
        cache.failed(now);
        pauses.push(cache.due_at() - now);
        now = cache.due_at();
    }
    assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]);
    assert_eq!(cache.keys(7 * 24 * 3600).0.len(), 1);
    assert!(cache.keys(7 * 24 * 3600 + 1).0.is_empty());
    fetch(&mut cache, now);
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
