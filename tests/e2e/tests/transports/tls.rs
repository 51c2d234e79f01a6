//! Tests TLS on both sides, with curl and openssl as the peers.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use weir_e2e::{Weir, web};
use weir_testkit::certificates::{Authority, KeyKind, Request};
use weir_testkit::{PATIENCE, RawServer, TempDir, wait_until};

/// CA and the certificates that it has issued, as files.
pub(crate) struct Pki {
    pub(crate) authority: Authority,
    pub(crate) directory: TempDir,
}

impl Pki {
    pub(crate) fn new() -> Self {
        let pki = Self { authority: Authority::new("test authority"), directory: TempDir::new().unwrap() };
        std::fs::write(pki.ca(), pki.authority.pem()).unwrap();
        pki
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// Issues a certificate and returns `{ certificate = .., key = .. }`.
    pub(crate) fn issue(&self, name: &str, request: Request) -> String {
        let files = self.authority.issue(&request).write_to(self.directory.path(), name);
        format!("{{ certificate = \"{}\", key = \"{}\" }}", files.certificate.display(), files.key.display())
    }

    pub(crate) fn curl(&self, weir: &Weir, host: &str, arguments: &[&str]) -> Output {
        let port = weir.addr("web").port();
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "10", "--resolve", &format!("{host}:{port}:127.0.0.1"), "--cacert"]);
        curl.arg(self.ca()).args(arguments).arg(format!("https://{host}:{port}/"));
        curl.output().unwrap()
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn tls(server: &RawServer, certificates: &str, more: &str) -> String {
    format!("{}[listener.web.tls]\ncertificates = [{certificates}]\n{more}\n", web(&[server.addr()]))
}

#[test]
fn certificates_are_chosen_by_name_with_wildcards_and_a_default() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let mut certificates = pki.issue("default", Request::names(&["default.example"]));
    write!(certificates, ", {}", pki.issue("a", Request::names(&["a.example"]))).unwrap();
    write!(certificates, ", {}", pki.issue("wild", Request::names(&["*.b.example"]))).unwrap();
    let weir = Weir::start(&tls(&server, &certificates, ""));
    for host in ["default.example", "a.example", "x.b.example"] {
        assert_eq!(stdout(&pki.curl(&weir, host, &[])), "hi", "{host}");
    }
    let other = pki.curl(&weir, "other.example", &[]);
    assert!(!other.status.success(), "the default certificate is for another name");
    assert_eq!(stdout(&pki.curl(&weir, "other.example", &["--insecure"])), "hi");
}

#[test]
fn rsa_and_ecdsa_stand_side_by_side() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let ecdsa = pki.issue("ecdsa", Request::names(&["a.example"]));
    let rsa = pki.issue("rsa", Request::names(&["a.example"]).key(KeyKind::Rsa));
    let weir = Weir::start(&tls(&server, &format!("{ecdsa}, {rsa}"), ""));
    let max12 = ["--tls-max", "1.2", "--ciphers"];
    for cipher in ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"] {
        assert_eq!(
            stdout(&pki.curl(&weir, "a.example", &[&max12[..], &[cipher]].concat())),
            "hi",
            "{cipher}"
        );
    }
}

#[test]
fn versions_and_alpn_are_as_configured() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let certificate = pki.issue("a", Request::names(&["a.example"]));
    let weir = Weir::start(&tls(&server, &certificate, "min-version = \"1.3\""));
    assert!(!pki.curl(&weir, "a.example", &["--tls-max", "1.2"]).status.success());
    let shown = pki.curl(&weir, "a.example", &["-w", " %{http_version}", "--http2"]);
    assert_eq!(stdout(&shown), "hi 1.1");
    let address = weir.addr("web").to_string();
    let only_others = Command::new("openssl")
        .args(["s_client", "-connect", &address, "-servername", "a.example", "-alpn", "h2"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&only_others.stderr);
    assert!(said.contains("no application protocol"), "{said}");
}

