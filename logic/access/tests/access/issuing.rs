//! Tests of issuing and verifying Weir's own tokens.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use serde_json::{Value, json};
use weir_access::identity::Identity;
use weir_access::issue::{
    Binding, Grant, IssueError, KeyError, MacaroonError, MacaroonRequest, Minting, OwnKey, OwnKeys,
    Presentation, RequestError, TokenRequest, error_response, macaroon_response, narrow, token_response,
};
use weir_access::jwt::{Algorithm, KeySet, TokenError};
use weir_access::rule::AreaSpec;
use weir_access::wlcg::ScopeSet;
use weir_access::{AccessPath, Action};

use crate::common::{NOW, bearer, claims, member, path};
use crate::crypto::AwsLc;

fn hs256() -> OwnKey {
    OwnKey::hs256("k1", &[7; 32]).unwrap()
}

fn es256() -> OwnKey {
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    OwnKey::es256("k2", pkcs8.as_ref(), &AwsLc).unwrap()
}

fn minting(current: OwnKey, previous: Vec<OwnKey>) -> Minting {
    Minting {
        issuer: "https://dav.example".to_owned(),
        audiences: vec!["https://dav.example".to_owned(), "https://other-node.example".to_owned()],
        lifetime_max_secs: 3600,
        keys: OwnKeys { current, previous },
    }
}

fn grant<'a>(holder: &'a Identity, scopes: &str, lifetime_secs: Option<u64>) -> Grant<'a> {
    let scopes = ScopeSet::parse(scopes.split(' ')).scopes().to_vec();
    let (token_id, area) = ("t1".to_owned(), "data".to_owned());
    Grant { holder, scopes, lifetime_secs, binding: None, password_hash: None, area, token_id }
}

fn at<'a>(path: &'a weir_access::AccessPath, method: &'a str, client: &str) -> Presentation<'a> {
    Presentation { path, method, client: client.parse().unwrap() }
}

#[test]
fn a_token_stands_for_its_holder_within_its_scopes() {
    let here = path("/cms/x");
    for holder in [member("cms", &["/cms"]), bearer("", &["/cms"])] {
        for minting in [minting(hs256(), vec![]), minting(es256(), vec![])] {
            let issued = minting.issue(grant(&holder, "storage.read:/cms", None), &AwsLc, NOW).unwrap();
            let identity = minting.verify(&issued.token, &at(&here, "GET", "::1"), &AwsLc, 0, NOW).unwrap();
            let Identity::Delegated(delegation) = identity else { panic!("{identity}") };
            assert_eq!(
                (delegation.holder.to_string(), delegation.token_id.as_str()),
                (holder.to_string(), "t1")
            );
            assert_eq!(delegation.scopes.to_string(), "storage.read:/cms");
            assert_eq!(delegation.area, "data");
            assert_eq!(delegation.expires_unix_secs, NOW + issued.expires_in_secs);
        }
    }
}

#[test]
fn its_life_is_the_least_of_what_is_asked_permitted_and_left() {
    let minting = minting(hs256(), vec![]);
    let (voms, user) =
        (member("cms", &[]), Identity::Basic(weir_access::identity::BasicUser { name: "jo".to_owned() }));
    let life = |holder, asked| {
        minting
            .issue(grant(holder, "storage.read:/", asked), &AwsLc, NOW)
            .map(|issued| issued.expires_in_secs)
    };
    assert_eq!(life(&user, None), Ok(3600));
    assert_eq!(life(&user, Some(60)), Ok(60));
    assert_eq!(life(&user, Some(u64::MAX)), Ok(3600));
    assert_eq!(life(&voms, Some(3000)), Ok(100), "the VOMS statement ends then");
    assert_eq!(
        minting.issue(grant(&voms, "storage.read:/", None), &AwsLc, NOW + 100),
        Err(IssueError::Ended)
    );
}

