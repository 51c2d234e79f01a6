//! Tests against OpenSSL's command line tools and curl, if they are installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use weir_config::plan::TlsIn;
use weir_net::tls::ServerTls;

use super::support::{Await, Files, HTTP, listener, within};

fn is_installed(program: &str) -> bool {
    let found =
        Command::new(program).arg(if program == "curl" { "--version" } else { "version" }).output().is_ok();
    if !found {
        weir_testkit::untested(format_args!("{program} is not installed"));
    }
    found
}

/// Accepts one connection and echoes its lines.
async fn echo(
    server: Arc<ServerTls>,
    listener: tokio::net::TcpListener,
) -> (Option<&'static str>, bool, Vec<u8>) {
    let (accepted, _) = listener.accept().await.unwrap();
    let mut stream = server.accept(accepted).unwrap();
    stream.handshake().await.unwrap();
    let mut all = Vec::new();
    let mut buffer = [0; 10_000];
    while let Ok(count @ 1..) = stream.receive(&mut buffer).await {
        stream.send(&buffer[..count]).await.unwrap();
        all.extend_from_slice(&buffer[..count]);
    }
    let _ = stream.close().await;
    (stream.cipher(), stream.is_resumed(), all)
}

/// A process of OpenSSL, killed with the test.
struct OpenSsl {
    child: Child,
    input: Option<ChildStdin>,
}

impl OpenSsl {
    fn start(files: &Files, address: SocketAddr, arguments: &[&str]) -> Self {
        // Some output goes to stderr, and its order relative to the rest matters.
        let mut child = Command::new("sh")
            .args(["-c", "exec openssl \"$@\" 2>&1", "sh"])
            .args([
                "s_client",
                "-connect",
                &address.to_string(),
                "-servername",
                "localhost",
                "-verify_return_error",
            ])
            .arg("-CAfile")
            .arg(files.ca())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        Self { child, input }
    }

