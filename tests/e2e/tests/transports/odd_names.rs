//! Tests server names that no certificate can have: OpenSSL's servers and Weir treat them as unknown names.

use std::process::Command;

use weir_e2e::Weir;
use weir_testkit::certificates::Request;
use weir_testkit::untested;

use crate::s_client::s_client;
use crate::tls::Pki;

fn names() -> Vec<String> {
    let odd = [
        "[foo.com]",
        "foo..bar",
        "-x.example",
        "a b",
        "*.example.org",
        "my_host.example",
        "127.0.0.1",
        "a.example.",
    ];
    let long = format!("{}.org", "x".repeat(200));
    odd.into_iter().map(str::to_owned).chain([long]).collect()
}

#[test]
fn a_name_that_is_none_gets_the_first_certificate_in_every_kind_of_handshake() {
    if Command::new("openssl").arg("version").output().is_err() {
        return untested("openssl is not installed");
    }
    let pki = Pki::new();
    let certificate = pki.issue("a", Request::names(&["a.example"]));
    let mine = pki.authority.issue(&Request::names(&["me"])).write_to(pki.directory.path(), "me");
    let (mine, key) = (mine.certificate.display().to_string(), mine.key.display().to_string());
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\n[listener.web.tls]\ncertificates = [{certificate}]\n\
         client-auth = {{ ca = \"{}\" }}\n[[route]]\nrespond = {{ status = 200, body = \"served\" }}\n",
        pki.ca().display()
    ));
    let session = pki.directory.path().join("session").display().to_string();
    let shows = ["-cert", &mine, "-key", &key];
    for name in names() {
        // A client signature covers the hash of the handshake (in TLS 1.2, all messages). X448 makes the
        // server send a HelloRetryRequest. A resumed session has a proof over a part of the ClientHello.
        for kind in [
            &["-tls1_2", "-sess_out", &session][..],
            &["-tls1_2", "-sess_in", &session],
            &["-tls1_3", "-sess_out", &session],
            &["-tls1_3", "-sess_in", &session],
            &["-tls1_3", "-groups", "X448:P-256"],
        ] {
            let arguments = [&["-servername", &name][..], kind, &shows].concat();
            let output = s_client(pki.directory.path(), weir.addr("web"), &arguments);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(
                said.contains("served"),
                "{name} {kind:?}: {said} {}",
                String::from_utf8_lossy(&output.stderr)
            );

            if kind.contains(&"-sess_in") {
                assert!(said.contains("Reused, TLS"), "{name} {kind:?}: {said}");
            }
        }
    }
}
