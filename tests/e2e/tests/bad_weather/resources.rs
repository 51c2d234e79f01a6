//! Tests of connection limits, a full disk and expired certificates.

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawClient, RawServer, wait_until};

#[test]
fn over_the_limit_of_connections_a_client_is_told_at_once() {
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]).replace("pool = \"web\"\n", "pool = \"web\"\nmax-connections = 3\n");
    let weir = Weir::start(&config);
    let mut inside: Vec<RawClient> = (0..3).map(|_| weir.client()).collect();
    for client in &mut inside {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    for _ in 0..5 {
        let mut client = weir.client();
        // Weir may respond and close before the request is sent, so sending may fail.
        let _ = client.try_send(get("/"));
        assert_eq!(client.response().status, 503);
    }
    for client in &mut inside {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    drop(inside);
    wait_until("a place is free again", PATIENCE, || {
        let mut client = weir.client();
        let _ = client.try_send(get("/"));
        client.try_response().is_ok_and(|response| response.status == 200)
    });
}

#[test]
fn a_log_on_a_full_disk_costs_no_request() {
    let server = RawServer::answering("hi");
    // Every write to /dev/full fails with ENOSPC.
    let config = format!("{}[access-log]\nto = \"/dev/full\"\n", web(&[server.addr()]));
    let weir = Weir::start(&config);
    let mut client = weir.client();
    for _ in 0..500 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    assert!(weir_testkit::rss_bytes(weir.pid()) < 200 << 20);
}

#[test]
fn a_log_whose_reader_is_stuck_costs_no_request() {
    let server = RawServer::answering("hi");
    let launcher = Weir::launcher("");
    let pipe = launcher.directory().join("log.pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Opened for reading and writing, so that opening does not block and the pipe keeps a reader. The test
    // never reads.
    let _held = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let config = format!("{}[access-log]\nto = \"{}\"\n", web(&[server.addr()]), pipe.display());
    let weir = launcher.config(&config).start();
    let mut client = weir.client();
    // Far more lines than the pipe holds.
    for _ in 0..3000 {
        assert_eq!(client.exchange(get("/some/path/that/makes/the/line/longer")).status, 200);
    }
}

#[test]
fn a_certificate_that_has_expired_is_still_served_and_a_new_one_is_taken_without_a_restart() {
    use weir_testkit::certificates::{Authority, Request};
    let authority = Authority::new("test authority");
    let expired = authority.issue(&Request::names(&["a.example"]).expired());
    let server = RawServer::answering("hi");
    let launcher = Weir::launcher("");
    let pem = launcher.directory().join("site.pem");
    let write = |issued: &weir_testkit::certificates::Issued| {
        std::fs::write(&pem, format!("{}{}", issued.certificate_pem, issued.key_pem)).unwrap();
    };
    write(&expired);
    let ca = launcher.directory().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let config = format!(
        "{}[listener.web.tls]\ncertificates = \"{}\"\nreload-interval = \"50ms\"\n",
        web(&[server.addr()]),
        pem.display()
    );
    let weir = launcher.config(&config).start();
    let port = weir.addr("web").port();
    let curl = |more: &[&str]| {
        let mut curl = std::process::Command::new("curl");
        curl.args(["-sS", "--max-time", "10", "--resolve", &format!("a.example:{port}:127.0.0.1")]);
        curl.arg("--cacert").arg(&ca).args(more).arg(format!("https://a.example:{port}/"));
        let output = curl.output().unwrap();
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    // The client decides: curl checks the certificate, with `--insecure` it does not.
    let (body, error) = curl(&[]);
    assert!(body.is_empty() && error.contains("expired"), "{body:?} {error:?}");
    assert_eq!(curl(&["--insecure"]).0, "hi");
    write(&authority.issue(&Request::names(&["a.example"])));
    wait_until("the new certificate is used", PATIENCE, || curl(&[]).0 == "hi");
}

#[test]
fn over_the_limit_of_the_process_a_tcp_client_is_reset_and_an_http_client_told() {
    let server = RawServer::answering("hi");
    let config = format!(
        "{}[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"web\"\n\n[weir]\nmax-connections = 2\n",
        web(&[server.addr()])
    );
    let weir = Weir::start(&config);
    let mut inside = [weir.client(), RawClient::connect(weir.addr("db"))];
    for client in &mut inside {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    let mut http = weir.client();
    let _ = http.try_send(get("/"));
    assert_eq!(http.response().status, 503);
    if let Ok(mut tcp) = RawClient::try_connect(weir.addr("db")) {
        let _ = tcp.try_send(get("/"));
        assert_eq!(tcp.ending(), weir_testkit::Ending::Reset);
    }
}
