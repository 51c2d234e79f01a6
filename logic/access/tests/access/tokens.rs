//! Tests of the verification of access tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use serde_json::{Value, json};
use weir_access::identity::TokenIdentity;
use weir_access::jwt::{Algorithm, KeySet, TokenError, TypeRule};
use weir_access::token::{Audiences, Issuer, issuer_of, verify};
use weir_access::wlcg::ProfileRule;

use crate::common::{ISSUER, NOW, Signer, claims};
use crate::crypto::AwsLc;

fn key_set(keys: &[Value]) -> KeySet {
    KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

fn issuer(algorithms: &[Algorithm]) -> Issuer {
    Issuer { algorithms: algorithms.to_vec(), ..Issuer::new(ISSUER) }
}

/// A signing key, with the key set and the issuer that verify its tokens.
struct Case {
    signer: Signer,
    keys: KeySet,
    issuer: Issuer,
}

impl Case {
    fn new() -> Self {
        let signer = Signer::p256();
        let keys = key_set(&[signer.jwk(json!({ "kid": "k1" }))]);
        Self { signer, keys, issuer: issuer(&[Algorithm::Es256]) }
    }

    fn with_header(&self, header: Value) -> Result<TokenIdentity, TokenError> {
        verify(&self.signer.token(&header, &claims("storage.read:/")), &self.issuer, &self.keys, &AwsLc, NOW)
    }

    /// Verifies a token with changed claims; `null` removes a claim.
    fn with_claims(&self, changes: Value) -> Result<TokenIdentity, TokenError> {
        let mut all = claims("storage.read:/");
        for (name, value) in changes.as_object().unwrap() {
            match value.is_null() {
                true => drop(all.as_object_mut().unwrap().remove(name)),
                false => all[name] = value.clone(),
            }
        }
        verify(
            &self.signer.token(&json!({ "alg": "ES256", "kid": "k1" }), &all),
            &self.issuer,
            &self.keys,
            &AwsLc,
            NOW,
        )
    }
}

#[test]
fn every_public_key_algorithm_verifies_what_it_signed_and_nothing_else() {
    let signers = [
        (Signer::p256(), vec![Algorithm::Es256]),
        (Signer::p384(), vec![Algorithm::Es384]),
        (Signer::p521(), vec![Algorithm::Es512]),
        (Signer::ed25519(), vec![Algorithm::EdDsa]),
        (
            Signer::rsa(),
            vec![
                Algorithm::Rs256,
                Algorithm::Rs384,
                Algorithm::Rs512,
                Algorithm::Ps256,
                Algorithm::Ps384,
                Algorithm::Ps512,
            ],
        ),
    ];
    let known: Vec<_> = signers.iter().flat_map(|(_, algorithms)| algorithms.clone()).collect();
    assert!(Algorithm::PUBLIC_KEY.iter().all(|algorithm| known.contains(algorithm)), "{known:?}");
    for (signer, algorithms) in signers {
        let keys = key_set(&[signer.jwk(json!({ "use": "sig" }))]);
        let issuer = issuer(&Algorithm::PUBLIC_KEY);
        for algorithm in algorithms {
            let token = signer.token(&json!({ "alg": algorithm.name() }), &claims("storage.read:/"));
            let identity = verify(&token, &issuer, &keys, &AwsLc, NOW)
                .unwrap_or_else(|error| panic!("{algorithm}: {error}"));
            assert_eq!((identity.subject.as_str(), identity.groups.len()), ("jo", 2));
            // A different payload with the same signature.
            let parts: Vec<_> = token.split('.').collect();
            let other = URL_SAFE_NO_PAD.encode(claims("storage.modify:/").to_string());
            let forged = format!("{}.{other}.{}", parts[0], parts[2]);
            assert_eq!(
                verify(&forged, &issuer, &keys, &AwsLc, NOW),
                Err(TokenError::SignatureInvalid),
                "{algorithm}"
            );
        }
    }
}

#[test]
fn the_token_does_not_choose_its_algorithm() {
    let case = Case::new();
    assert!(case.with_header(json!({ "alg": "ES256", "kid": "k1" })).is_ok());
    for alg in ["none", "None", "NONE", "", "es256", "HS257", "RS1"] {
        assert_eq!(case.with_header(json!({ "alg": alg })), Err(TokenError::AlgorithmUnknown), "{alg}");
    }
    for algorithm in [Algorithm::Hs256, Algorithm::Rs256, Algorithm::Es384] {
        let refused = TokenError::AlgorithmNotPermitted { issuer: ISSUER.to_owned(), algorithm };
        assert_eq!(case.with_header(json!({ "alg": algorithm.name(), "kid": "k1" })), Err(refused));
    }
    assert!(matches!(case.with_header(json!({ "kid": "k1" })), Err(TokenError::Malformed(_))));
}

#[test]
fn hmac_with_the_public_key_as_its_secret_does_not_verify_even_where_it_is_listed() {
    let case = Case::new();
    let permissive = issuer(&[Algorithm::Es256, Algorithm::Hs256]);
    let header = URL_SAFE_NO_PAD.encode(json!({ "alg": "HS256", "kid": "k1" }).to_string());
    let input = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims("storage.modify:/").to_string()));
    let jwk = case.signer.jwk(json!({})).to_string();
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, jwk.as_bytes());
    let tag = aws_lc_rs::hmac::sign(&key, input.as_bytes());
    let token = format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag));
    let unknown = TokenError::KeyUnknown { issuer: ISSUER.to_owned() };
    assert_eq!(verify(&token, &permissive, &case.keys, &AwsLc, NOW), Err(unknown));
}

