//! Tests the NGINX config of the guide for StoRM sites: Debian's NGINX, with TLS and client certificates, in
//! front of a storage area.
//!
//! Debian has no VOMS module. The test replaces its variables by NGINX's own for the certificate, and by
//! empty ones for memberships.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use weir_e2e::Weir;
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{Child, PATIENCE, TempDir, wait_until};

use crate::tool;

const HOST: &str = "storage.example.org";
/// Client address that NGINX passes on.
const CLIENT: &str = "192.0.2.7";

struct Front {
    root: TempDir,
    files: TempDir,
    _weir: Weir,
    _nginx: Child,
}

/// Returns the server block of the guide.
fn shown() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/coming-from-storm.md");
    let page = fs::read_to_string(page).unwrap();
    let block = page.split("```nginx\n").nth(1).and_then(|rest| rest.split("```").next());
    block.unwrap().to_owned()
}

impl Front {
    fn new() -> Self {
        let (root, files) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let here = files.path();
        let authority = Authority::new("test authority");
        fs::write(here.join("ca.pem"), authority.pem()).unwrap();
        let own = authority.issue(&Request::names(&[HOST])).write_to(here, "storage");
        authority.issue(&Request::names(&[]).organization("Example").common_name("Jo")).write_to(here, "jo");
        let weir = Weir::start(&format!(
            "[access-log]\nformat = \"json\"\nto = \"{}\"\n\
             [listener.https]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\nforwarded = {{ trusted = \"127.0.0.1\" }}\n\
             [listener.https.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}\n\
             [storage-area.data]\nroot = \"{}\"\naccess-points = \"/data\"\nidentity-from = \"127.0.0.1\"\n\
             accel-redirect = {{ prefix = \"/.storm-webdav/internal/get/srv/data\", trusted = \"127.0.0.1\" }}\n\
             [storage-area.data.access]\nanonymous-read = true\n\
             [[storage-area.data.access.policy]]\ndescription = \"jo\"\neffect = \"permit\"\nactions = \"write\"\n\
             principals = {{ type = \"x509-subject\", subject = \"CN=Jo,O=Example\" }}\n",
            here.join("access.log").display(),
            own.certificate.display(),
            own.key.display(),
            root.path().display(),
        ));
        let socket = here.join("nginx.sock");
        let mut server = shown();
        for (in_guide, in_test) in [
            ("listen 443 ssl;", format!("listen unix:{} ssl;", socket.display())),
            ("10.0.0.11:8443", weir.addr("https").to_string()),
            ("/etc/nginx/", format!("{}/", here.display())),
            ("alias /srv/data/;", format!("alias {}/; add_header By nginx;", root.path().display())),
            // A Unix socket has no client address.
            ("$remote_addr", CLIENT.to_owned()),
            ("$ssl_client_ee_s_dn", "$ssl_client_s_dn".to_owned()),
            ("$ssl_client_ee_i_dn", "$ssl_client_i_dn".to_owned()),
            // Variable of a header that no client sends.
            ("$voms_", "$http_not_there_".to_owned()),
        ] {
            assert!(server.contains(in_guide), "{in_guide} in\n{server}");
            server = server.replace(in_guide, &in_test);
        }
        let temporary = here.display();
        let config = format!(
            "daemon off; pid {temporary}/pid; error_log stderr; worker_processes 1; master_process off;\n\
             events {{}}\n\
             http {{ underscores_in_headers on; access_log off; client_body_temp_path {temporary}/b; proxy_temp_path {temporary}/p;\n\
             fastcgi_temp_path {temporary}/f; uwsgi_temp_path {temporary}/u; scgi_temp_path {temporary}/s;\n\
             {server} }}\n"
        );
        let file = here.join("nginx.conf");
        fs::write(&file, config).unwrap();
        // NGINX's workers must be able to read the test's files, also if root runs the test.
        for directory in [root.path(), here] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = tool::command("nginx");
        command.arg("-c").arg(&file).arg("-e").arg("stderr");
        let nginx = Child::spawn(command);
        wait_until("nginx listens", PATIENCE, || UnixStream::connect(&socket).is_ok());
        Self { root, files, _weir: weir, _nginx: nginx }
    }

    /// Returns the output of curl for a request to a file.
    #[track_caller]
    fn curl(&self, arguments: &[&str]) -> String {
        let here = self.files.path();
        let mut curl = tool::command("curl");
        curl.args(["-sS", "--max-time", "60", "--unix-socket"]).arg(here.join("nginx.sock"));
        curl.arg("--cacert").arg(here.join("ca.pem")).args(arguments);
        curl.arg(format!("https://{HOST}/data/f"));
        let output = tool::finish(curl);
        assert!(output.status.success(), "{}", tool::text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[test]
fn who_shows_a_certificate_writes_through_the_nginx_of_the_guide_and_it_sends_the_file() {
    let front = Front::new();
    let at = |name: &str| front.files.path().join(name).to_str().unwrap().to_owned();
    let upload = at("upload");
    fs::write(&upload, "content").unwrap();
    let put = ["-o", "/dev/null", "-w", "%{http_code}", "-T", &upload];
    let refused = front.curl(&put);
    assert!(matches!(refused.as_str(), "401" | "403"), "{refused}");
    // A client that sends the identity headers itself is not trusted, even if NGINX accepts names with
    // underscores.
    for line in ["X-VOMS-ssl_client_ee_s_dn: CN=Jo,O=Example", "X-VOMS-voms_user: CN=Jo,O=Example"] {
        let refused = front.curl(&[&put[..], &["-H", line][..]].concat());
        assert!(matches!(refused.as_str(), "401" | "403"), "{line}: {refused}");
    }
    let (certificate, key) = (at("jo.pem"), at("jo.key"));
    let shown = [&["--cert", &certificate, "--key", &key][..], &put[..]].concat();
    assert_eq!(front.curl(&shown), "201");
    assert_eq!(fs::read(front.root.path().join("f")).unwrap(), b"content");
    let got = front.curl(&["-i"]);
    assert!(got.starts_with("HTTP/1.1 200") && got.ends_with("\r\n\r\ncontent"), "{got}");
    assert!(got.contains("\r\nBy: nginx\r\n") && got.contains("\r\nETag: "), "{got}");
    assert!(!got.to_ascii_lowercase().contains("x-accel-redirect"), "{got}");
}

#[test]
fn the_client_of_logs_is_the_one_of_the_nginx_of_the_guide_and_not_whom_clients_name() {
    let front = Front::new();
    fs::write(front.root.path().join("f"), "content").unwrap();
    let names = ["-H", "X-Forwarded-For: 192.0.2.66", "-H", "Forwarded: for=192.0.2.66"];
    assert_eq!(front.curl(&names), "content");
    let log = || fs::read_to_string(front.files.path().join("access.log")).unwrap_or_default();
    wait_until("the request is in the log", PATIENCE, || log().ends_with('\n'));
    let line: serde_json::Value = serde_json::from_str(log().lines().next().unwrap()).unwrap();
    assert_eq!(line["client"], CLIENT, "{line}");
}
