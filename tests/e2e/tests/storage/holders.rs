//! Tests of the holders of Weir's own tokens: how long their proof is valid, and in which areas.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{Response, TempDir};

use crate::access::{Issuer, bearer};
use crate::tokens::{FORM, Secrets, basic, json_of, post, token};
use crate::{Site, config};

/// Reloads with another config, and returns the status of a GET with a token.
fn status_after(site: &mut Site, config: &str, token: &str) -> u16 {
    site.weir.reload(config);
    site.get_with("/ada/b", &[("Authorization", &bearer(token))]).status
}

#[test]
fn a_changed_password_ends_the_tokens_that_were_got_with_it() {
    let secrets = Secrets::new();
    let root = TempDir::new().unwrap();
    let text = config(root.path(), "", &secrets.es256());
    let mut site = Site { weir: Weir::start(&text), root };
    site.write("ada/b", "content");
    let token = token(&site, "grant_type=client_credentials&scope=storage.read:/ada");
    assert_eq!(status_after(&mut site, &format!("{text}\n# again\n"), &token), 200, "nothing has changed");
    let hash = bcrypt::hash("open", 4).unwrap();
    std::fs::write(secrets.file("htpasswd"), format!("ada:{hash}\n")).unwrap();
    assert_eq!(status_after(&mut site, &format!("{text}\n# and again\n"), &token), 401);
}

#[test]
fn an_issuer_that_is_no_longer_trusted_takes_along_what_was_made_of_its_tokens() {
    let secrets = Secrets::new();
    let issuer = Issuer::named("https://iam.example.org/");
    let area = with_own_tokens(&secrets);
    let root = TempDir::new().unwrap();
    let text = config(root.path(), "", &area);
    let mut site = Site { weir: Weir::start(&format!("{text}{}", issuer.config())), root };
    site.write("ada/b", "content");
    let form = "grant_type=client_credentials&scope=storage.read:/ada";
    let issued = post(&site, "/oauth/token", &bearer(&issuer.token(&json!({}))), FORM, form);
    assert_eq!(issued.status, 200, "{}", issued.text());
    let own = json_of(&issued)["access_token"].as_str().unwrap().to_owned();
    assert_eq!(site.get_with("/ada/b", &[("Authorization", &bearer(&own))]).status, 200);
    assert_eq!(status_after(&mut site, &text, &own), 401);
}

#[test]
fn tightened_rules_for_an_issuer_end_what_was_made_of_tokens_that_do_not_fit_any_more() {
    let secrets = Secrets::new();
    let issuer = Issuer::named("https://iam.example.org/");
    let area = with_own_tokens(&secrets);
    let root = TempDir::new().unwrap();
    let with = |audiences: &str, more: &str| {
        let trust = issuer.config();
        let audience = "audiences = \"https://storage.example.org\"";
        assert!(trust.contains(audience));
        format!("{}{}{more}", config(root.path(), "", &area), trust.replace(audience, audiences))
    };
    let both = "audiences = [\"https://storage.example.org\", \"https://new.example.org\"]";
    let mut site = Site { weir: Weir::start(&with(both, "")), root: TempDir::new().unwrap() };
    std::fs::create_dir(root.path().join("ada")).unwrap();
    std::fs::write(root.path().join("ada/b"), "content").unwrap();
    let form = "grant_type=client_credentials&scope=storage.read:/ada";
    let issued = post(&site, "/oauth/token", &bearer(&issuer.token(&json!({}))), FORM, form);
    assert_eq!(issued.status, 200, "{}", issued.text());
    let own = json_of(&issued)["access_token"].as_str().unwrap().to_owned();
    let one = "audiences = \"https://storage.example.org\"";
    assert_eq!(status_after(&mut site, &with(one, ""), &own), 200, "it was meant for that one");
    assert_eq!(status_after(&mut site, &with(one, "max-lifetime = \"1s\"\nleeway = \"1s\"\n"), &own), 401);
    assert_eq!(status_after(&mut site, &with("audiences = \"https://new.example.org\"", ""), &own), 401);
    assert_eq!(status_after(&mut site, &with(both, "profile = \"required\"\n"), &own), 200, "it follows it");
}

