//! Tests the admin listener with users and TLS, with curl as the client.

use std::process::Command;

use weir_e2e::Weir;
use weir_testkit::certificates::{Authority, Request};

/// Returns the status and the body that curl gets.
fn curl(weir: &Weir, ca: &std::path::Path, target: &str, options: &[&str]) -> (String, String) {
    let port = weir.log().iter().find_map(|line| {
        line.split_once("admin: https://127.0.0.1:").map(|(_, rest)| rest.trim_end_matches('/').to_owned())
    });
    let port = port.expect("the log tells where admin listens");
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "60", "--write-out", "\n%{http_code}", "--cacert"])
        .arg(ca)
        .args(options)
        .arg(format!("https://localhost:{port}{target}"))
        .args(["--resolve", &format!("localhost:{port}:127.0.0.1")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.to_owned(), body.to_owned())
}

#[test]
fn users_log_in_over_tls_and_wrong_passwords_are_limited() {
    let authority = Authority::new("test authority");
    let launcher = Weir::launcher("");
    let directory = launcher.directory().to_owned();
    let files = authority.issue(&Request::names(&["localhost"])).write_to(&directory, "admin");
    let (ca, users) = (directory.join("ca.pem"), directory.join("users"));
    std::fs::write(&ca, authority.pem()).unwrap();
    let hash = bcrypt::hash("sesame", 4).unwrap();
    std::fs::write(&users, format!("ada:{hash}\n")).unwrap();
    let config = format!(
        "[admin]\nbind = \"127.0.0.1:0\"\nhtpasswd = {users:?}\n\
         tls.certificates = {{ certificate = {:?}, key = {:?} }}\n\
         [listener.web]\nbind = \"127.0.0.1:0\"\n[[route]]\nrespond = 204\n",
        files.certificate, files.key
    );
    let weir = launcher.config(&config).start();
    assert_eq!(curl(&weir, &ca, "/healthz", &[]), ("200".to_owned(), "ok\n".to_owned()));
    assert_eq!(curl(&weir, &ca, "/metrics", &[]).0, "401");
    assert_eq!(curl(&weir, &ca, "/metrics", &["--user", "ada:wrong"]).0, "401");
    let (status, body) = curl(&weir, &ca, "/metrics", &["--user", "ada:sesame"]);
    assert_eq!(status, "200");
    assert!(body.contains("\nweir_uptime_seconds "), "{body}");
    let told = (0..200).any(|at| curl(&weir, &ca, "/", &["--user", &format!("ada:wrong{at}")]).0 == "429");
    assert!(told, "two hundred guesses were all looked at");
}