    /// Writes each of `lines` after the echo of the previous one, and returns all output.
    fn talk(mut self, lines: &[&str]) -> String {
        let mut output = String::new();
        let mut reader = BufReader::new(self.child.stdout.take().unwrap());
        for line in lines {
            self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
            let awaited = if ["k\n", "K\n"].contains(line) { "KEYUPDATE\n" } else { line };
            while !output.ends_with(awaited) {
                assert!(reader.read_line(&mut output).unwrap() > 0, "{output}");
            }
        }
        self.input = None;
        let _ = reader.read_to_string(&mut output);
        output
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn openssl_speaks_both_versions_and_every_cipher() {
    if !is_installed("openssl") {
        return;
    }
    let files = Files::new();
    for (arguments, cipher) in [
        (&["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"][..], "TLS_AES_128_GCM_SHA256"),
        (&["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"], "TLS_CHACHA20_POLY1305_SHA256"),
        (&["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384"], "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        (
            &["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"],
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        ),
    ] {
        let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
        let (listener, address) = listener().await;
        let client = OpenSsl::start(&files, address, arguments);
        let talk = tokio::task::spawn_blocking(move || client.talk(&["one\n", "two\n"]));
        let (seen, _, received) = within(echo(server, listener)).await;
        let output = within(talk).await.unwrap();
        assert_eq!(seen, Some(cipher), "{output}");
        assert_eq!(received, b"one\ntwo\n");
        assert!(output.contains("Verify return code: 0 (ok)"), "{output}");
    }
}

#[tokio::test]
async fn openssl_may_renew_its_keys_in_the_middle() {
    if !is_installed("openssl") {
        return;
    }
    let files = Files::new();
    let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
    let (listener, address) = listener().await;
    let client = OpenSsl::start(&files, address, &["-tls1_3"]);
    // `k` renews the client's key, `K` also requests a renewal of the server's (RFC 8446 section 4.6.3).
    let talk = tokio::task::spawn_blocking(move || {
        client.talk(&["one\n", "k\n", "two\n", "K\n", "three\n", "K\n", "four\n"])
    });
    let (_, _, received) = within(echo(server, listener)).await;
    let output = within(talk).await.unwrap();
    assert_eq!(String::from_utf8(received).unwrap(), "one\ntwo\nthree\nfour\n", "{output}");
}

#[tokio::test]
async fn openssl_resumes() {
    if !is_installed("openssl") {
        return;
    }
    let files = Files::new();
    for version in ["-tls1_2", "-tls1_3"] {
        let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
        let session = files.directory.path().join(format!("session{version}"));
        let session = session.to_str().unwrap();
        for (argument, expected) in [("-sess_out", false), ("-sess_in", true)] {
            let (listener, address) = listener().await;
            let client = OpenSsl::start(&files, address, &[version, argument, session]);
            let talk = tokio::task::spawn_blocking(move || client.talk(&["hello\n"]));
            let (_, resumed, _) = within(echo(Arc::clone(&server), listener)).await;
            let output = within(talk).await.unwrap();
            assert_eq!(resumed, expected, "{version} {output}");
        }
    }
}

#[tokio::test]
async fn openssls_server_is_a_server() {
    if !is_installed("openssl") {
        return;
    }
    let files = Files::new();
    let certificate = files.tls_in().certificates.remove(0);
    for version in ["-tls1_2", "-tls1_3"] {
        let mut child = Command::new("openssl")
            .args(["s_server", "-rev", version, "-accept", "127.0.0.1:0"])
            .arg("-cert")
            .arg(&certificate.certificate)
            .arg("-key")
            .arg(&certificate.key)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        let _child = OpenSsl { child, input: None };
        let mut says = says.lines().map(Result::unwrap);
        let address = says.find_map(|line| Some(line.strip_prefix("ACCEPT ")?.to_owned())).unwrap();
        let connector = files.connector();
        for resumed in [false, true] {
            within(async {
                let socket = tokio::net::TcpStream::connect(&address).await.unwrap();
                let mut stream = connector.connect(socket).unwrap();
                stream.handshake().await.unwrap();
                stream.send(b"stressed\n").await.unwrap();
                let mut buffer = [0; 100];
                let count = stream.receive(&mut buffer).await.unwrap();
                assert_eq!(&buffer[..count], b"desserts\n");
                assert_eq!(stream.is_resumed(), resumed, "{version}");
                stream.close().await.unwrap();
            })
            .await;
        }
    }
}

#[tokio::test]
async fn curl_fetches() {
    if !is_installed("curl") {
        return;
    }
    let files = Files::new();
    let plan = TlsIn { client_auth: Some(files.client_auth(true)), ..files.tls_in() };
    let me = files.issue("me", &weir_testkit::certificates::Request::names(&[]).common_name("me"));
    let server = ServerTls::load(&plan, HTTP).unwrap();
    let (listener, address) = listener().await;
    let body = vec![b'x'; 1_000_000];
    let curl = Command::new("curl")
        .args(["--silent", "--show-error", "--noproxy", "*", "--write-out", "%{http_version}"])
        .args(["--resolve", &format!("localhost:{}:127.0.0.1", address.port())])
        .arg("--cacert")
        .arg(files.ca())
        .arg("--cert")
        .arg(&me.certificate)
        .arg("--key")
        .arg(&me.key)
        .arg(format!("https://localhost:{}/", address.port()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let curl = tokio::task::spawn_blocking(move || curl.wait_with_output().unwrap());
    within(async {
        let (accepted, _) = listener.accept().await.unwrap();
        let mut stream = server.accept(accepted).unwrap();
        stream.handshake().await.unwrap();
        assert_eq!(stream.alpn(), Some(&b"http/1.1"[..]));
        assert_eq!(stream.server_name(), Some("localhost"));
        assert!(stream.peer_certificate().is_some());
        let mut request = vec![0; 4096];
        assert!(stream.receive(&mut request).await.unwrap() > 0);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.send(&[head.as_bytes(), &body].concat()).await.unwrap();
        stream.close().await.unwrap();
    })
    .await;
    let output = within(curl).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout == [&body[..], b"1.1"].concat());
}
