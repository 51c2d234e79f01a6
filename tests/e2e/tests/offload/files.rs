//! Tests of the files that clients get in place of a server's body.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use weir_e2e::Weir;
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{Ending, PATIENCE, RawServer, TempDir, wait_until};

use crate::{BODY, REDIRECT, Site, answering, config, head, request};

#[test]
fn the_client_gets_the_file_and_not_the_body_of_the_server() {
    let site = Site::new(REDIRECT);
    site.write("a/b.txt", "the file");
    let response = site.get("/a/b.txt");
    assert_eq!((response.status, response.text().as_str()), (200, "the file"));
    assert_eq!(response.header("accept-ranges"), Some("bytes"));
    assert_eq!(response.header("content-length"), Some("8"));
    assert!(response.header("etag").is_some() && response.header("last-modified").is_some());
    assert_eq!(response.header("x-accel-redirect"), None);

    let mut client = site.weir.client();
    let response = head(&mut client, "/a/b.txt");
    assert_eq!((response.status, response.header("content-length")), (200, Some("8")));
    // No body follows the head, so the connection is usable for the next request.
    assert_eq!(client.exchange(request("GET", "/a/b.txt", "")).text(), "the file");
}

#[test]
fn ranges_and_conditions_are_those_of_the_file() {
    let site = Site::new(REDIRECT);
    site.write("f", "0123456789");
    let range = |range: &str| site.get_with("/f", &format!("Range: bytes={range}\r\n"));
    let part = range("2-4");
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    assert_eq!(part.header("content-range"), Some("bytes 2-4/10"));
    let none = range("10-");
    assert_eq!((none.status, none.header("content-range")), (416, Some("bytes */10")));
    site.write("wide", "0123456789".repeat(1_000));
    let several = site.get_with("/wide", "Range: bytes=0-1,9997-\r\n");
    let kind = several.header("content-type").unwrap().to_owned();
    assert!(several.status == 206 && kind.starts_with("multipart/byteranges; boundary="), "{kind}");
    let text = several.text();
    assert!(
        text.contains("Content-Range: bytes 0-1/10000\r\n") && text.contains("\r\n\r\n789\r\n"),
        "{text}"
    );

    let whole = site.get("/f");
    let etag = whole.header("etag").unwrap();
    let known = site.get_with("/f", &format!("If-None-Match: {etag}\r\n"));
    assert_eq!((known.status, known.header("etag")), (304, Some(etag)));
    assert_eq!(site.get_with("/f", "If-Match: \"other\"\r\n").status, 412);
    let same = site.get_with("/f", &format!("Range: bytes=0-0\r\nIf-Range: {etag}\r\n"));
    assert_eq!((same.status, same.text().as_str()), (206, "0"));
    let other = site.get_with("/f", "Range: bytes=0-0\r\nIf-Range: \"other\"\r\n");
    assert_eq!((other.status, other.body.len()), (200, 10));
    // A failed condition is no failure of the server.
    assert_eq!(site.count("weir_pool_offloads_failed_total"), 0.0);
}

/// A server may switch back to an older file. A client with the newer file must get the older one.
#[test]
fn a_date_is_that_of_the_file_and_of_no_older_one() {
    let site = Site::new(REDIRECT);
    site.write("f", "0123456789");
    let modified = site.get("/f").header("last-modified").unwrap().to_owned();
    let since = |date: &str| site.get_with("/f", &format!("If-Modified-Since: {date}\r\n")).status;
    assert_eq!(since(&modified), 304);
    assert_eq!(since("Fri, 31 Dec 2100 23:59:59 GMT"), 200);
    assert_eq!(since("Thu, 01 Jan 1970 00:00:00 GMT"), 200);
}

#[test]
fn the_answer_to_another_method_is_the_whole_file() {
    let site = Site::new(REDIRECT);
    site.write("f", "0123456789");
    let lines = "Content-Length: 4\r\nRange: bytes=0-1\r\nIf-Match: \"other\"\r\n";
    let response = site.weir.client().exchange(format!("{}body", request("POST", "/f", lines)));
    assert_eq!((response.status, response.text().as_str()), (200, "0123456789"));
}

#[test]
fn a_large_sparse_file_arrives_whole_at_both_ends() {
    let site = Site::new(REDIRECT);
    let size = 3_000_000_000_u64;
    let file = File::create(site.root.path().join("large")).unwrap();
    file.set_len(size).unwrap();
    file.write_all_at(b"begin", 0).unwrap();
    file.write_all_at(b"end", size - 3).unwrap();
    let response = site.get_with("/large", &format!("Range: bytes=0-4,{}-\r\n", size - 3));
    let text = response.text();
    assert!(text.contains("\r\n\r\nbegin\r\n") && text.contains("\r\n\r\nend\r\n"), "{text}");
    let mut client = site.weir.client();
    assert_eq!(head(&mut client, "/large").header("content-length"), Some("3000000000"));
    // Ten megabytes, to check that the portions fit together.
    let content: Vec<u8> = (0..10_000_000_u32).map(|at| (at / 7) as u8).collect();
    site.write("ten", &content);
    assert!(client.exchange(request("GET", "/ten", "")).body == content);
}

#[test]
fn a_file_that_becomes_shorter_does_not_look_whole() {
    let site = Site::new(REDIRECT);
    let path = site.root.path().join("f");
    // Sparse, so that it uses no space.
    File::create(&path).unwrap().set_len(100_000_000).unwrap();
    let mut client = site.weir.client();
    client.send(request("GET", "/f", ""));
    client.read_exact(1);
    File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    let (_, ending) = client.read_to_end();
    assert_eq!(ending, Ending::Reset);
}

