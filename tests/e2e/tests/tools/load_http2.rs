//! Tests `weir load` over HTTP/2 against other servers: NGINX, with TLS and without, and nghttpd.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};

use serde_json::Value;
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{Child, PATIENCE, TempDir, wait_until};

use crate::tool;

/// Server that listens, and its files.
struct Server {
    address: SocketAddr,
    directory: TempDir,
    _child: Child,
}

impl Server {
    /// Starts the server that `command` returns for a port and a directory. Tries another port if another
    /// process takes the first one.
    #[track_caller]
    fn start(command: impl Fn(u16, &TempDir) -> Command) -> Self {
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            let directory = TempDir::new().unwrap();
            std::fs::write(directory.path().join("file"), vec![b'x'; 300_000]).unwrap();
            // The server's workers must be able to read the directory, also if root runs the test.
            let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(directory.path(), everybody).unwrap();
            let mut child = Child::spawn(command(address.port(), &directory));
            let mut is_over = false;
            wait_until("the server listens", PATIENCE, || {
                is_over = child.is_over();
                is_over || TcpStream::connect(address).is_ok()
            });
            if !is_over {
                return Self { address, directory, _child: child };
            }
        }
        panic!("ten ports were taken by others");
    }

    /// Starts NGINX. `listen` follows its address, `more` is added to its server block.
    fn nginx(listen: &str, more: &str) -> Self {
        Self::start(|port, directory| {
            let issued = Authority::new("Test CA").issue(&Request::names(&["localhost"]));
            let files = issued.write_to(directory.path(), "server");
            let (here, certificate, key) =
                (directory.path().display(), files.certificate.display(), files.key.display());
            let config = format!(
                "daemon off; pid {here}/pid; error_log stderr; worker_processes 1; master_process off;\n\
                 events {{}}\n\
                 http {{ access_log off; client_body_temp_path {here}/b; proxy_temp_path {here}/p; fastcgi_temp_path {here}/f;\n\
                 uwsgi_temp_path {here}/u; scgi_temp_path {here}/s; client_max_body_size 0;\n\
                 server {{ listen unix:{here}/behind; return 200 taken; }}\n\
                 server {{ listen 127.0.0.1:{port} {listen}; root {here}; ssl_certificate {certificate};\n\
                 ssl_certificate_key {key}; {more} location /up {{ proxy_pass http://unix:{here}/behind; }} }} }}\n"
            );
            let file = directory.path().join("nginx.conf");
            std::fs::File::create(&file).unwrap().write_all(config.as_bytes()).unwrap();
            let mut command = tool::command("nginx");
            command.arg("-c").arg(&file).arg("-e").arg("stderr");
            command
        })
    }

    /// Returns the JSON report of `weir load` for requests over HTTP/2 to a path.
    #[track_caller]
    fn load(&self, scheme: &str, path: &str, arguments: &[&str]) -> Value {
        let mut command = Command::new(weir_e2e::program());
        command.args(["load", "--http2", "--insecure", "--json"]).args(arguments);
        command.arg(format!("{scheme}://{}{path}", self.address));
        json(&tool::finish(command))
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|cause| panic!("{cause}: {}", tool::text(output)))
}

#[track_caller]
fn assert_all_well(summary: &Value, requests: u64, bytes: u64) {
    assert_eq!(summary["requests"]["succeeded"], requests, "{summary}");
    assert_eq!(summary["bytes"]["bodies_in"], requests * bytes, "{summary}");
    assert_eq!(summary["faults"], serde_json::json!([]), "{summary}");
}

/// Sends requests in a closed loop, in an open loop, in sessions, and with bodies.
fn ask_in_every_way(server: &Server, scheme: &str) {
    let closed = ["-c", "2", "--streams", "10", "-n", "400"];
    let summary = server.load(scheme, "/file", &closed);
    assert_all_well(&summary, 400, 300_000);
    assert_eq!(summary["facts"]["connections"], 2, "{summary}");
    let open = server.load(scheme, "/file", &["--rate", "200", "-n", "100"]);
    assert_all_well(&open, 100, 300_000);
    assert_eq!(open["asked"]["streams"], 100);
    let sessions = server.load(scheme, "/file", &["--rate", "50", "-n", "10", "--calls", "4"]);
    assert_all_well(&sessions, 40, 300_000);
    assert_eq!(sessions["facts"]["connections"], 10, "{sessions}");
}

#[test]
fn nginx_is_asked_over_http_2_with_tls() {
    let server = Server::nginx("ssl http2", "");
    ask_in_every_way(&server, "https");
    let put = ["-c", "2", "--streams", "5", "-n", "40", "-m", "PUT", "--body-size", "700001"];
    let summary = server.load("https", "/up", &put);
    assert_all_well(&summary, 40, "taken".len() as u64);
    assert!(summary["bytes"]["out"].as_u64().unwrap() > 40 * 700_001);
}

#[test]
fn nginx_is_asked_over_http_2_without_tls() {
    let server = Server::nginx("http2", "");
    ask_in_every_way(&server, "http");
}

#[test]
fn nginx_that_allows_few_streams_gets_no_more() {
    let server = Server::nginx("http2", "http2_max_concurrent_streams 3;");
    for loop_of in [&["-c", "2"][..], &["--rate", "400"]] {
        let summary = server.load("http", "/file", &[loop_of, &["--streams", "20", "-n", "200"]].concat());
        assert_all_well(&summary, 200, 300_000);
        assert_eq!(summary["facts"]["streams_allowed"], 3, "{summary}");
    }
}

#[test]
fn nginx_that_ends_its_connections_loses_nothing() {
    let server = Server::nginx("http2", "keepalive_requests 7;");
    let summary = server.load("http", "/file", &["-c", "2", "-n", "100"]);
    assert_all_well(&summary, 100, 300_000);
    assert!(summary["facts"]["connections"].as_u64().unwrap() >= 14, "{summary}");
}

#[test]
fn nginx_that_speaks_only_http_1_is_told() {
    for (listen, scheme) in [("ssl", "https"), ("", "http")] {
        let summary = Server::nginx(listen, "").load(scheme, "/file", &["-c", "1", "-n", "3"]);
        let said = serde_json::json!([["the server does not speak HTTP/2", 3]]);
        assert_eq!(summary["faults"], said, "{scheme}: {summary}");
    }
}

#[test]
fn nghttpd_is_asked_over_http_2_without_tls() {
    let server = Server::start(|port, directory| {
        let mut command = tool::command("nghttpd");
        command.args(["--no-tls", "-d"]).arg(directory.path()).arg(port.to_string());
        command
    });
    ask_in_every_way(&server, "http");
    assert!(server.directory.path().join("file").is_file());
}