#[test]
fn a_client_asks_for_so_many_tokens_and_guesses_count_for_more() {
    let secrets = Secrets::new();
    let limited = |requests: u32| {
        let text = secrets.es256();
        format!("{text}\nmax-requests = {requests}\n")
    };
    let started = |requests| {
        let root = TempDir::new().unwrap();
        Site { weir: Weir::start(&config(root.path(), "", &limited(requests))), root }
    };
    let form = "grant_type=client_credentials&scope=storage.read:/ada";
    let asked = |site: &Site, credentials: &str| post(site, "/oauth/token", credentials, FORM, form);
    let site = started(2);
    assert_eq!(asked(&site, &basic("ada:sesame")).status, 200);
    // A request without credentials is no guess.
    assert_eq!(asked(&site, "").status, 401);
    let refused = asked(&site, &basic("ada:sesame"));
    assert_eq!((refused.status, &json_of(&refused)["error"]), (429, &json!("slow_down")));
    let seconds = |refused: &Response| refused.header("Retry-After").unwrap().parse::<u64>().unwrap();
    assert!((1..=30).contains(&seconds(&refused)), "{}", seconds(&refused));
    let mut site = started(2);
    site.write("ada/b", "content");
    assert_eq!(asked(&site, &basic("ada:wrong")).status, 401);
    let kind = ("Content-Type", "application/macaroon-request");
    let refused = post(&site, "/ada", &basic("ada:sesame"), kind, "{}");
    assert_eq!((refused.status, &json_of(&refused)["status"]), (429, &json!(429)));
    assert!((31..=270).contains(&seconds(&refused)), "{}", seconds(&refused));
    // Published documents and files do not count as token requests.
    assert_eq!(site.get("/oauth/jwks").status, 200);
    assert_eq!(site.get_with("/ada/b", &[("Authorization", &basic("ada:sesame"))]).status, 200);
    // A reload keeps the counts.
    let text = config(site.root.path(), "", &limited(2));
    site.weir.reload(&format!("{text}\n# again\n"));
    assert_eq!(asked(&site, &basic("ada:sesame")).status, 429);
    let text = config(site.root.path(), "", &limited(0));
    site.weir.reload(&text);
    assert_eq!(asked(&site, &basic("ada:sesame")).status, 200);
}

#[test]
fn tokens_outlive_a_change_of_keys_while_the_key_before_is_named() {
    let (secrets, newer) = (Secrets::new(), Secrets::new());
    let root = TempDir::new().unwrap();
    let text = config(root.path(), "", &secrets.es256());
    let mut site = Site { weir: Weir::start(&text), root };
    site.write("ada/b", "content");
    let token = token(&site, "grant_type=client_credentials&scope=storage.read:/ada");
    let (old, new) = (secrets.file("key.pem"), newer.file("key.pem"));
    let changed = text.replace(&*old.to_string_lossy(), &new.to_string_lossy());
    let named = format!("{changed}previous-keys = \"{}\"\n", old.display());
    assert_eq!(status_after(&mut site, &named, &token), 200);
    assert_eq!(json_of(&site.get("/oauth/jwks"))["keys"].as_array().unwrap().len(), 2);
    assert_eq!(status_after(&mut site, &changed, &token), 401);
}

#[test]
fn no_token_lives_longer_than_the_longest() {
    let secrets = Secrets::new();
    let site = Site::new(&format!("{}max-lifetime = \"2h\"\n", secrets.es256()));
    let form = "grant_type=client_credentials&scope=storage.read:/ada&lifetime=18446744073709551615";
    let issued = post(&site, "/oauth/token", &basic("ada:sesame"), FORM, form);
    assert_eq!(json_of(&issued)["expires_in"], 7200);
}

/// OAuth clients form-encode user and password before Basic encoding.
#[test]
fn a_password_may_be_encoded_at_the_endpoint() {
    let secrets = Secrets::new();
    let hash = bcrypt::hash("100% open", 4).unwrap();
    std::fs::write(secrets.file("htpasswd"), format!("ada:{hash}\n")).unwrap();
    let site = Site::new(&secrets.es256());
    let form = "grant_type=client_credentials&scope=storage.read:/ada";
    for (password, status) in [("100% open", 200), ("100%25+open", 200), ("100%25", 401)] {
        let issued = post(&site, "/oauth/token", &basic(&format!("ada:{password}")), FORM, form);
        assert_eq!(issued.status, status, "{password}");
    }
    let get = site.get_with("/ada/b", &[("Authorization", &basic("ada:100%25+open"))]);
    assert_eq!(get.status, 401, "only there");
}