#[test]
fn client_certificates_are_required_where_that_is_asked_for() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let certificate = pki.issue("a", Request::names(&["a.example"]));
    let mine = pki.authority.issue(&Request::names(&["me"])).write_to(pki.directory.path(), "me");
    let stranger =
        Authority::new("another").issue(&Request::names(&["you"])).write_to(pki.directory.path(), "you");
    let auth = |mode: &str| format!("client-auth = {{ ca = \"{}\", mode = \"{mode}\" }}", pki.ca().display());
    let with = |files: &weir_testkit::certificates::IssuedFiles| {
        [
            "--cert".to_owned(),
            files.certificate.display().to_string(),
            "--key".to_owned(),
            files.key.display().to_string(),
        ]
    };
    let (mine, stranger) = (with(&mine), with(&stranger));
    let mine: Vec<&str> = mine.iter().map(String::as_str).collect();
    let stranger: Vec<&str> = stranger.iter().map(String::as_str).collect();
    let weir = Weir::start(&tls(&server, &certificate, &auth("required")));
    assert_eq!(stdout(&pki.curl(&weir, "a.example", &mine)), "hi");
    assert!(!pki.curl(&weir, "a.example", &[]).status.success());
    assert!(!pki.curl(&weir, "a.example", &stranger).status.success());
    let weir = Weir::start(&tls(&server, &certificate, &auth("optional")));
    assert_eq!(stdout(&pki.curl(&weir, "a.example", &mine)), "hi");
    assert_eq!(stdout(&pki.curl(&weir, "a.example", &[])), "hi");
}

#[test]
fn a_client_certificate_that_is_revoked_is_refused_without_a_reload() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let certificate = pki.issue("a", Request::names(&["a.example"]));
    let mine = pki.authority.issue(&Request::names(&["me"]));
    let files = mine.write_to(pki.directory.path(), "me");
    let crl = pki.directory.path().join("crl.pem");
    let until = SystemTime::now() + Duration::from_secs(86_400);
    std::fs::write(&crl, pki.authority.revoke(&[], until)).unwrap();
    let weir = Weir::start(&tls(
        &server,
        &certificate,
        &format!(
            "reload-interval = \"50ms\"\nclient-auth = {{ ca = \"{}\", crl = \"{}\" }}",
            pki.ca().display(),
            crl.display()
        ),
    ));
    let (shown, key) = (files.certificate.display().to_string(), files.key.display().to_string());
    let ask = || pki.curl(&weir, "a.example", &["--cert", &shown, "--key", &key]);
    assert_eq!(stdout(&ask()), "hi");
    std::fs::write(&crl, pki.authority.revoke(&[&mine], until)).unwrap();
    wait_until("it is refused", PATIENCE, || !ask().status.success());
    std::fs::write(&crl, pki.authority.revoke(&[], until)).unwrap();
    wait_until("it is accepted again", PATIENCE, || ask().status.success());
}

#[test]
fn large_bodies_pass_in_both_directions() {
    let pki = Pki::new();
    let server = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            peer.respond(request.body)?;
        }
        Ok(())
    });
    let weir = Weir::start(&tls(&server, &pki.issue("a", Request::names(&["a.example"])), ""));
    let body: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let file = pki.directory.path().join("body");
    std::fs::write(&file, &body).unwrap();
    for framing in ["Transfer-Encoding: chunked", "Expect:"] {
        let data = format!("@{}", file.display());
        let output = pki.curl(&weir, "a.example", &["-X", "PUT", "-H", framing, "--data-binary", &data]);
        assert!(output.status.success() && output.stdout == body, "{} bytes", output.stdout.len());
    }
}

#[test]
fn a_response_that_is_cut_is_an_error_for_a_tls_client_too() {
    let pki = Pki::new();
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    });
    let weir = Weir::start(&tls(&server, &pki.issue("a", Request::names(&["a.example"])), ""));
    assert!(!pki.curl(&weir, "a.example", &[]).status.success());
    assert!(!pki.curl(&weir, "a.example", &["--http1.0"]).status.success());
}

#[test]
fn plain_http_on_a_tls_port_harms_nobody() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let weir = Weir::start(&tls(&server, &pki.issue("a", Request::names(&["a.example"])), ""));
    for garbage in [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice(), &[0xff; 1000], &[0x16, 3, 1, 0xff, 0xff]]
    {
        let mut client = weir.client();
        client.send(garbage).half_close();
        client.read_to_end();
    }
    assert_eq!(stdout(&pki.curl(&weir, "a.example", &[])), "hi");
    assert_eq!(server.connections(), 1);
}