#[test]
fn keys_that_a_token_brings_along_do_not_count() {
    let case = Case::new();
    let attacker = Signer::p256();
    for extra in [
        json!({ "jwk": attacker.jwk(json!({})) }),
        json!({ "jku": "https://attacker.example/keys" }),
        json!({ "x5u": "https://attacker.example/cert", "x5c": ["AAAA"] }),
    ] {
        let mut header = json!({ "alg": "ES256", "kid": "k1" });
        for (name, value) in extra.as_object().unwrap() {
            header[name] = value.clone();
        }
        assert!(case.with_header(header.clone()).is_ok(), "it is ignored");
        let forged = attacker.token(&header, &claims("storage.modify:/"));
        assert_eq!(verify(&forged, &case.issuer, &case.keys, &AwsLc, NOW), Err(TokenError::SignatureInvalid));
    }
    let critical = json!({ "alg": "ES256", "kid": "k1", "crit": ["b64"], "b64": false });
    assert_eq!(case.with_header(critical), Err(TokenError::CriticalHeader));
}

#[test]
fn the_key_id_chooses_among_several_keys() {
    let (one, two) = (Signer::p256(), Signer::p256());
    let keys = key_set(&[one.jwk(json!({ "kid": "1" })), two.jwk(json!({ "kid": "2" }))]);
    let issuer = issuer(&[Algorithm::Es256]);
    let ask = |signer: &Signer, header: Value| {
        verify(&signer.token(&header, &claims("")), &issuer, &keys, &AwsLc, NOW)
    };
    assert!(ask(&two, json!({ "alg": "ES256", "kid": "2" })).is_ok());
    assert_eq!(ask(&two, json!({ "alg": "ES256", "kid": "1" })), Err(TokenError::SignatureInvalid));
    assert!(ask(&two, json!({ "alg": "ES256" })).is_ok(), "without an id every key of its kind is tried");
    let unknown = TokenError::KeyUnknown { issuer: ISSUER.to_owned() };
    assert_eq!(ask(&two, json!({ "alg": "ES256", "kid": "3" })), Err(unknown));
}

#[test]
fn times_are_judged_with_the_leeway() {
    let case = Case::new(); // 60 s of leeway
    let ask = |name: &str, value: u64| case.with_claims(json!({ name: value })).err();
    assert_eq!(ask("exp", NOW - 59), None);
    assert_eq!(ask("exp", NOW - 60), Some(TokenError::Expired { ago_secs: 60 }));
    assert_eq!(ask("nbf", NOW + 60), None);
    assert_eq!(ask("nbf", NOW + 61), Some(TokenError::NotYetValid { in_secs: 61 }));
    assert_eq!(ask("iat", NOW + 61), Some(TokenError::IssuedInFuture { in_secs: 61 }));
    assert_eq!(ask("exp", NOW + 8 * 24 * 3600), Some(TokenError::LivesTooLong));
    assert_eq!(ask("exp", u64::MAX), Some(TokenError::LivesTooLong));
    assert_eq!(case.with_claims(json!({ "exp": NOW as f64 + 5.5 })).unwrap().expires_unix_secs, NOW + 5);
    for wrong in [json!("soon"), json!(-5), json!(1e300), json!([1])] {
        assert!(
            matches!(case.with_claims(json!({ "exp": wrong })), Err(TokenError::Malformed(_))),
            "{wrong}"
        );
    }
    assert!(case.with_claims(json!({ "nbf": null })).is_ok(), "nbf may be left out");
}