#[test]
fn what_an_issuer_publishes_is_nobodys_file_in_whichever_area_it_would_be() {
    let secrets = Secrets::new();
    let (root, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let endpoint = secrets.es256();
    let (area, own) = endpoint.split_once("[token-endpoint.own]").unwrap();
    let area = area.replace("storage-area.data", "storage-area.tokens");
    let text = format!(
        "{}[storage-area.tokens]\nroot = \"{}\"\naccess-points = \"/tokens\"\n{area}[token-endpoint.own]{own}",
        config(root.path(), "", crate::OPEN),
        other.path().display()
    );
    let site = Site { weir: Weir::start(&text), root };
    let path = "/.well-known/openid-configuration";
    assert_eq!(site.put(path, &[], b"{}").status, 405);
    assert_eq!(json_of(&site.get(path))["issuer"], "https://storage.example.org");
    assert_eq!(site.put("/oauth/jwks", &[], b"{}").status, 405);
    // At another host, the path is an ordinary one.
    let mut client = site.weir.client();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: other.example.org\r\n\r\n"));
    assert_eq!(client.final_response().status, 404);
}

/// Two areas with one token endpoint. Each is behind a listener with its own certificate authority.
struct Certified {
    weir: Weir,
    files: TempDir,
    _roots: [TempDir; 2],
}

impl Certified {
    fn new() -> Self {
        let files = TempDir::new().unwrap();
        let secrets = Secrets::new();
        let write = |name: &str, text: &str| std::fs::write(files.path().join(name), text).unwrap();
        std::fs::copy(secrets.file("key.pem"), files.path().join("key.pem")).unwrap();
        let server = Authority::new("of servers");
        let issued = server.issue(&Request::names(&["127.0.0.1"])).write_to(files.path(), "site");
        write("ca.pem", &server.pem());
        let roots = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let at = |name: &str| files.path().join(name).display().to_string();
        let mut text = format!(
            "[token-endpoint.own]\nissuer = \"https://storage.example.org\"\nkey = \"{}\"\nlifetime = \"10h\"\nmax-lifetime = \"12h\"\n",
            at("key.pem")
        );
        for (name, root) in ["one", "two"].into_iter().zip(&roots) {
            let clients = Authority::new(name);
            write(&format!("{name}.pem"), &clients.pem());
            let now = SystemTime::now();
            let five_minutes = (now - Duration::from_secs(60), now + Duration::from_secs(300));
            let admin = Request::names(&[]).organization("Example, Inc").common_name("admin");
            let admin = admin.valid(five_minutes.0, five_minutes.1);
            clients.issue(&admin).write_to(files.path(), &format!("admin-{name}"));
            std::fs::write(root.path().join("x"), name).unwrap();
            text.push_str(&format!(
                "[listener.{name}]\nbind = \"127.0.0.1:0\"\nstorage = \"{name}\"\n[listener.{name}.tls]\n\
                 certificates = {{ certificate = \"{}\", key = \"{}\" }}\nclient-auth = {{ ca = \"{}\", mode = \"optional\" }}\n\
                 [storage-area.{name}]\nroot = \"{}\"\naccess-points = \"/{name}\"\ntoken-endpoint = \"own\"\n\
                 [storage-area.{name}.access]\n[[storage-area.{name}.access.policy]]\ndescription = \"admins\"\n\
                 effect = \"permit\"\nactions = \"all\"\nprincipals = {{ type = \"x509-subject\", subject = \"CN=admin,O=Example\\\\, Inc\" }}\n",
                issued.certificate.display(),
                issued.key.display(),
                at(&format!("{name}.pem")),
                root.path().display(),
            ));
        }
        Self { weir: Weir::start(&text), files, _roots: roots }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Returns curl's output; the status is on the last line.
    fn curl(&self, listener: &str, path: &str, arguments: &[&str]) -> (u16, String) {
        let url = format!("https://127.0.0.1:{}{path}", self.weir.addr(listener).port());
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60", "-w", "\n%{http_code}", "--cacert"]).arg(self.file("ca.pem"));
        let output = curl.args(arguments).arg(url).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), body.to_owned())
    }

    /// Requests a token with the certificate of an admin from the authority `one`.
    fn token(&self, scope: &str) -> (u16, Value) {
        let certificate = self.file("admin-one.pem").display().to_string();
        let key = self.file("admin-one.key").display().to_string();
        let form = format!("grant_type=client_credentials&scope={scope}");
        let (status, body) =
            self.curl("one", "/oauth/token", &["--cert", &certificate, "--key", &key, "-d", &form]);
        (status, serde_json::from_str(&body).unwrap())
    }
}

/// The same subject from another authority is another identity.
#[test]
fn a_certificate_counts_where_it_was_shown_and_until_it_ends() {
    let site = Certified::new();
    let (status, answer) = site.token("storage.read:/one+storage.read:/two");
    assert_eq!((status, &answer["scope"]), (200, &json!("storage.read:/one")), "{answer}");
    let left = answer["expires_in"].as_u64().unwrap();
    assert!(left <= 300, "{left} s, longer than the certificate");
    let header = format!("Authorization: Bearer {}", answer["access_token"].as_str().unwrap());
    assert_eq!(site.curl("one", "/one/x", &["-H", &header]), (200, "one".to_owned()));
    assert_eq!(site.curl("two", "/two/x", &["-H", &header]).0, 401);
    let (status, answer) = site.token("storage.read:/two");
    assert_eq!((status, &answer["error"]), (400, &json!("invalid_scope")));
}

/// Returns an area that permits reading to all authenticated clients, with its own token endpoint.
fn with_own_tokens(secrets: &Secrets) -> String {
    format!(
        "token-endpoint = \"own\"\n[storage-area.data.access]\nauthenticated-read = true\n\
         [token-endpoint.own]\nissuer = \"https://storage.example.org\"\nkey = \"{}\"\n",
        secrets.file("key.pem").display()
    )
}