#[test]
fn nobody_gets_more_by_asking() {
    let minting = minting(hs256(), vec![]);
    assert_eq!(
        minting.issue(grant(&Identity::Anonymous, "storage.read:/", None), &AwsLc, NOW),
        Err(IssueError::Anonymous)
    );
    let holder = member("cms", &[]);
    assert_eq!(minting.issue(grant(&holder, "openid", None), &AwsLc, NOW), Err(IssueError::NoScope));
    let issued = minting.issue(grant(&holder, "storage.read:/a", None), &AwsLc, NOW).unwrap();
    let here = path("/");
    let again = minting.verify(&issued.token, &at(&here, "GET", "::1"), &AwsLc, 0, NOW).unwrap();
    assert_eq!(
        minting.issue(grant(&again, "storage.modify:/", None), &AwsLc, NOW),
        Err(IssueError::AlreadyDelegated)
    );
    let requested = ScopeSet::parse(["storage.read:/a", "storage.modify:/a", "storage.read:/b"]);
    let reads = |action: &Action| matches!(action, Action::Read | Action::List);
    let may = |action: &Action, at: &AccessPath| reads(action) && path("/a/").contains(at);
    let kept = narrow(&requested, &[], |action, at| reads(action) && *at == path("/a"));
    assert_eq!(ScopeSet::of(kept).to_string(), "storage.read:/a");
    // A request without scopes gets only those that the holder has the right to use.
    let kept = narrow(&ScopeSet::default(), &[path("/a/"), path("/b/")], may);
    assert_eq!(ScopeSet::of(kept).to_string(), "storage.read:/a/");
}

