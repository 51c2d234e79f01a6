//! Tests over TLS: downloads, uploads, and the keys of a token issuer.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use weir_e2e::Weir;
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

use crate::access::{Issuer, bearer};
use crate::{OPEN, config, message, pattern};

/// A Weir that serves an area over TLS as `localhost`.
struct Secure {
    weir: Weir,
    root: TempDir,
    files: TempDir,
}

impl Secure {
    fn new(access: &str) -> Self {
        let (root, files) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let authority = Authority::new("test authority");
        std::fs::write(files.path().join("ca.pem"), authority.pem()).unwrap();
        let issued =
            authority.issue(&Request::names(&["localhost", "127.0.0.1"])).write_to(files.path(), "site");
        let listener = format!(
            "[listener.web.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}\n",
            issued.certificate.display(),
            issued.key.display()
        );
        let weir = Weir::start(&config(root.path(), &listener, access));
        Self { weir, root, files }
    }

    fn ca(&self) -> PathBuf {
        self.files.path().join("ca.pem")
    }

    fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.weir.addr("web").port())
    }

    /// Runs curl and returns its output.
    #[track_caller]
    fn curl(&self, arguments: &[&str]) -> String {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60", "--cacert"]).arg(self.ca()).args(arguments);
        let output = curl.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[test]
fn ten_megabytes_go_in_and_come_out_whole_and_the_connection_stays() {
    let site = Secure::new(OPEN);
    let content = pattern(10_000_000);
    let (sent, got) = (site.files.path().join("sent"), site.files.path().join("got"));
    std::fs::write(&sent, &content).unwrap();
    let (sent, got) = (sent.to_str().unwrap(), got.to_str().unwrap());
    let url = site.url("/big");
    assert_eq!(site.curl(&["-T", sent, "-w", "%{http_code}", &url]), "201");
    assert!(std::fs::read(site.root.path().join("big")).unwrap() == content);
    let told = site.curl(&["-o", got, "-w", "%{num_connects} ", &url, "-o", got, &url]);
    assert_eq!(told, "1 0 ");
    assert!(std::fs::read(got).unwrap() == content);
    let told = site.curl(&["-r", "5000000-5000009", "-o", got, "-w", "%{http_code}", &url]);
    assert_eq!(told, "206");
    assert_eq!(std::fs::read(got).unwrap(), content[5_000_000..5_000_010]);
}

#[test]
fn the_keys_of_an_issuer_are_found_by_its_metadata_or_at_their_address() {
    // Another Weir serves the issuer's documents.
    let home = Secure::new("[storage-area.data.access]\nanonymous-read = true\n");
    let name = home.url("/");
    let issuer = Issuer::named(&name);
    std::fs::copy(issuer.keys(), home.root.path().join("jwk")).unwrap();
    let well_known = home.root.path().join(".well-known");
    std::fs::create_dir(&well_known).unwrap();
    let metadata = json!({ "issuer": name, "jwks_uri": home.url("/jwk") });
    std::fs::write(well_known.join("openid-configuration"), metadata.to_string()).unwrap();

    for key_set in [String::new(), format!("key-set = \"{}\"\n", home.url("/jwk"))] {
        let root = TempDir::new().unwrap();
        std::fs::write(root.path().join("a"), "content").unwrap();
        let area = format!(
            "[storage-area.data.access]\nissuers = \"{name}\"\n\
             [token-issuer.home]\nissuer = \"{name}\"\nca = \"{}\"\n{key_set}",
            home.ca().display()
        );
        let weir = Weir::start(&config(root.path(), "", &area));
        let mut client = weir.client();
        let token = bearer(&issuer.token(&json!({})));
        client.send(message("GET", "/a", &[("Authorization", &token)], b""));
        assert_eq!(client.response().text(), "content", "{key_set}");
        let stranger = bearer(&Issuer::named(&name).token(&json!({})));
        client.send(message("GET", "/a", &[("Authorization", &stranger)], b""));
        assert_eq!(client.response().status, 401, "{key_set}");
    }
}

#[test]
fn an_issuer_that_cannot_be_reached_refuses_its_tokens_and_nothing_else() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a"), "content").unwrap();
    let name = "https://127.0.0.1:1/";
    let area = format!(
        "[storage-area.data.access]\nanonymous-read = true\nissuers = \"{name}\"\n[token-issuer.away]\nissuer = \"{name}\"\n"
    );
    let mut weir = Weir::start(&config(root.path(), "", &area));
    let token = bearer(&Issuer::named(name).token(&json!({})));
    let mut client = weir.client();
    client.send(message("GET", "/a", &[("Authorization", &token)], b""));
    // The client made no mistake, and may retry with the same token.
    let response = client.response();
    assert_eq!((response.status, response.header("retry-after").is_some()), (503, true));
    client.send(message("GET", "/a", &[], b""));
    assert_eq!(client.response().text(), "content");
    weir.wait_for_log("token issuer away: https://127.0.0.1:1/.well-known/openid-configuration: ");
}