#[test]
fn connections_on_both_sides_carry_further_requests() {
    let site = Site::new(REDIRECT);
    site.write("f", "file");
    let mut client = site.weir.client();
    for _ in 0..20 {
        assert_eq!(client.exchange(request("GET", "/f", "")).text(), "file");
        assert_eq!(head(&mut client, "/f").status, 200);
    }
    assert_eq!(site.server.connections(), 1);
    // Two pipelined requests.
    client.send([request("GET", "/f", ""), request("GET", "/none", "")].concat());
    assert_eq!(client.final_response().text(), "file");
    assert_eq!(client.final_response().status, 404);
}

#[test]
fn a_long_body_costs_only_its_connection() {
    // A body that is too long to be read to its end.
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "file").unwrap();
    let server = RawServer::start(|peer| {
        loop {
            let Ok(_) = peer.request() else { return Ok(()) };
            let head = "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /internal/f\r\nContent-Length: 100000\r\n\r\nx";
            peer.send(head)?;
            peer.hold();
        }
    });
    let weir = Weir::start(&config(&server, root.path(), "", ""));
    let mut client = weir.client();
    assert_eq!(client.exchange(request("GET", "/f", "")).text(), "file");
    server.wait_for_end(0);
    assert_eq!(client.exchange(request("GET", "/f", "")).text(), "file");
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_short_body_that_comes_late_is_waited_for_beside_the_file() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "file").unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = RawServer::start(move |peer| {
        loop {
            let Ok(_) = peer.request() else { return Ok(()) };
            peer.send("HTTP/1.1 200 OK\r\nX-Accel-Redirect: /internal/f\r\nContent-Length: 3\r\n\r\na")?;
            let _ = wait.lock().unwrap().recv_timeout(PATIENCE);
            peer.send("bc")?;
        }
    });
    let weir = Weir::start(&config(&server, root.path(), "", ""));
    let mut client = weir.client();
    // The client has the file before the server has ended its body.
    assert_eq!(client.exchange(request("GET", "/f", "")).text(), "file");
    let idle = || weir.metrics().get("weir_server_connections", &["pool=\"web\"", "state=\"idle\""]);
    go.send(()).unwrap();
    // Either the connection is usable again or, on a very slow machine, it timed out.
    wait_until("the end of the body", PATIENCE, || idle() >= 1.0 || server.connections_open() == 0);
    go.send(()).unwrap();
    assert_eq!(client.exchange(request("GET", "/f", "")).text(), "file");
}

#[test]
fn a_chunked_body_is_thrown_away_as_well() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "file").unwrap();
    let server = RawServer::responding(|_| {
        b"HTTP/1.1 200 OK\r\nX-Accel-Redirect: /internal/f\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec()
    });
    let weir = Weir::start(&config(&server, root.path(), "", ""));
    let mut client = weir.client();
    for _ in 0..5 {
        assert_eq!(client.exchange(request("GET", "/f", "")).text(), "file");
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn over_tls_it_is_the_same_file() {
    let (root, files) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let authority = Authority::new("test authority");
    std::fs::write(files.path().join("ca.pem"), authority.pem()).unwrap();
    let issued = authority.issue(&Request::names(&["127.0.0.1"])).write_to(files.path(), "site");
    let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at / 5) as u8).collect();
    std::fs::write(root.path().join("f"), &content).unwrap();
    let server = answering(REDIRECT);
    let tls = format!(
        "[listener.web.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}\n",
        issued.certificate.display(),
        issued.key.display()
    );
    let weir = Weir::start(&format!("{}\n{tls}", config(&server, root.path(), "", "")));
    let got = files.path().join("got");
    let mut curl = std::process::Command::new("curl");
    curl.args(["-sS", "--max-time", "60", "--cacert"]).arg(files.path().join("ca.pem")).arg("-o").arg(&got);
    let output = curl.arg(format!("https://{}/f", weir.addr("web"))).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(std::fs::read(got).unwrap() == content);
}

#[test]
fn a_limited_rate_is_kept() {
    let site = Site::new(&format!("{REDIRECT}X-Accel-Limit-Rate: 20000\r\n"));
    site.write("f", vec![b'x'; 30_000]);
    let started = Instant::now();
    assert_eq!(site.get("/f").body.len(), 30_000);
    // The bytes of the first 0.1 s are sent at once, the rest at the rate.
    assert!(started.elapsed() >= Duration::from_millis(1_300), "{:?}", started.elapsed());
    // A body shorter than that is sent without waiting, as is one without a limit. Check only that they
    // arrive.
    site.write("short", "short");
    assert_eq!(site.get("/short").text(), "short");
}

#[test]
fn a_storage_area_is_a_location_too_and_its_rules_are_not_asked() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "in the area").unwrap();
    let server = answering("X-Accel-Redirect: /area{target}\r\n");
    let config = format!(
        "{}\n[[pool.web.offload.location]]\nprefix = \"/area\"\nstorage-area = \"data\"\n[storage-area.data]\nroot = \"{}\"\n",
        weir_e2e::web(&[server.addr()]),
        root.path().display()
    );
    let weir = Weir::start(&config);
    assert_eq!(weir.client().exchange(request("GET", "/f", "")).text(), "in the area");
}

#[test]
fn a_response_that_names_no_file_passes_as_ever() {
    let site = Site::new("X-Accel-Buffering: no\r\nX-Accel-Expires: 10\r\nEtag: \"own\"\r\n");
    let response = site.get("/f");
    assert_eq!((response.status, response.text().as_str()), (200, BODY));
    assert_eq!(response.header("etag"), Some("\"own\""));
    assert!(response.headers.iter().all(|(name, _)| !name.to_lowercase().starts_with("x-accel")));
}
