//! Tests of token issuers: their keys, and the validity of their tokens.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_testkit::certificates::{Authority, IssuedFiles, Request};
use weir_testkit::{Response, TempDir, wait_until};

use super::{ISSUER, Issuer, bearer};
use crate::Site;
use crate::tokens::{FORM, Secrets, post};

/// An HTTPS server of keys, which can be replaced.
struct KeyServer {
    weir: Weir,
    directory: TempDir,
    files: IssuedFiles,
}

impl KeyServer {
    fn start(keys: &Path) -> Self {
        let directory = TempDir::new().unwrap();
        let authority = Authority::new("keys");
        std::fs::write(directory.path().join("ca.pem"), authority.pem()).unwrap();
        let files = authority.issue(&Request::names(&["127.0.0.1"])).write_to(directory.path(), "keys");
        let weir = Weir::start(&Self::config(&files, keys));
        Self { weir, directory, files }
    }

    fn serve(&mut self, keys: &Path) {
        let config = Self::config(&self.files, keys);
        self.weir.reload(&config);
    }

    fn config(files: &IssuedFiles, keys: &Path) -> String {
        let keys = json!(std::fs::read_to_string(keys).unwrap());
        format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\n\
             tls = {{ certificates = {{ certificate = {:?}, key = {:?} }} }}\n\
             [[route]]\npath = \"=/keys\"\nrespond = {{ content-type = \"application/json\", body = {keys} }}\n",
            files.certificate, files.key
        )
    }

    fn fetches(&self) -> f64 {
        self.weir.metrics().get("weir_listener_requests_total", &["listener=\"web\""])
    }
}

/// Starts a site that trusts the issuer whose keys are served at this port.
fn trusting(port: u16, ca: &Path) -> Site {
    let site = Site::new(&format!(
        "[storage-area.data.access]\nissuers = \"{ISSUER}\"\n[token-issuer.iam]\nissuer = \"{ISSUER}\"\n\
         key-set = \"https://127.0.0.1:{port}/keys\"\nca = {ca:?}\naudiences = \"https://storage.example.org\"\n",
    ));
    site.write("file", "content");
    site
}

fn get(site: &Site, token: &str) -> Response {
    site.get_with("/file", &[("Authorization", &bearer(token))])
}

#[test]
fn a_key_that_is_rotated_in_counts_at_once() {
    changes_its_key_for_one_named("2");
}

#[test]
fn a_new_key_with_the_name_of_the_old_one_counts_at_once() {
    changes_its_key_for_one_named("1");
}

/// Tests that an issuer can replace its key `1` by another one with this key ID.
fn changes_its_key_for_one_named(name: &str) {
    let (old, new) = (Issuer::new(), Issuer::new());
    let keys = std::fs::read_to_string(new.keys()).unwrap();
    std::fs::write(new.keys(), keys.replace("\"kid\":\"1\"", &format!("\"kid\":\"{name}\""))).unwrap();
    let mut server = KeyServer::start(&old.keys());
    let site = trusting(server.weir.addr("web").port(), &server.directory.path().join("ca.pem"));
    let of_old = old.token(&json!({}));
    assert_eq!(get(&site, &of_old).status, 200);
    let asked = server.fetches();
    server.serve(&new.keys());
    // The keys are fetched, however recent the last fetch is.
    assert_eq!(get(&site, &new.token_with_key(name, &json!({}))).status, 200);
    assert_eq!(server.fetches(), asked + 1.0);
    assert_eq!(get(&site, &of_old).status, 401);
}

#[test]
fn keys_that_somebody_makes_up_bring_about_few_fetches_and_harm_no_other_token() {
    let (issuer, stranger) = (Issuer::new(), Issuer::new());
    let server = KeyServer::start(&issuer.keys());
    let site = trusting(server.weir.addr("web").port(), &server.directory.path().join("ca.pem"));
    let good = issuer.token(&json!({}));
    assert_eq!(get(&site, &good).status, 200);
    let (asked, begin) = (server.fetches(), Instant::now());
    let mut statuses = Vec::new();
    for number in 0..100 {
        let made_up = get(&site, &stranger.token_with_key(&format!("made up {number}"), &json!({})));
        // Either the key was searched in vain, or the answer is not known yet.
        assert!(made_up.status == 401 || made_up.header("retry-after").is_some(), "{}", made_up.status);
        statuses.push(made_up.status);
        assert_eq!(get(&site, &good).status, 200);
    }
    assert!(statuses.contains(&401) && statuses.contains(&503), "{statuses:?}");
    // Four fetches at once, and one every ten seconds.
    let most = 5.0 + begin.elapsed().as_secs_f64() / 10.0;
    assert!(server.fetches() - asked <= most, "{} > {most}", server.fetches() - asked);
}

