//! Tests of access rules: tokens, passwords, policies and `weir storage explain`.

mod certificates;
mod issuers;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_testkit::TempDir;

use crate::{Site, config};

pub(crate) const ISSUER: &str = "https://iam.example.org/";

/// A token issuer whose key set is in a file.
pub(crate) struct Issuer {
    name: String,
    key: EcdsaKeyPair,
    directory: TempDir,
}

impl Issuer {
    pub(crate) fn new() -> Self {
        Self::named(ISSUER)
    }

    /// Creates an issuer with this `iss`.
    pub(crate) fn named(name: &str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).unwrap();
        let issuer = Self { name: name.to_owned(), key, directory: TempDir::new().unwrap() };
        let point = issuer.key.public_key().as_ref();
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let keys = json!({ "keys": [{
            "kty": "EC", "crv": "P-256", "kid": "1", "x": part(&point[1..33]), "y": part(&point[33..65]),
        }] });
        std::fs::write(issuer.keys(), keys.to_string()).unwrap();
        issuer
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.directory.path().join("keys.json")
    }

    pub(crate) fn token(&self, changes: &Value) -> String {
        self.token_with_key("1", changes)
    }

    /// Signs a token whose header has this key ID.
    fn token_with_key(&self, key: &str, changes: &Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = json!({
            "iss": self.name, "sub": "jo", "aud": "https://storage.example.org", "jti": "1", "wlcg.ver": "1.0",
            "iat": now - 5, "nbf": now - 5, "exp": now + 600, "scope": "",
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({ "alg": "ES256", "kid": key, "typ": "JWT" });
        let input = format!("{}.{}", encode(&header), encode(&claims));
        let signature = self.key.sign(&SystemRandom::new(), input.as_bytes()).unwrap();
        format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    pub(crate) fn config(&self) -> String {
        format!(
            "[token-issuer.iam]\nissuer = \"{ISSUER}\"\nkey-set = \"{}\"\naudiences = \"https://storage.example.org\"\n",
            self.keys().display()
        )
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[test]
fn scopes_say_who_may_read_create_and_overwrite() {
    let issuer = Issuer::new();
    let access = format!(
        "[storage-area.data.access]\nissuers = \"{ISSUER}\"\ntoken-scopes = true\n{}",
        issuer.config()
    );
    let site = Site::new(&access);
    site.write("cms/a", "content");
    site.write("cmsx/a", "content");
    let status = |scope: &str, method: &str, path: &str| {
        let token = bearer(&issuer.token(&json!({ "scope": scope })));
        site.request(method, path, &[("Authorization", &token)], if method == "PUT" { b"x" } else { b"" })
            .status
    };
    for (scope, method, path, expected) in [
        ("storage.read:/cms", "GET", "/cms/a", 200),
        ("storage.read:/cms", "HEAD", "/cms/a", 200),
        ("storage.read:/cms", "GET", "/cmsx/a", 403),
        ("storage.read:/cms", "GET", "/cms/missing", 404),
        ("storage.read:/cms", "GET", "/other/missing", 403),
        ("storage.read:/cms", "PUT", "/cms/b", 403),
        ("storage.create:/cms", "PUT", "/cms/b", 201),
        ("storage.create:/cms", "PUT", "/cms/b", 403),
        ("storage.modify:/cms", "PUT", "/cms/b", 204),
        ("storage.stage:/cms", "GET", "/cms/a", 403),
        ("", "GET", "/cms/a", 200),
        ("", "PUT", "/cms/c", 403),
    ] {
        assert_eq!(status(scope, method, path), expected, "{scope} {method} {path}");
    }
    let token = bearer(&issuer.token(&json!({ "scope": "storage.read:/cms" })));
    let refused = site.put("/cms/z", &[("Authorization", &token)], b"x");
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
}

#[test]
fn a_token_that_does_not_hold_is_refused_and_never_taken_for_nobody() {
    let issuer = Issuer::new();
    let access = format!(
        "[storage-area.data.access]\nanonymous-read = true\nissuers = \"{ISSUER}\"\n{}",
        issuer.config()
    );
    let site = Site::new(&access);
    site.write("a", "content");
    assert_eq!(site.get("/a").status, 200);
    let good = issuer.token(&json!({}));
    assert_eq!(site.get_with("/a", &[("Authorization", &bearer(&good))]).status, 200);
    let (head, signature) = good.rsplit_once('.').unwrap();
    let forged = format!("{head}.{}", URL_SAFE_NO_PAD.encode([7; 64]));
    let stranger = Issuer::new();
    for (what, token) in [
        ("forged", forged),
        ("without a signature", head.to_owned() + "."),
        ("another key", stranger.token(&json!({}))),
        ("too old", issuer.token(&json!({ "exp": 1_000_000 }))),
        ("not yet", issuer.token(&json!({ "nbf": 99_999_999_999_u64 }))),
        ("another issuer", issuer.token(&json!({ "iss": "https://evil.example.org/" }))),
        ("another audience", issuer.token(&json!({ "aud": "https://other.example.org" }))),
        ("rubbish", format!("a.b.{signature}")),
    ] {
        let refused = site.get_with("/a", &[("Authorization", &bearer(&token))]);
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert_eq!(refused.status, 401, "{what}");
        assert!(challenge.contains("error=\"invalid_token\""), "{what}: {challenge}");
    }
    let twice = [("Authorization", "Bearer a"), ("Authorization", "Bearer b")];
    assert_eq!(site.get_with("/a", &twice).status, 400);
}

#[test]
fn policies_decide_first_and_a_deny_is_a_deny() {
    let issuer = Issuer::new();
    let access = format!(
        "[storage-area.data.access]\nanonymous-read = true\nissuers = \"{ISSUER}\"\n\
         [[storage-area.data.access.policy]]\ndescription = \"staff reads the books\"\neffect = \"permit\"\n\
         actions = [\"read\", \"list\"]\npaths = \"/books/**\"\n\
         principals = {{ type = \"jwt-group\", issuer = \"{ISSUER}\", group = \"/staff\" }}\n\
         [[storage-area.data.access.policy]]\ndescription = \"nobody else does\"\n\
         actions = \"all\"\npaths = \"/books/**\"\nprincipals = {{ type = \"anyone\" }}\n{}",
        issuer.config()
    );
    let site = Site::new(&access);
    site.write("a", "x");
    site.write("books/b", "x");
    assert_eq!((site.get("/a").status, site.get("/books/b").status), (200, 401));
    let staff = bearer(&issuer.token(&json!({ "wlcg.groups": ["/staff"] })));
    let other = bearer(&issuer.token(&json!({ "wlcg.groups": ["/guests"] })));
    assert_eq!(site.get_with("/books/b", &[("Authorization", &staff)]).status, 200);
    assert_eq!(site.get_with("/books/b", &[("Authorization", &other)]).status, 403);
}

#[test]
fn passwords_are_asked_for_and_checked() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("htpasswd");
    // Hash of "sesame", at bcrypt's lowest cost.
    std::fs::write(&file, format!("ada:{}\n", bcrypt::hash("sesame", 4).unwrap())).unwrap();
    let site = Site::new(&format!(
        "htpasswd = \"{}\"\nrealm = \"Ada's \\\"files\\\"\"\n[storage-area.data.access]\nauthenticated-read = true\n",
        file.display()
    ));
    site.write("a", "content");
    let asked = site.get("/a");
    assert_eq!(asked.status, 401);
    assert_eq!(
        asked.header("www-authenticate"),
        Some("Basic realm=\"Ada's \\\"files\\\"\", charset=\"UTF-8\"")
    );
    let with = |user: &str| {
        let value = format!("Basic {}", STANDARD.encode(user));
        site.get_with("/a", &[("Authorization", &value)]).status
    };
    // The second attempt uses the cached result.
    assert_eq!(
        [with("ada:sesame"), with("ada:sesame"), with("ada:Sesame"), with("bob:sesame")],
        [200, 200, 401, 401]
    );
    assert_eq!(with("no colon"), 400);
}

#[test]
fn a_token_in_a_url_counts_where_that_is_wanted_and_is_not_logged() {
    let issuer = Issuer::new();
    let area = format!(
        "token-in-url = true\n[storage-area.data.access]\nissuers = \"{ISSUER}\"\n{}[access-log]\nformat = \"combined\"\n",
        issuer.config()
    );
    let mut site = Site::new(&area);
    site.write("a", "content");
    let token = issuer.token(&json!({}));
    assert_eq!(site.get(&format!("/a?access_token={token}&x=1")).status, 200);
    assert_eq!(site.get("/a?x=1").status, 401);
    let line = site.weir.wait_for_log("GET /a?access_token=");
    assert!(line.contains("access_token=REDACTED") && !line.contains(&token), "{line}");
    let unwanted =
        Site::new(&format!("[storage-area.data.access]\nissuers = \"{ISSUER}\"\n{}", issuer.config()));
    unwanted.write("a", "content");
    assert_eq!(unwanted.get(&format!("/a?access_token={token}")).status, 401);
}

#[test]
fn who_may_not_look_is_not_told_what_is_there() {
    let site = Site::new("");
    site.write("a", "content");
    for method in ["GET", "HEAD", "PUT"] {
        let (there, missing) = (site.request(method, "/a", &[], b""), site.request(method, "/b", &[], b""));
        assert_eq!((there.status, missing.status), (403, 403), "{method}");
        assert_eq!(there.body, missing.body, "{method}");
    }
    let options = |path| site.request("OPTIONS", path, &[], b"");
    assert_eq!(options("/a").header("allow"), options("/b").header("allow"));
    assert_eq!(options("*").status, 200);
}

pub(crate) fn explain(config: &Path, arguments: &[&str]) -> Output {
    Command::new(weir_e2e::program())
        .args(["storage", "explain", "--config"])
        .arg(config)
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_decision_can_be_asked_for_without_a_request() {
    let issuer = Issuer::new();
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a"), "x").unwrap();
    let area = format!(
        "access-points = \"/data\"\n[storage-area.data.access]\nanonymous-read = true\nissuers = \"{ISSUER}\"\ntoken-scopes = true\n{}",
        issuer.config()
    );
    let file = root.path().join("weir.toml");
    std::fs::write(&file, config(root.path(), "", &area)).unwrap();
    let told = explain(&file, &["GET", "https://storage.example.org/data/a?x=y"]);
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert_eq!(told.status.code(), Some(0), "{text}");
    assert!(text.starts_with("allowed in storage area data\n") && text.contains("anonymous-read"), "{text}");
    let told = explain(&file, &["--as", "user:ada", "PUT", "/data/a"]);
    assert_eq!(told.status.code(), Some(1));
    let token = issuer.token(&json!({ "scope": "storage.create:/" }));
    let told = explain(&file, &["--json", "--as", &token, "PUT", "/data/a"]);
    let verdict: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told.status.code(), Some(1));
    assert_eq!(verdict["allowed"], false);
    assert_eq!(explain(&file, &["--as", &token, "PUT", "/data/new"]).status.code(), Some(0));
    // A rename is evaluated as such, and a directory needs `stat` before `list`.
    let mover = issuer.token(&json!({ "scope": "storage.modify:/" }));
    let moved = explain(&file, &["--as", &mover, "MOVE", "/data/a"]);
    let text = String::from_utf8_lossy(&moved.stdout).into_owned();
    assert!(text.contains("asked: rename /data/a to /data/a"), "{text}");
    let listed = explain(&file, &["PROPFIND", "/data/"]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(text.contains("stat /data") && text.contains("list /data"), "{text}");
    let nowhere = explain(&file, &["GET", "/elsewhere"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("/elsewhere is in no storage area"));
    // A token of an unknown issuer.
    let stranger = issuer.token(&json!({ "iss": "https://evil.example.org/" }));
    assert_eq!(explain(&file, &["--as", &stranger, "GET", "/data/a"]).status.code(), Some(2));
}

#[test]
fn members_and_destinations_are_judged_as_a_request_would_be() {
    let root = TempDir::new().unwrap();
    for name in ["d/secret", "d/open", "e"] {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    let users = root.path().join("htpasswd");
    std::fs::write(&users, format!("ada:{}\n", bcrypt::hash("sesame", 4).unwrap())).unwrap();
    let rules = "[storage-area.data.access]\n\
        [[storage-area.data.access.policy]]\ndescription = \"secrets stay\"\nactions = \"delete\"\n\
        paths = \"/d/secret\"\nprincipals = { type = \"anyone\" }\n\
        [[storage-area.data.access.policy]]\ndescription = \"nothing comes here\"\nactions = \"write\"\n\
        paths = \"/closed/**\"\nprincipals = { type = \"anyone\" }\n\
        [[storage-area.data.access.policy]]\ndescription = \"hidden\"\nactions = \"read\"\n\
        paths = \"/d/secret\"\nprincipals = { type = \"anonymous\" }\n\
        [[storage-area.data.access.policy]]\ndescription = \"the rest\"\neffect = \"permit\"\nactions = \"all\"\n\
        principals = { type = \"anyone\" }\n";
    let file = root.path().join("weir.toml");
    let area = format!("htpasswd = {users:?}\n{rules}");
    std::fs::write(&file, config(root.path(), "", &area)).unwrap();
    let told = |arguments: &[&str]| {
        let output = explain(&file, arguments);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = told(&["--as", "user:ada", "MOVE", "/e", "--to", "/closed/e"]);
    assert!(code == Some(1) && text.contains("policy 'nothing comes here'"), "{text}");
    let (code, text) = told(&["--as", "user:ada", "COPY", "/d/", "--to", "/new"]);
    assert!(
        code == Some(0) && text.contains("make directory /new/") && text.contains("2 asked about"),
        "{text}"
    );
    let (code, text) = told(&["COPY", "/d/", "--to", "https://storage.example.org/new"]);
    assert!(code == Some(1) && text.contains("policy 'hidden'") && text.contains("1 denied"), "{text}");
    assert_eq!(told(&["COPY", "--shallow", "/d/", "--to", "/new"]).0, Some(0));
    // A denied member denies the whole directory.
    let (code, text) = told(&["DELETE", "/d/"]);
    assert!(code == Some(1) && text.contains("policy 'secrets stay'"), "{text}");
    let (code, text) = told(&["PROPFIND", "/d/"]);
    assert!(code == Some(0) && text.contains("left out") && text.contains("/d/secret"), "{text}");
    let (code, text) = told(&["--json", "COPY", "/d/", "--to", "/new"]);
    let verdict: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (code, &verdict["members"]["denied"], &verdict["members"]["judged"]),
        (Some(1), &json!(1), &json!(2))
    );
    assert_eq!(told(&["GET", "/e", "--to", "/new"]).0, Some(2));
}

#[test]
fn a_reload_changes_who_may_do_what() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a"), "x").unwrap();
    let with = |access: &str| config(root.path(), "", &format!("[storage-area.data.access]\n{access}"));
    let mut weir = Weir::start(&with("anonymous-read = true"));
    let mut client = weir.client();
    client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response().status, 200);
    weir.reload(&with("anonymous-read = false"));
    // The new rules apply on the same connection, too.
    client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response().status, 403);
    let moved = with("anonymous-read = true")
        .replace("storage = \"data\"", "storage = \"new\"")
        .replace("storage-area.data", "storage-area.new");
    weir.reload(&moved);
    client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response().status, 200);
}

/// Rules that let every client read everything except `/d/secret` and the compressed sibling of `/d/a.js`.
const MOSTLY_OPEN: &str = "[storage-area.data.access]\n\
    [[storage-area.data.access.policy]]\ndescription = \"hidden\"\nactions = \"all\"\n\
    paths = [\"/d/secret\", \"/d/secret/**\", \"/d/a.js.gz\"]\nprincipals = { type = \"anyone\" }\n\
    [[storage-area.data.access.policy]]\ndescription = \"the rest\"\neffect = \"permit\"\nactions = \"all\"\n\
    principals = { type = \"anyone\" }\n";

#[test]
fn what_may_not_be_looked_at_is_in_no_listing_and_no_answer() {
    let site = Site::new(&format!("listing = true\n{MOSTLY_OPEN}"));
    site.write("d/secret", "x");
    site.write("d/open", "x");
    for accept in ["text/html", "application/json"] {
        let page = site.get_with("/d/", &[("Accept", accept)]).text();
        assert!(page.contains("open") && !page.contains("secret"), "{page}");
    }
    let refused = site.request("COPY", "/d/", &[("Destination", "/e")], b"");
    let text = refused.text();
    assert!(refused.status == 207 && text.contains("403") && !text.contains("secret"), "{text}");
    assert!(site.read("e/open").is_none());
}

#[test]
fn a_compressed_sibling_is_sent_only_to_those_who_may_read_it() {
    let site = Site::new(&format!("precompressed = true\n{MOSTLY_OPEN}"));
    for name in ["d/a.js", "d/b.js"] {
        site.write(name, "plain");
        site.write(&format!("{name}.gz"), "gzipped");
    }
    let gzip = [("Accept-Encoding", "gzip")];
    assert_eq!(site.get_with("/d/b.js", &gzip).text(), "gzipped");
    assert_eq!(site.get_with("/d/a.js", &gzip).text(), "plain");
}
