//! Tests of the holders of Weir's own tokens and of the tokens' lifetimes.

use weir_access::identity::{BasicUser, Delegation, Identity, X509Subject};
use weir_access::issue::{Grant, Minting, OwnKey, OwnKeys, Presentation};
use weir_access::jwt::Jws;
use weir_access::wlcg::ScopeSet;

use crate::common::{NOW, bearer, path};
use crate::crypto::AwsLc;

fn minting(secret: u8, previous: &[u8]) -> Minting {
    let key = |secret: u8| OwnKey::hs256(&format!("k{secret}"), &[secret; 32]).unwrap();
    Minting {
        issuer: "https://dav.example".to_owned(),
        audiences: vec!["https://dav.example".to_owned()],
        lifetime_max_secs: 3600,
        keys: OwnKeys {
            current: key(secret),
            previous: previous.iter().map(|secret| key(*secret)).collect(),
        },
    }
}

fn token(minting: &Minting, holder: &Identity, area: &str, password_hash: Option<&str>) -> (String, u64) {
    let grant = Grant {
        holder,
        scopes: ScopeSet::parse(["storage.read:/"]).scopes().to_vec(),
        lifetime_secs: None,
        binding: None,
        password_hash,
        area: area.to_owned(),
        token_id: "t1".to_owned(),
    };
    let issued = minting.issue(grant, &AwsLc, NOW).unwrap();
    (issued.token, issued.expires_in_secs)
}

fn delegation(minting: &Minting, token: &str) -> Delegation {
    let root = path("/");
    let shown = Presentation { path: &root, method: "GET", client: "::1".parse().unwrap() };
    match minting.verify(token, &shown, &AwsLc, 0, NOW).unwrap() {
        Identity::Delegated(delegation) => *delegation,
        other => panic!("{other}"),
    }
}

fn user(name: &str) -> Identity {
    Identity::Basic(BasicUser { name: name.to_owned() })
}

fn certificate(not_after_unix_secs: Option<u64>) -> Identity {
    let subject = "CN=jo".to_owned();
    Identity::X509(Box::new(X509Subject { subject, not_after_unix_secs, ..X509Subject::default() }))
}

/// Other services identify a holder by `iss` and `sub`.
#[test]
fn no_two_holders_have_one_subject() {
    let minting = minting(1, &[]);
    let subject = |holder: &Identity, area: &str| {
        let (token, _) = token(&minting, holder, area, None);
        let claims: serde_json::Value = serde_json::from_slice(&Jws::parse(&token).unwrap().payload).unwrap();
        claims["sub"].as_str().unwrap().to_owned()
    };
    let subjects = [
        (subject(&user("jo"), "data"), "user:data:jo"),
        (subject(&user("jo"), "other"), "user:other:jo"),
        (subject(&user("CN=jo"), "data"), "user:data:CN=jo"),
        (subject(&certificate(None), "data"), "certificate:data:CN=jo"),
        (subject(&bearer("", &[]), "data"), "token:https://tokens.example/cms#jo"),
    ];
    for (subject, expected) in &subjects {
        assert_eq!(subject, expected);
    }
}

#[test]
fn a_token_is_good_only_while_the_password_is_the_one_that_it_was_got_with() {
    let first = minting(1, &[]);
    let (token, _) = token(&first, &user("jo"), "data", Some("$2y$04$hash"));
    let delegation = delegation(&first, &token);
    assert!(first.is_proved(&delegation, "$2y$04$hash", &AwsLc));
    assert!(!first.is_proved(&delegation, "$2y$04$other", &AwsLc));
    assert!(!token.contains("hash"));
    assert!(minting(2, &[1]).is_proved(&delegation, "$2y$04$hash", &AwsLc), "after a change of keys");
    assert!(!minting(2, &[]).is_proved(&delegation, "$2y$04$hash", &AwsLc), "by another's keys");
    // A token without a proof proves nothing.
    assert!(!first.is_proved(&Delegation { proof: None, ..delegation }, "$2y$04$hash", &AwsLc));
}

#[test]
fn a_token_ends_with_the_certificate_that_it_was_got_with() {
    let minting = minting(1, &[]);
    assert_eq!(token(&minting, &certificate(Some(NOW + 300)), "data", None).1, 300);
    assert_eq!(token(&minting, &certificate(None), "data", None).1, 3600);
}