/// Starts a second Weir that terminates TLS, as the server of the first.
fn tls_server(pki: &Pki, certificate: &str, more: &str) -> (Weir, RawServer) {
    let server = RawServer::answering("hi");
    (Weir::start(&tls(&server, certificate, &format!("{more}\n# {}", pki.ca().display()))), server)
}

#[test]
fn servers_are_spoken_to_in_tls_and_verified() {
    let pki = Pki::new();
    let (behind, _server) = tls_server(&pki, &pki.issue("s", Request::names(&["s.internal"])), "");
    let front =
        |tls: &str| Weir::start(&format!("{}retry = false\ntls = {tls}\n", web(&[behind.addr("web")])));
    let ca = format!("ca = \"{}\"", pki.ca().display());
    let status = |weir: &Weir| weir.client().exchange(weir_e2e::get("/")).status;
    assert_eq!(status(&front(&format!("{{ {ca}, server-name = \"s.internal\" }}"))), 200);
    assert_eq!(status(&front(&format!("{{ {ca}, server-name = \"other.internal\" }}"))), 502);
    assert_eq!(status(&front("{ server-name = \"s.internal\" }")), 502, "an authority that nobody knows");
    assert_eq!(status(&front("{ verify = false }")), 200);
}

#[test]
fn a_server_whose_certificate_has_expired_is_not_spoken_to() {
    let pki = Pki::new();
    let (behind, server) = tls_server(&pki, &pki.issue("s", Request::names(&["s.internal"]).expired()), "");
    let weir = Weir::start(&format!(
        "{}tls = {{ ca = \"{}\", server-name = \"s.internal\" }}\n",
        web(&[behind.addr("web")]),
        pki.ca().display()
    ));
    assert_eq!(weir.client().exchange(weir_e2e::get("/")).status, 502);
    assert_eq!(server.connections(), 0);
}

#[test]
fn weir_shows_its_own_certificate_to_servers_that_want_one() {
    let pki = Pki::new();
    let auth = format!("client-auth = {{ ca = \"{}\" }}", pki.ca().display());
    let (behind, _server) = tls_server(&pki, &pki.issue("s", Request::names(&["s.internal"])), &auth);
    let own = pki.issue("weir", Request::names(&["weir.internal"]));
    let ca = format!("ca = \"{}\", server-name = \"s.internal\"", pki.ca().display());
    let front = |more: &str| Weir::start(&format!("{}tls = {{ {ca}{more} }}\n", web(&[behind.addr("web")])));
    let status = |weir: &Weir| weir.client().exchange(weir_e2e::get("/")).status;
    assert_eq!(status(&front(&format!(", client-certificate = {own}"))), 200);
    assert_eq!(status(&front("")), 502);
}

#[test]
fn large_bodies_pass_through_tls_on_both_sides() {
    let pki = Pki::new();
    let echo = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            peer.respond(request.body)?;
        }
        Ok(())
    });
    let behind = Weir::start(&tls(&echo, &pki.issue("s", Request::names(&["s.internal"])), ""));
    let certificate = pki.issue("a", Request::names(&["a.example"]));
    let weir = Weir::start(&format!(
        "{}tls = {{ ca = \"{}\", server-name = \"s.internal\" }}\n\n[listener.web.tls]\ncertificates = {certificate}\n",
        web(&[behind.addr("web")]),
        pki.ca().display()
    ));
    let body: Vec<u8> = (0..2_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let file = pki.directory.path().join("body");
    std::fs::write(&file, &body).unwrap();
    let data = format!("@{}", file.display());
    let output = pki.curl(&weir, "a.example", &["-X", "PUT", "--data-binary", &data]);
    assert!(output.status.success() && output.stdout == body, "{} bytes", output.stdout.len());
}