#[test]
fn a_token_of_the_profile_has_its_claims() {
    let mut case = Case::new();
    for claim in ["sub", "exp", "aud", "iat", "jti"] {
        let error = case.with_claims(json!({ claim: null })).unwrap_err();
        assert_eq!(
            error,
            TokenError::ClaimMissing(
                ["sub", "exp", "aud", "iat", "jti"].into_iter().find(|c| *c == claim).unwrap()
            )
        );
    }
    assert_eq!(case.with_claims(json!({ "wlcg.ver": "2.0" })), Err(TokenError::ClaimInvalid("wlcg.ver")));
    assert_eq!(case.with_claims(json!({ "wlcg.ver": "1" })), Err(TokenError::ClaimInvalid("wlcg.ver")));
    assert!(case.with_claims(json!({ "wlcg.ver": "1.2" })).is_ok());
    assert!(
        case.with_claims(json!({ "wlcg.ver": null, "jti": null, "aud": null })).is_ok(),
        "outside the profile"
    );
    case.issuer.profile = ProfileRule::Required;
    assert_eq!(case.with_claims(json!({ "wlcg.ver": null })), Err(TokenError::ClaimMissing("wlcg.ver")));
}

#[test]
fn the_audience_must_be_ours_or_any_service_of_the_profile() {
    let mut case = Case::new();
    case.issuer.audiences = Audiences::OneOf(vec!["https://dav.example".to_owned()]);
    let ask = |changes: Value| case.with_claims(changes).err();
    let wrong = Some(TokenError::AudienceWrong);
    assert_eq!(ask(json!({})), None, "any");
    assert_eq!(ask(json!({ "aud": "https://dav.example" })), None);
    assert_eq!(ask(json!({ "aud": ["x", "https://dav.example"] })), None);
    assert_eq!(ask(json!({ "aud": "https://DAV.example" })), wrong, "case counts");
    assert_eq!(ask(json!({ "aud": "https://dav.example/" })), wrong);
    assert_eq!(ask(json!({ "aud": [] , "wlcg.ver": null })), wrong);
    assert_eq!(ask(json!({ "aud": null, "wlcg.ver": null })), wrong);
    assert_eq!(ask(json!({ "wlcg.ver": null })), wrong, "any is for tokens of the profile");
}

#[test]
fn tokens_that_say_to_be_of_another_type_are_refused() {
    let mut case = Case::new();
    let ask = |case: &Case, typ: Value| {
        let asked = case.with_header(json!({ "alg": "ES256", "kid": "k1", "typ": typ }));
        asked.map_err(|error| matches!(error, TokenError::NotAccessToken(_)))
    };
    for typ in ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", "application/jwt"] {
        assert!(ask(&case, json!(typ)).is_ok(), "{typ}");
    }
    for typ in ["logout+jwt", "dpop+jwt", "secevent+jwt", "JOSE", "at+jwt2", ""] {
        assert_eq!(ask(&case, json!(typ)), Err(true), "{typ}");
    }
    assert_eq!(ask(&case, json!(1)), Err(false), "malformed");
    case.issuer.types = TypeRule::Required;
    assert!(ask(&case, json!("at+jwt")).is_ok());
    assert_eq!(ask(&case, json!("JWT")), Err(true));
    assert_eq!(ask(&case, Value::Null), Err(true));
}