/// For other services, a scope grants all of its actions on everything below its path. So a scope that the
/// holder may use only in part is not signed.
#[test]
fn a_scope_is_signed_only_if_its_holder_may_do_all_of_it_everywhere_below() {
    let rules: AreaSpec = toml::from_str(
        r#"
        [[policy]]
        description = "a secret"
        effect = "deny"
        actions = ["read"]
        paths = ["/ada/secret/**"]
        principals = [{ type = "user", name = "ada" }]
        [[policy]]
        description = "ada's, to write"
        effect = "permit"
        actions = ["list", "read", "write"]
        paths = ["/ada/**"]
        principals = [{ type = "user", name = "ada" }]
        [[policy]]
        description = "ada's, whatever comes after"
        effect = "permit"
        actions = ["all"]
        paths = ["/own/**"]
        principals = [{ type = "user", name = "ada" }]
        [[policy]]
        description = "single files"
        effect = "permit"
        actions = ["all"]
        paths = ["/flat/*"]
        principals = [{ type = "user", name = "ada" }]
        [[policy]]
        description = "nobody else"
        effect = "deny"
        actions = ["all"]
        principals = [{ type = "anyone" }]
        "#,
    )
    .unwrap();
    let area = rules.resolve("data", &["/d"]).unwrap();
    let ada = Identity::Basic(weir_access::identity::BasicUser { name: "ada".to_owned() });
    let signed = |asked: &str| {
        let asked = ScopeSet::parse(asked.split(' '));
        let kept = narrow(&asked, &[], |action, path| area.permits_below(&ada, action, path));
        kept.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    for (asked, expected) in [
        ("storage.read:/d/ada storage.modify:/d/ada", ""),
        ("storage.create:/d/ada", "storage.create:/d/ada"),
        ("storage.read:/d/ada/open storage.modify:/d/ada/open", "storage.read:/d/ada/open"),
        ("storage.read:/d/ada/secret/x", ""),
        ("storage.read:/d/own storage.modify:/d/own", "storage.read:/d/own storage.modify:/d/own"),
        // The path could be a directory.
        ("storage.read:/d/flat/x", ""),
        ("storage.read:/d storage.read:/", ""),
    ] {
        assert_eq!(signed(asked), expected, "{asked}");
    }
}

#[test]
fn what_a_token_of_another_issuer_is_limited_to_limits_what_is_signed() {
    let rules = format!("issuers = [\"{}\"]\ntoken-scopes = true", crate::common::ISSUER);
    let area = toml::from_str::<AreaSpec>(&rules).unwrap().resolve("data", &["/d"]).unwrap();
    let holder = bearer("storage.read:/a", &[]);
    let may = |action: &Action, at: &str| area.permits_below(&holder, action, &path(at));
    assert!(may(&Action::Read, "/d/a/b") && may(&Action::Read, "/d/a"));
    assert!(!may(&Action::Read, "/d") && !may(&Action::Create, "/d/a") && !may(&Action::Read, "/d/ab"));
}

#[test]
fn a_bound_token_is_good_for_one_request_only() {
    let minting = minting(es256(), vec![]);
    let here = path("/cms/x%20y");
    let holder = Identity::Anonymous;
    let bound = Grant {
        binding: Some(Binding::to(&at(&here, "GET", "::ffff:192.0.2.7"))),
        ..grant(&holder, "storage.read:/cms", Some(60))
    };
    let token = minting.issue(bound, &AwsLc, NOW).unwrap().token;
    let ask = |text: &str, method: &str, client: &str| {
        minting.verify(&token, &at(&path(text), method, client), &AwsLc, 0, NOW + 59).err()
    };
    assert_eq!(ask("/cms/x%20y", "GET", "192.0.2.7"), None);
    assert_eq!(ask("/cms/x%20y", "HEAD", "192.0.2.7"), None);
    assert_eq!(ask("/cms/x", "GET", "192.0.2.7"), Some(TokenError::Bound("path")));
    assert_eq!(ask("/cms/x%20y", "PUT", "192.0.2.7"), Some(TokenError::Bound("method")));
    assert_eq!(ask("/cms/x%20y", "GET", "192.0.2.8"), Some(TokenError::Bound("client")));
    let late = minting.verify(&token, &at(&here, "GET", "192.0.2.7"), &AwsLc, 0, NOW + 60);
    assert_eq!(late, Err(TokenError::Expired { ago_secs: 0 }));
}

#[test]
fn tokens_outlive_a_change_of_keys_and_no_forgery_passes() {
    let holder = member("cms", &[]);
    let here = path("/");
    let show = at(&here, "GET", "::1");
    let old =
        minting(hs256(), vec![]).issue(grant(&holder, "storage.read:/", None), &AwsLc, NOW).unwrap().token;
    assert!(minting(es256(), vec![hs256()]).verify(&old, &show, &AwsLc, 0, NOW).is_ok());
    let forgotten = minting(es256(), vec![]).verify(&old, &show, &AwsLc, 0, NOW);
    assert_eq!(forgotten, Err(TokenError::SignatureInvalid));
    let other_secret = minting(OwnKey::hs256("k1", &[8; 32]).unwrap(), vec![]);
    assert_eq!(other_secret.verify(&old, &show, &AwsLc, 0, NOW), Err(TokenError::SignatureInvalid));
    let elsewhere = Minting { issuer: "https://other.example".to_owned(), ..minting(hs256(), vec![]) };
    assert_eq!(elsewhere.verify(&old, &show, &AwsLc, 0, NOW), Err(TokenError::IssuerUnknown));
    let others = Minting { audiences: vec!["https://third.example".to_owned()], ..minting(hs256(), vec![]) };
    assert_eq!(others.verify(&old, &show, &AwsLc, 0, NOW), Err(TokenError::AudienceWrong));
    let foreign = crate::common::Signer::p256().token(&json!({ "alg": "ES256", "kid": "k2" }), &claims(""));
    assert_eq!(
        minting(es256(), vec![]).verify(&foreign, &show, &AwsLc, 0, NOW),
        Err(TokenError::SignatureInvalid)
    );
}

#[test]
fn the_public_half_is_published_and_the_secret_is_not() {
    let keys = OwnKeys { current: es256(), previous: vec![hs256()] };
    let set = keys.public_key_set();
    assert_eq!(set["keys"].as_array().unwrap().len(), 1);
    assert_eq!(KeySet::parse(set.to_string().as_bytes()).unwrap().len(), 1);
    assert_eq!(format!("{keys:?}"), "OwnKeys(OwnKey(k2, ES256) and 1 before it)");
    assert!(OwnKey::hs256("k", &[0; 31]).is_err() && OwnKey::es256("k", &[0; 32], &AwsLc).is_err());
    assert_eq!(hs256().algorithm(), Algorithm::Hs256);
}

#[test]
fn keys_are_read_from_files_and_have_the_id_that_they_make() {
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    let encoded = base64::engine::general_purpose::STANDARD.encode(pkcs8.as_ref());
    let pem = format!(
        "# mine\n-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----\n",
        &encoded[..64],
        &encoded[64..]
    );
    let read = |algorithm, file: &[u8]| OwnKey::read(algorithm, file, &AwsLc);
    let (one, again) =
        (read(Algorithm::Es256, pem.as_bytes()).unwrap(), read(Algorithm::Es256, pem.as_bytes()).unwrap());
    assert_eq!(one.public_jwk(), again.public_jwk());
    assert_eq!(one.public_jwk().unwrap()["kid"].as_str().map(str::len), Some(16));
    let (secret, other) = (format!("{}\n", "s".repeat(40)), format!("{}\n", "t".repeat(40)));
    let id = |file: &str| format!("{:?}", read(Algorithm::Hs256, file.as_bytes()).unwrap());
    assert_eq!(id(&secret), id(secret.trim()));
    assert_ne!(id(&secret), id(&other));
    for (algorithm, file, error) in [
        (Algorithm::Hs256, "short".to_owned(), KeyError::TooShort),
        (Algorithm::Hs256, format!("short{}", "\n".repeat(40)), KeyError::TooShort),
        // A certificate is as long as a secret, but it is public.
        (Algorithm::Hs256, pem.replace("PRIVATE KEY", "CERTIFICATE"), KeyError::Pem),
        (Algorithm::Hs256, pem.clone(), KeyError::Pem),
        (Algorithm::Es256, "rubbish".to_owned(), KeyError::NotPem),
        (Algorithm::Es256, pem.replace("PRIVATE", "EC PRIVATE"), KeyError::Sec1),
        (Algorithm::Es256, pem.replace(&encoded[..10], "AAAAAAAAAA"), KeyError::NotP256),
    ] {
        assert_eq!(read(algorithm, file.as_bytes()).err(), Some(error));
    }
}

const FORM: Option<&str> = Some("application/x-www-form-urlencoded; charset=utf-8");

#[test]
fn token_requests_are_read_as_the_standard_has_them() {
    let read = |body: &str| TokenRequest::parse(FORM, body.as_bytes());
    let request =
        read("grant_type=client_credentials&scope=storage.read%3A%2Fa+openid&lifetime=60&x=y").unwrap();
    assert_eq!((request.scopes.to_string().as_str(), request.lifetime_secs), ("storage.read:/a", Some(60)));
    assert!(read("grant_type=client_credentials").unwrap().scopes.is_absent());
    for (body, error) in [
        ("", "invalid_request"),
        ("scope=x", "invalid_request"),
        ("grant_type=password", "unsupported_grant_type"),
        ("grant_type=client_credentials&grant_type=client_credentials", "invalid_request"),
        ("grant_type=client_credentials&lifetime=0", "invalid_request"),
        ("grant_type=client_credentials&lifetime=-5", "invalid_request"),
        ("grant_type=client_credentials&lifetime=soon", "invalid_request"),
        ("grant_type=client_credentials&scope=%", "invalid_request"),
        ("grant_type=client_credentials&scope=openid", "invalid_scope"),
        ("grant_type=client_credentials&scope=storage.read", "invalid_scope"),
        ("grant_type=client_credentials&scope=storage.read:/a/../b", "invalid_scope"),
    ] {
        let (status, answer) = error_response(&read(body).unwrap_err());
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((status, answer["error"].as_str()), (400, Some(error)), "{body}");
    }
    // A request in the form that macaroon clients send.
    let request = read(
        "grant_type=client_credentials&expire_in=120&scopes=DOWNLOAD:/a+LIST:/a+UPLOAD:/b+MANAGE:/c%2520d",
    )
    .unwrap();
    assert_eq!(request.lifetime_secs, Some(120));
    assert_eq!(request.scopes.to_string(), "storage.read:/a storage.create:/b storage.modify:/c%20d");
    for body in [
        "scopes=LIST:/a",
        "scopes=UPDATE_METADATA:/a",
        "scope=DOWNLOAD",
        "scope=DOWNLOAD:a",
        "scope=storage.read:/&scopes=DOWNLOAD:/",
        "lifetime=5&expire_in=5",
    ] {
        assert!(read(&format!("grant_type=client_credentials&{body}")).is_err(), "{body}");
    }
    let long = format!("grant_type=client_credentials&scope={}", "a".repeat(16_385));
    assert_eq!(read(&long), Err(RequestError::Scope("the scope is too long")));
    assert!(TokenRequest::parse(Some("application/json"), b"{}").is_err());
    assert!(TokenRequest::parse(None, b"grant_type=client_credentials").is_err());
    for (error, expected) in [
        (IssueError::Anonymous, (401, "invalid_client")),
        (IssueError::AlreadyDelegated, (400, "unauthorized_client")),
        (IssueError::NoScope, (400, "invalid_scope")),
        (IssueError::Signing, (500, "server_error")),
    ] {
        let (status, answer) = error_response(&error.into());
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((status, answer["error"].as_str().unwrap()), expected);
    }
}

#[test]
fn answers_have_the_members_that_clients_look_for() {
    let holder = member("cms", &[]);
    let issued =
        minting(hs256(), vec![]).issue(grant(&holder, "storage.read:/a", None), &AwsLc, NOW).unwrap();
    let answer: Value = serde_json::from_str(&token_response(&issued)).unwrap();
    let expected = json!({ "access_token": issued.token, "token_type": "Bearer", "expires_in": 100, "scope": "storage.read:/a" });
    assert_eq!(answer, expected);
    let answer: Value = serde_json::from_str(&macaroon_response(&issued)).unwrap();
    assert_eq!(answer, json!({ "macaroon": issued.token }));
    assert_eq!(format!("{issued:?}"), "Issued(100 s, storage.read:/a)");
}

#[test]
fn macaroon_requests_become_scopes() {
    let target = path("/cms/a");
    let read = |body: Value| MacaroonRequest::parse(body.to_string().as_bytes(), &target);
    let all = read(json!({ "validity": "PT1H" })).unwrap();
    assert_eq!((all.lifetime_secs, all.scopes.scopes().len()), (Some(3600), 5));
    let some =
        read(json!({ "caveats": ["activity:DOWNLOAD,LIST,UPLOAD", "path:/cms/a/b"], "validity": "PT180M" }))
            .unwrap();
    assert_eq!(some.scopes.to_string(), "storage.read:/cms/a/b storage.create:/cms/a/b");
    let manage = read(json!({ "caveats": ["activity:MANAGE,UPDATE_METADATA"] })).unwrap();
    assert_eq!(manage.scopes.to_string(), "storage.modify:/cms/a");
    let twice = read(json!({ "caveats": ["activity:DOWNLOAD,UPLOAD", "activity:UPLOAD,DELETE"] })).unwrap();
    assert_eq!(twice.scopes.to_string(), "storage.create:/cms/a");
    for (body, error) in [
        (json!([]), MacaroonError::Malformed),
        (json!({ "validity": 5 }), MacaroonError::Malformed),
        (json!({ "caveats": ["before:2030-01-01T00:00:00Z"] }), MacaroonError::Caveat),
        (json!({ "caveats": ["activity:FLY"] }), MacaroonError::Activity),
        (json!({ "caveats": ["activity:LIST"] }), MacaroonError::MetadataOnly),
        // The scope that permits changing properties also permits replacing the file, which exceeds the
        // request.
        (json!({ "caveats": ["activity:UPDATE_METADATA"] }), MacaroonError::MetadataChange),
        (json!({ "caveats": ["activity:UPLOAD,UPDATE_METADATA"] }), MacaroonError::MetadataChange),
        (
            json!({ "caveats": ["activity:MANAGE", "activity:UPDATE_METADATA"] }),
            MacaroonError::MetadataChange,
        ),
        (json!({ "caveats": ["path:/cms/b"] }), MacaroonError::Path),
        (json!({ "caveats": ["path:/cms/a/../b"] }), MacaroonError::Path),
    ] {
        assert_eq!(read(body.clone()), Err(error), "{body}");
    }
    assert!(matches!(read(json!({ "validity": "P1M" })), Err(MacaroonError::Validity(_))));
}