#[test]
fn tcp_mode_routes_by_server_name_without_ending_tls() {
    let pki = Pki::new();
    let (a, _sa) = tls_server(&pki, &pki.issue("a", Request::names(&["a.example"])), "");
    let (b, _sb) = tls_server(&pki, &pki.issue("b", Request::names(&["b.example"])), "");
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\nsni = [{{ host = \"a.example\", pool = \"a\" }}, {{ host = \"*.example\", pool = \"b\" }}]\n\n\
         [pool.a]\nservers = \"{}\"\n\n[pool.b]\nservers = \"{}\"\n",
        a.addr("web"),
        b.addr("web")
    );
    let weir = Weir::start(&config);
    // Only the right server has the right certificate.
    assert_eq!(stdout(&pki.curl(&weir, "a.example", &[])), "hi");
    assert_eq!(stdout(&pki.curl(&weir, "b.example", &[])), "hi");
    assert!(!pki.curl(&weir, "c.other", &["--insecure"]).status.success());
}

#[test]
fn sessions_are_resumed() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let weir = Weir::start(&tls(&server, &pki.issue("a", Request::names(&["a.example"])), ""));
    let session = pki.directory.path().join("session");
    let connect = |arguments: &[&str]| {
        let mut openssl = Command::new("sh");
        openssl.arg("-c").arg(format!(
            "(printf 'GET / HTTP/1.1\\r\\nHost: a.example\\r\\nConnection: close\\r\\n\\r\\n'; sleep 1) | \
             timeout 10 openssl s_client -connect {} -servername a.example -CAfile {} {} 2>&1",
            weir.addr("web"),
            pki.ca().display(),
            arguments.join(" ")
        ));
        String::from_utf8_lossy(&openssl.output().unwrap().stdout).into_owned()
    };
    let path = session.display().to_string();
    for version in ["-tls1_3", "-tls1_2"] {
        let first = connect(&[version, "-sess_out", &path]);
        assert!(first.contains("\nNew, ") || first.contains("New, TLS"), "{version}: {first}");
        let second = connect(&[version, "-sess_in", &path]);
        assert!(second.contains("Reused, TLS"), "{version}: {second}");
    }
    let shaken = |result: &str| {
        let labels = ["listener=\"web\"", &format!("result=\"{result}\"")];
        weir.metrics().get("weir_listener_tls_handshakes_total", &labels)
    };
    assert_eq!((shaken("full"), shaken("resumed"), shaken("failed")), (2.0, 2.0, 0.0));
}

#[test]
fn a_handshake_that_fails_by_the_clients_doing_tells_why_in_the_log_and_in_the_metrics() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let certificate = pki.issue("a", Request::names(&["a.example"]));
    let another = Authority::new("another");
    let stranger = another.issue(&Request::names(&["you"])).write_to(pki.directory.path(), "you");
    let other_ca = pki.directory.path().join("other-ca.pem");
    std::fs::write(&other_ca, another.pem()).unwrap();
    let rules = format!(
        "min-version = \"1.3\"\nclient-auth = {{ ca = \"{}\", mode = \"required\" }}",
        pki.ca().display()
    );
    let log = "\n[access-log]\nformat = \"json\"\nto = \"stdout\"\n";
    let mut weir = Weir::start(&format!("{}{log}", tls(&server, &certificate, &rules)));
    weir.client().send(weir_e2e::get("/")).read_to_end();
    weir.client().send([0x80; 64]).read_to_end();
    let (cert, key) = (stranger.certificate.display().to_string(), stranger.key.display().to_string());
    let other_ca = other_ca.display().to_string();
    let curls: [&[&str]; 4] =
        [&[], &["--cert", &cert, "--key", &key], &["--tls-max", "1.2"], &["--cacert", &other_ca]];
    for arguments in curls {
        assert!(!pki.curl(&weir, "a.example", arguments).status.success(), "{arguments:?}");
    }
    for rule in ["plain-http", "protocol", "no-certificate", "certificate", "nothing-in-common", "alert"] {
        let line = weir.wait_for_log(&format!("\"refused_by\":\"tls-{rule}\""));
        assert!(line.contains("\"kind\":\"bad-request\"") && line.contains("PR--"), "{line}");
        let label = format!("rule=\"tls-{rule}\"");
        assert_eq!(weir.metrics().get("weir_listener_refused_total", &[&label]), 1.0, "{rule}");
    }
    let failed = ["listener=\"web\"", "result=\"failed\""];
    assert_eq!(weir.metrics().get("weir_listener_tls_handshakes_total", &failed), 6.0);
    assert_eq!(weir.metrics().get("weir_listener_request_errors_total", &[]), 0.0);
}