#[test]
fn tokens_of_other_kinds_are_refused() {
    let case = Case::new();
    let refused = |changes: Value| {
        let asked = case.with_claims(changes);
        matches!(asked, Err(TokenError::NotAccessToken(_)))
    };
    for changes in [
        json!({ "at_hash": "x" }),
        json!({ "c_hash": "x" }),
        json!({ "nonce": "x" }),
        json!({ "events": { "http://schemas.openid.net/event/backchannel-logout": {} } }),
        json!({ "typ": "ID" }),
        json!({ "typ": "Refresh" }),
        json!({ "typ": "Logout", "nonce": null }),
        json!({ "token_use": "id" }),
        json!({ "typ": "Bearer", "at_hash": "x" }),
    ] {
        assert!(refused(changes.clone()), "{changes}");
    }
    for changes in [
        json!({}),
        json!({ "typ": "Bearer", "nonce": "Keycloak writes it there, too" }),
        json!({ "token_use": "access" }),
        json!({ "nonce": null, "events": null }),
    ] {
        assert!(!refused(changes.clone()), "{changes}");
    }
}

/// An ID token may have only these claims (OpenID Connect Core 1.0 section 2).
#[test]
fn a_token_without_any_mark_is_an_access_token_only_for_an_audience() {
    let mut case = Case::new();
    let bare = json!({ "scope": null, "wlcg.ver": null, "aud": "client", "wlcg.groups": null });
    let with = |name: &str, value: Value| {
        let mut claims = bare.clone();
        claims[name] = value;
        claims
    };
    assert!(matches!(case.with_claims(bare.clone()), Err(TokenError::NotAccessToken(_))));
    for (name, value) in [
        ("scope", json!("openid")),
        ("scp", json!(["a"])),
        ("client_id", json!("c")),
        ("typ", json!("Bearer")),
        ("token_use", json!("access")),
    ] {
        assert!(case.with_claims(with(name, value)).is_ok(), "{name}");
    }
    case.issuer.audiences = Audiences::OneOf(vec!["https://dav.example".to_owned()]);
    assert_eq!(case.with_claims(bare.clone()).err(), Some(TokenError::AudienceWrong));
    assert!(case.with_claims(with("aud", json!("https://dav.example"))).is_ok());
}

#[test]
fn groups_come_from_every_claim_that_states_them() {
    let changes = json!({ "wlcg.groups": ["/a"], "groups": ["b", "/a"], "entitlements": ["c"], "eduperson_entitlement": "d" });
    assert_eq!(Case::new().with_claims(changes).unwrap().groups, ["/a", "b", "c", "d"]);
}

#[test]
fn what_is_no_token_is_refused_without_showing_it() {
    let case = Case::new();
    let ask = |token: &str| verify(token, &case.issuer, &case.keys, &AwsLc, NOW);
    for token in ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", "!!.!!.!!", "e30.e30.", "e30=.e30.AA"] {
        assert!(matches!(ask(token), Err(TokenError::Malformed(_))), "{token}");
    }
    assert_eq!(ask(&"a".repeat(16 * 1024 + 1)), Err(TokenError::TooLong));
    let other = case.signer.token(&json!({ "alg": "ES256" }), &json!({ "iss": "https://secret.example" }));
    assert_eq!(issuer_of(&other).as_deref(), Ok("https://secret.example"));
    let error = ask(&other).unwrap_err();
    assert_eq!(error, TokenError::IssuerUnknown);
    assert!(!error.to_string().contains("secret"));
}

#[test]
fn a_claim_or_header_that_stands_twice_is_refused() {
    let case = Case::new();
    let sign = |header: &str, claims: &str| {
        let input = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let made = URL_SAFE_NO_PAD.encode(case.signer.sign("ES256", input.as_bytes()));
        verify(&format!("{input}.{made}"), &case.issuer, &case.keys, &AwsLc, NOW)
    };
    let twice = claims("").to_string().replacen('{', "{\"sub\":\"admin\",", 1);
    assert!(matches!(sign(r#"{"alg":"ES256"}"#, &twice), Err(TokenError::Malformed(_))));
    let header = r#"{"alg":"ES256","alg":"none"}"#;
    assert!(matches!(sign(header, &claims("").to_string()), Err(TokenError::Malformed(_))));
}

proptest! {
    #[test]
    fn no_change_of_a_token_goes_unnoticed(at in any::<prop::sample::Index>(), with in "[A-Za-z0-9_.-]") {
        let case = Case::new();
        let token = case.signer.token(&json!({ "alg": "ES256", "kid": "k1" }), &claims("storage.read:/"));
        let at = at.index(token.len());
        let mut changed = token.clone();
        changed.replace_range(at..=at, &with);
        prop_assume!(changed != token);
        prop_assert!(verify(&changed, &case.issuer, &case.keys, &AwsLc, NOW).is_err());
    }
}