#[test]
fn while_an_issuer_does_not_answer_its_tokens_are_not_called_invalid() {
    let directory = TempDir::new().unwrap();
    let ca = directory.path().join("ca.pem");
    std::fs::write(&ca, Authority::new("keys").pem()).unwrap();
    // After the listener is dropped, the port is closed.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let site = trusting(port, &ca);
    let issuer = Issuer::new();
    let token = issuer.token(&json!({}));
    let refused = get(&site, &token);
    assert_eq!((refused.status, refused.header("www-authenticate")), (503, None));
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds), "{seconds}");
    // Requests that do not depend on these keys are unaffected.
    assert_eq!(get(&site, &Issuer::named("https://other.example.org").token(&json!({}))).status, 401);
    assert_eq!(site.get("/file").status, 401);
}

#[test]
fn tokens_count_as_soon_as_their_issuer_answers_again() {
    let (issuer, directory) = (Issuer::new(), TempDir::new().unwrap());
    let useless = directory.path().join("keys.json");
    std::fs::write(&useless, "{}").unwrap();
    let mut server = KeyServer::start(&useless);
    let site = trusting(server.weir.addr("web").port(), &server.directory.path().join("ca.pem"));
    let token = issuer.token(&json!({}));
    assert_eq!(get(&site, &token).status, 503);
    server.serve(&issuer.keys());
    wait_until("the token counts", Duration::from_secs(60), || get(&site, &token).status == 200);
}

#[test]
fn a_client_that_asks_for_a_token_of_weirs_own_is_told_the_same() {
    let secrets = Secrets::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let site = Site::new(&format!(
        "{}[token-issuer.iam]\nissuer = \"{ISSUER}\"\nkey-set = \"https://127.0.0.1:{port}/keys\"\n",
        secrets.es256().replace(
            "[storage-area.data.access]\n",
            &format!("[storage-area.data.access]\nissuers = \"{ISSUER}\"\n")
        ),
    ));
    let token = bearer(&Issuer::new().token(&json!({})));
    let refused = post(&site, "/oauth/token", &token, FORM, "grant_type=client_credentials");
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
}

#[test]
fn tokens_that_are_no_access_tokens_write_nothing() {
    let issuer = Issuer::new();
    let site = |audiences: &str| {
        Site::new(&format!(
            "[storage-area.data.access]\nissuers = \"{ISSUER}\"\nissuers-write = true\n\
             [token-issuer.iam]\nissuer = \"{ISSUER}\"\nkey-set = {:?}\n{audiences}",
            issuer.keys()
        ))
    };
    let without = site("");
    let put = |site: &Site, changes: &Value| {
        let token = bearer(&issuer.token(changes));
        site.put("/file", &[("Authorization", &token)], b"x").status
    };
    let logout = json!({ "http://schemas.openid.net/event/backchannel-logout": {} });
    for changes in [
        json!({ "scope": null, "wlcg.ver": null, "aud": "a web application", "nonce": "n" }),
        json!({ "scope": null, "wlcg.ver": null, "aud": "a web application" }),
        json!({ "scope": null, "aud": "a web application" }),
        json!({ "at_hash": "h" }),
        json!({ "events": logout }),
        json!({ "typ": "Refresh" }),
    ] {
        assert_eq!(put(&without, &changes), 401, "{changes}");
    }
    assert_eq!(put(&without, &json!({})), 201);
    let with = site("audiences = \"https://storage.example.org\"\n");
    assert_eq!(put(&with, &json!({ "scope": null, "wlcg.ver": null, "nonce": "n" })), 401);
    assert_eq!(put(&with, &json!({ "scope": null, "wlcg.ver": null })), 201);
    let typed = site("access-token-type = \"required\"\n");
    assert_eq!(put(&typed, &json!({})), 401, "its type is JWT");
}
