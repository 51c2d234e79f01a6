//! Tests of Weir's own tokens: issuing, use and refusal.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_testkit::{Response, TempDir};

use crate::access::bearer;
use crate::{Site, config};

const ISSUER: &str = "https://storage.example.org";

/// Files that a token endpoint needs: users ada and bob with the password "sesame", and keys.
pub(crate) struct Secrets {
    directory: TempDir,
}

impl Secrets {
    pub(crate) fn new() -> Self {
        let this = Self { directory: TempDir::new().unwrap() };
        let hash = bcrypt::hash("sesame", 4).unwrap();
        std::fs::write(this.file("htpasswd"), format!("ada:{hash}\nbob:{hash}\n")).unwrap();
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(pkcs8.as_ref())
        );
        std::fs::write(this.file("key.pem"), pem).unwrap();
        std::fs::write(this.file("secret"), SECRET).unwrap();
        for name in ["key.pem", "secret"] {
            std::fs::set_permissions(this.file(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        this
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns an area in which ada may do everything below `/ada`, with a token endpoint.
    pub(crate) fn area(&self, endpoint: &str) -> String {
        format!(
            "htpasswd = \"{}\"\ntoken-endpoint = \"own\"\n[storage-area.data.access]\n\
             [[storage-area.data.access.policy]]\ndescription = \"ada's\"\neffect = \"permit\"\nactions = \"all\"\n\
             paths = \"/ada/**\"\nprincipals = {{ type = \"user\", name = \"ada\" }}\n\
             [token-endpoint.own]\nissuer = \"{ISSUER}\"\n{endpoint}\n",
            self.file("htpasswd").display()
        )
    }

    pub(crate) fn es256(&self) -> String {
        self.area(&format!("key = \"{}\"", self.file("key.pem").display()))
    }

    pub(crate) fn hs256(&self) -> String {
        self.area(&format!("algorithm = \"HS256\"\nkey = \"{}\"", self.file("secret").display()))
    }
}

const SECRET: &str = "a secret of more than thirty-two bytes\n";
pub(crate) const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const MACAROON: (&str, &str) = ("Content-Type", "application/macaroon-request");

pub(crate) fn basic(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(user))
}

pub(crate) fn json_of(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

pub(crate) fn post(site: &Site, path: &str, credentials: &str, kind: (&str, &str), body: &str) -> Response {
    let length = body.len().to_string();
    let mut headers = vec![kind, ("Content-Length", length.as_str())];
    if !credentials.is_empty() {
        headers.push(("Authorization", credentials));
    }
    let mut client = site.weir.client();
    let mut message = format!("POST {path} HTTP/1.1\r\nHost: storage.example.org\r\n");
    for (name, value) in headers {
        message.push_str(&format!("{name}: {value}\r\n"));
    }
    client.send(format!("{message}\r\n{body}"));
    client.final_response()
}

pub(crate) fn token(site: &Site, form: &str) -> String {
    let issued = post(site, "/oauth/token", &basic("ada:sesame"), FORM, form);
    assert_eq!(issued.status, 200, "{}", issued.text());
    json_of(&issued)["access_token"].as_str().unwrap().to_owned()
}

#[test]
fn a_token_does_what_its_holder_may_within_its_scopes() {
    let secrets = Secrets::new();
    for area in [secrets.es256(), secrets.hs256()] {
        let site = Site::new(&area);
        site.write("ada/in/a", "content");
        site.write("ada/b", "content");
        site.write("other", "content");
        let issued = post(
            &site,
            "/oauth/token",
            &basic("ada:sesame"),
            FORM,
            "grant_type=client_credentials&scope=storage.read:/ada+storage.create:/ada/in+storage.read:/other&lifetime=600",
        );
        assert_eq!((issued.status, issued.header("cache-control")), (200, Some("no-store")));
        let answer = json_of(&issued);
        assert_eq!(answer["token_type"], "Bearer");
        assert_eq!(answer["expires_in"], 600);
        assert_eq!(answer["scope"], "storage.read:/ada storage.create:/ada/in", "the rest may not be had");
        let token = bearer(answer["access_token"].as_str().unwrap());
        let auth = [("Authorization", token.as_str())];
        assert_eq!(site.get_with("/ada/b", &auth).text(), "content");
        assert_eq!(site.put("/ada/in/new", &auth, b"x").status, 201);
        assert_eq!(site.put("/ada/in/a", &auth, b"x").status, 403, "create is not overwrite");
        assert_eq!(site.put("/ada/new", &auth, b"x").status, 403);
        assert_eq!(site.get_with("/other", &auth).status, 403);
        assert_eq!(site.get("/ada/b").status, 401);
        // A token cannot be exchanged for another one.
        let again = post(&site, "/oauth/token", &token, FORM, "grant_type=client_credentials");
        assert_eq!((again.status, &json_of(&again)["error"]), (400, &json!("unauthorized_client")));
    }
}

#[test]
fn refusals_are_those_of_the_standard() {
    let secrets = Secrets::new();
    let site = Site::new(&secrets.es256());
    let grant = "grant_type=client_credentials";
    for (user, body, status, error) in [
        ("", grant, 401, "invalid_client"),
        ("ada:wrong", grant, 401, "invalid_client"),
        ("ada:sesame", "grant_type=password", 400, "unsupported_grant_type"),
        ("ada:sesame", "scope=storage.read:/", 400, "invalid_request"),
        ("ada:sesame", "grant_type=client_credentials&scope=storage.read:/other", 400, "invalid_scope"),
        ("bob:sesame", grant, 400, "invalid_scope"),
    ] {
        let credentials = if user.is_empty() { String::new() } else { basic(user) };
        let refused = post(&site, "/oauth/token", &credentials, FORM, body);
        assert_eq!(
            (refused.status, json_of(&refused)["error"].as_str()),
            (status, Some(error)),
            "{user} {body}"
        );
        assert_eq!(!refused.header_values("www-authenticate").is_empty(), status == 401);
    }
    let get = site.get("/oauth/token");
    assert_eq!((get.status, get.header("allow")), (405, Some("POST")));
    let long = format!("{grant}&x={}", "a".repeat(70_000));
    assert_eq!(post(&site, "/oauth/token", &basic("ada:sesame"), FORM, &long).status, 400);
}

#[test]
fn a_token_that_has_ended_or_that_another_key_has_made_is_refused() {
    let secrets = Secrets::new();
    let site = Site::new(&secrets.hs256());
    site.write("ada/b", "content");
    let good = token(&site, "grant_type=client_credentials&scope=storage.read:/ada");
    let mut parts = good.split('.');
    let (head, claims) = (parts.next().unwrap(), parts.next().unwrap());
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    let signed = |secret: &str, changes: &Value| {
        let mut claims = claims.clone();
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let input = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.trim().as_bytes());
        format!("{input}.{}", URL_SAFE_NO_PAD.encode(hmac::sign(&key, input.as_bytes()).as_ref()))
    };
    let status = |token: &str| site.get_with("/ada/b", &[("Authorization", &bearer(token))]).status;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(status(&signed(SECRET, &json!({}))), 200, "so it is the change that counts below");
    assert_eq!(status(&signed("another secret of more than thirty-two bytes", &json!({}))), 401);
    assert_eq!(status(&signed(SECRET, &json!({ "exp": now - 60, "iat": now - 120, "nbf": now - 120 }))), 401);
    assert_eq!(status(&signed(SECRET, &json!({ "aud": ["https://other.example.org"] }))), 401);
    // The user of that name in another area is another identity.
    assert_eq!(status(&signed(SECRET, &json!({ "weir.area": "elsewhere" }))), 401);
    assert_eq!(status(&signed(SECRET, &json!({ "weir.holder": { "basic": { "name": "eve" } } }))), 401);
}

#[test]
fn others_can_verify_with_what_is_published() {
    let secrets = Secrets::new();
    let site = Site::new(&secrets.es256());
    let metadata = site.get("/.well-known/openid-configuration");
    assert_eq!(metadata.header("content-type"), Some("application/json"));
    let document = json_of(&metadata);
    assert_eq!(document["issuer"], ISSUER);
    assert_eq!(document["token_endpoint"], format!("{ISSUER}/oauth/token"));
    assert_eq!(json_of(&site.get("/.well-known/oauth-authorization-server")), document);
    let keys = document["jwks_uri"].as_str().unwrap().strip_prefix(ISSUER).unwrap();
    let keys = site.get(keys).body;
    let file = secrets.file("jwks.json");
    std::fs::write(&file, &keys).unwrap();
    // Another node, which has only the public key.
    let other = Site::new(&format!(
        "[storage-area.data.access]\nissuers = \"{ISSUER}\"\ntoken-scopes = true\n\
         [token-issuer.first]\nissuer = \"{ISSUER}\"\nkey-set = \"{}\"\naudiences = \"{ISSUER}\"\nalgorithms = \"ES256\"\n\
         profile = \"required\"\n",
        file.display()
    ));
    other.write("ada/b", "content");
    let token = bearer(&token(&site, "grant_type=client_credentials&scope=storage.read:/ada"));
    assert_eq!(other.get_with("/ada/b", &[("Authorization", &token)]).status, 200);
    assert_eq!(other.get_with("/other", &[("Authorization", &token)]).status, 403);
    // A symmetric key has no public part.
    let site = Site::new(&secrets.hs256());
    assert!(json_of(&site.get("/.well-known/openid-configuration")).get("jwks_uri").is_none());
    // The path is reserved nevertheless, and never serves a file.
    assert_eq!(json_of(&site.get("/oauth/jwks")), json!({ "keys": [] }));
    assert_eq!(site.put("/oauth/jwks", &[("Authorization", &basic("ada:sesame"))], b"{}").status, 405);
}

/// A verifier that has only the keys relies on the scopes alone.
#[test]
fn nothing_is_signed_for_others_that_its_holder_may_not_do() {
    let secrets = Secrets::new();
    let policy = |text: &str, paths: &str| {
        format!(
            "[[storage-area.data.access.policy]]\ndescription = \"rule\"\n{text}\npaths = \"{paths}\"\n\
             principals = {{ type = \"user\", name = \"ada\" }}\n"
        )
    };
    let area = secrets.es256();
    let (keys, endpoint) = area.split_once("[token-endpoint.own]").unwrap();
    let (keys, _) = keys.split_once("[[storage-area").unwrap();
    let site = Site::new(&format!(
        "{keys}{}{}[token-endpoint.own]{endpoint}",
        policy("effect = \"deny\"\nactions = \"read\"", "/ada/secret/**"),
        policy("effect = \"permit\"\nactions = [\"list\", \"read\", \"write\"]", "/ada/**"),
    ));
    let ask = |scope: &str| {
        let form = format!("grant_type=client_credentials&scope={scope}");
        post(&site, "/oauth/token", &basic("ada:sesame"), FORM, &form)
    };
    let wide = ask("storage.read:/ada+storage.modify:/ada");
    assert_eq!((wide.status, &json_of(&wide)["error"]), (400, &json!("invalid_scope")));
    let narrow = ask("storage.read:/ada/open+storage.modify:/ada/open+storage.create:/ada");
    assert_eq!(json_of(&narrow)["scope"], "storage.read:/ada/open storage.create:/ada");
}

#[test]
fn a_macaroon_is_asked_for_at_the_path_that_it_is_for() {
    let secrets = Secrets::new();
    let site = Site::new(&secrets.es256());
    site.write("ada/in/a", "content");
    site.write("ada/b", "content");
    let ask = |path: &str, user: &str, body: &str| post(&site, path, &basic(user), MACAROON, body);
    let answer =
        ask("/ada/in/", "ada:sesame", "{\"caveats\": [\"activity:DOWNLOAD,LIST\"], \"validity\": \"PT30M\"}");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let macaroon = bearer(json_of(&answer)["macaroon"].as_str().unwrap());
    let auth = [("Authorization", macaroon.as_str())];
    assert_eq!(site.get_with("/ada/in/a", &auth).status, 200);
    assert_eq!(site.get_with("/ada/b", &auth).status, 403);
    assert_eq!(site.put("/ada/in/c", &auth, b"x").status, 403);
    let whole = ask("/ada/", "ada:sesame", "");
    let whole = bearer(json_of(&whole)["macaroon"].as_str().unwrap());
    assert_eq!(site.put("/ada/in/c", &[("Authorization", &whole)], b"x").status, 201);
    assert_eq!(ask("/ada/", "ada:sesame", "{\"validity\": \"soon\"}").status, 400);
    assert_eq!(ask("/ada/", "bob:sesame", "{}").status, 400, "nothing that he may");
    assert_eq!(post(&site, "/ada/", "", MACAROON, "{}").status, 401);
    // An area without a token endpoint refuses POST.
    assert_eq!(post(&Site::open(""), "/", "", MACAROON, "{}").status, 405);
}

#[test]
fn a_user_who_is_gone_takes_his_tokens_along() {
    let secrets = Secrets::new();
    let root = TempDir::new().unwrap();
    std::fs::create_dir(root.path().join("ada")).unwrap();
    std::fs::write(root.path().join("ada/b"), "content").unwrap();
    let text = config(root.path(), "", &secrets.es256());
    let mut site = Site { weir: Weir::start(&text), root };
    let token = bearer(&token(&site, "grant_type=client_credentials&scope=storage.read:/ada"));
    assert_eq!(site.get_with("/ada/b", &[("Authorization", &token)]).status, 200);
    let bob = std::fs::read_to_string(secrets.file("htpasswd")).unwrap();
    std::fs::write(secrets.file("htpasswd"), bob.lines().nth(1).unwrap()).unwrap();
    site.weir.reload(&format!("{text}\n# again\n"));
    assert_eq!(site.get_with("/ada/b", &[("Authorization", &token)]).status, 401);
}

#[test]
fn curl_gets_a_token_and_uses_it() {
    let secrets = Secrets::new();
    let site = Site::new(&secrets.es256());
    site.write("ada/b", "content");
    let url = |path: &str| format!("http://{}{path}", site.weir.addr("web"));
    let curl = |arguments: &[&str]| {
        let done = Command::new("curl").args(["--silent", "--show-error"]).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let form = [
        "-d",
        "grant_type=client_credentials",
        "--data-urlencode",
        "scope=storage.modify:/ada storage.read:/ada",
    ];
    let answer = curl(&[&["-u", "ada:sesame"][..], &form, &[url("/oauth/token").as_str()]].concat());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let header = format!("Authorization: Bearer {}", answer["access_token"].as_str().unwrap());
    assert_eq!(curl(&["-H", &header, &url("/ada/b")]), "content");
    let put = curl(&[
        "-H",
        &header,
        "-X",
        "PUT",
        "-d",
        "new",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        &url("/ada/c"),
    ]);
    assert_eq!((put.as_str(), site.read("ada/c").unwrap()), ("201", b"new".to_vec()));
}
