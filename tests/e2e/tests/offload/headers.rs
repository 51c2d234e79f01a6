//! Tests of the server's response headers that are sent with the file.

use std::sync::{Mutex, mpsc};

use weir_e2e::Weir;
use weir_testkit::{RawServer, TempDir, pattern};

use crate::{REDIRECT, Site, answering, config, request};

#[test]
fn what_the_server_says_of_client_and_content_passes_and_the_rest_does_not() {
    let site = Site::new(&format!(
        "{REDIRECT}Content-Type: application/x-run\r\nContent-Disposition: attachment; filename=\"r\"\r\n\
         Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nCache-Control: private\r\nExpires: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         Digest: adler32=11e60398\r\nRepr-Digest: sha-256=:AA==:\r\nETag: \"server\"\r\n\
         Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Encoding: gzip\r\nX-Other: x\r\nServer: s\r\n\
         Content-Range: bytes 0-1/2\r\n"
    ));
    site.write("f.txt", "file");
    let response = site.get("/f.txt");
    assert_eq!(response.text(), "file");
    for (name, value) in [
        ("content-type", Some("application/x-run")),
        ("content-disposition", Some("attachment; filename=\"r\"")),
        ("cache-control", Some("private")),
        ("expires", Some("Thu, 01 Jan 1970 00:00:00 GMT")),
        ("digest", Some("adler32=11e60398")),
        ("repr-digest", Some("sha-256=:AA==:")),
        ("content-encoding", None),
        ("content-range", None),
        ("x-other", None),
        ("content-length", Some("4")),
    ] {
        assert_eq!(response.header(name), value, "{name}");
    }
    assert_eq!(response.header_values("set-cookie"), ["a=1", "b=2"]);
    assert_ne!(response.header("etag"), Some("\"server\""));
    assert_ne!(response.header("last-modified"), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
    // A 304 has the headers for the client, but none about the content.
    let etag = response.header("etag").unwrap();
    let known = site.get_with("/f.txt", &format!("If-None-Match: {etag}\r\n"));
    assert_eq!((known.status, known.header("cache-control")), (304, Some("private")));
    assert_eq!((known.header("content-disposition"), known.header("digest")), (None, None));
}

#[test]
fn what_the_server_says_of_its_client_goes_with_refusals_as_well() {
    let lines = "Set-Cookie: a=1\r\nCache-Control: public, max-age=60\r\nExpires: Thu, 01 Jan 2099 00:00:00 GMT\r\n\
                 Vary: Cookie\r\nAccess-Control-Allow-Origin: *\r\nContent-Disposition: attachment\r\n";
    let site = Site::new(&format!("{REDIRECT}{lines}"));
    site.write("f", "0123");
    site.write("d/f", "file");
    let elsewhere = Site::new(&format!("X-Accel-Redirect: /elsewhere\r\n{lines}"));
    for (response, status, age) in [
        (site.get_with("/f", "If-Match: \"other\"\r\n"), 412, "public, max-age=60"),
        (site.get_with("/f", "Range: bytes=9-\r\n"), 416, "public, max-age=60"),
        // The file should exist, so the 404 must not be cached.
        (site.get("/none"), 404, "no-store"),
        (site.get("/d"), 403, "no-store"),
        (elsewhere.get("/f"), 404, "no-store"),
    ] {
        assert_eq!(response.status, status);
        for (name, value) in [
            ("cache-control", Some(age)),
            ("set-cookie", Some("a=1")),
            ("vary", Some("Cookie")),
            ("access-control-allow-origin", Some("*")),
            ("content-disposition", None),
        ] {
            assert_eq!(response.header(name), value, "{name} of {status}");
        }
        assert_eq!(response.header("expires").is_some(), age != "no-store", "{status}");
    }
}

#[test]
fn a_type_that_the_server_does_not_say_is_that_of_the_name() {
    let site = Site::new(&format!("{REDIRECT}X-Accel-Charset: koi8-r\r\n"));
    site.write("a.html", "a");
    site.write("a.png", "b");
    assert_eq!(site.get("/a.html").header("content-type"), Some("text/html; charset=koi8-r"));
    assert_eq!(site.get("/a.png").header("content-type"), Some("image/png"));
}

#[test]
fn a_server_may_forbid_parts() {
    let site = Site::new(&format!("{REDIRECT}Accept-Ranges: none\r\n"));
    site.write("f", "0123");
    let response = site.get_with("/f", "Range: bytes=0-1\r\n");
    assert_eq!((response.status, response.text().as_str()), (200, "0123"));
    assert_eq!(response.header("accept-ranges"), Some("none"));
}

#[test]
fn digests_that_a_client_wants_are_told() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "hello").unwrap();
    let server = answering("X-Accel-Redirect: /area{target}\r\n");
    let config = format!(
        "{}\n[[pool.web.offload.location]]\nprefix = \"/area\"\nstorage-area = \"data\"\n[storage-area.data]\nroot = \"{}\"\n",
        weir_e2e::web(&[server.addr()]),
        root.path().display()
    );
    let weir = Weir::start(&config);
    let response = weir.client().exchange(request("GET", "/f", "Want-Digest: adler32\r\n"));
    assert_eq!((response.text().as_str(), response.header("digest")), ("hello", Some("adler32=062c0215")));
}

/// In a read-only directory, digests cannot be stored. Computing them would read the whole file for each
/// request.
#[test]
fn digests_of_a_plain_directory_are_not_computed() {
    let site = Site::new(REDIRECT);
    site.write("f", "hello");
    for wanted in ["Want-Digest: adler32\r\n", "Want-Repr-Digest: sha-256=5\r\n"] {
        let response = site.get_with("/f", wanted);
        assert_eq!(response.text(), "hello");
        assert_eq!((response.header("digest"), response.header("repr-digest")), (None, None));
    }
    let names: Vec<_> =
        std::fs::read_dir(site.root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
}

#[test]
fn a_body_that_is_not_to_be_buffered_is_passed_on_while_its_server_pauses() {
    const PART_BYTES: usize = 100_000;
    const PARTS: usize = 20;
    let content = pattern(PART_BYTES * PARTS);
    let (go, waits) = mpsc::channel::<()>();
    let (sent, waits) = (content.clone(), Mutex::new(waits));
    // Large enough for batches. Each part is sent when the client has the previous one.
    let server = RawServer::start(move |peer| {
        peer.request()?;
        let length = sent.len();
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nX-Accel-Buffering: no\r\n\r\n"))?;
        for part in sent.chunks(PART_BYTES) {
            peer.send(part)?;
            let _ = waits.lock().unwrap().recv();
        }
        Ok(())
    });
    let root = TempDir::new().unwrap();
    let weir = Weir::start(&config(&server, root.path(), "", ""));
    let mut client = weir.client();
    client.send(request("GET", "/events", ""));
    let head = client.response_head();
    assert_eq!((head.status, head.header("x-accel-buffering")), (200, None));
    for part in content.chunks(PART_BYTES) {
        assert!(client.read_exact(PART_BYTES) == part);
        go.send(()).unwrap();
    }
}
