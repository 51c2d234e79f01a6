//! Tests of file names: permitted names and their encoding.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::{BODY, REDIRECT, Site, answering, config, request};
use weir_e2e::Weir;
use weir_testkit::TempDir;

#[test]
fn names_are_decoded_once() {
    let site = Site::new(REDIRECT);
    site.write("a b", "a space");
    site.write("a%20b", "a percent sign");
    site.write("caf\u{e9}", "UTF-8");
    std::fs::write(site.root.path().join(OsStr::from_bytes(b"caf\xe9")), "Latin-1").unwrap();
    assert_eq!(site.get("/a%20b").text(), "a space");
    assert_eq!(site.get("/a%2520b").text(), "a percent sign");
    assert_eq!(site.get("/caf%C3%A9").text(), "UTF-8");
    assert_eq!(site.get("/caf%E9").text(), "Latin-1");
    assert_eq!(site.get("/a%20b?x=/other").text(), "a space");
}

#[test]
fn names_may_come_as_they_are_where_the_config_says_so() {
    let site = Site::with("", "percent-encoded = false", "X-Accel-Redirect: /internal/a%20b?c#d\r\n");
    site.write("a%20b?c#d", "as it is");
    site.write("a b", "wrong");
    assert_eq!(site.get("/").text(), "as it is");
}

#[test]
fn a_server_that_speaks_as_storm_webdav_does_is_offloaded() {
    // StoRM WebDAV sends an absolute path behind a prefix, without encoding.
    let root = TempDir::new().unwrap();
    for name in ["a b", "100%25", "caf\u{e9}"] {
        std::fs::write(root.path().join(name), name).unwrap();
    }
    let path = root.path().to_owned();
    let server = weir_testkit::RawServer::responding(move |message| {
        let head = String::from_utf8_lossy(&message.head).into_owned();
        let name = match head.split(' ').nth(1).unwrap() {
            "/sa/a%20b" => "a b",
            "/sa/100%2525" => "100%25",
            _ => "caf\u{e9}",
        };
        let body = if head.starts_with("HEAD") { "" } else { "0\r\n\r\n" };
        format!(
            "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /.storm-webdav/internal/get{}/{name}\r\nDigest: adler32=00000001\r\n\
             Accept-Ranges: bytes\r\nTransfer-Encoding: chunked\r\n\r\n{body}",
            path.display()
        )
        .into_bytes()
    });
    let config = format!(
        "{}\n[[pool.web.offload.location]]\nprefix = \"/.storm-webdav/internal/get{root}\"\nroot = \"{root}\"\npercent-encoded = false\n",
        weir_e2e::web(&[server.addr()]),
        root = root.path().display()
    );
    let weir = Weir::start(&config);
    let mut client = weir.client();
    for (target, name) in [("/sa/a%20b", "a b"), ("/sa/100%2525", "100%25"), ("/sa/caf%C3%A9", "caf\u{e9}")] {
        let response = client.exchange(request("GET", target, ""));
        assert_eq!((response.status, response.text().as_str()), (200, name));
        assert_eq!(response.header("digest"), Some("adler32=00000001"));
        let part = client.exchange(request("GET", target, "Range: bytes=1-1\r\n"));
        assert_eq!((part.status, part.body.as_slice()), (206, &name.as_bytes()[1..2]));
        let length = name.len().to_string();
        assert_eq!(crate::head(&mut client, target).header("content-length"), Some(length.as_str()));
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn no_name_leads_out_of_its_location() {
    let directory = TempDir::new().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::write(directory.path().join("secret"), "secret").unwrap();
    std::fs::write(root.join("f"), "file").unwrap();
    symlink("../secret", root.join("out")).unwrap();
    symlink("/etc/passwd", root.join("absolute")).unwrap();
    symlink("f", root.join("inside")).unwrap();
    for (uri, status) in [
        ("/internal/f", 200),
        ("/internal//sub/%66", 404),
        ("/internal/inside", 200),
        ("/internal/out", 403),
        ("/internal/absolute", 403),
        ("/internal/../secret", 404),
        ("/internal/%2e%2e/secret", 404),
        ("/internal/sub/..%2f..%2fsecret", 404),
        ("/internal/sub/../../secret", 404),
        ("/internal/..%00/secret", 404),
        ("/internal/f%", 404),
        ("/internal/none", 404),
        ("/internal/sub", 403),
        ("/internal/sub/", 403),
        ("/internal/f/", 404),
        ("/internal", 403),
        ("/internalf", 404),
        ("/other/f", 404),
        ("f", 404),
        ("@named", 404),
        ("http://a.example/internal/f", 404),
        ("/f", 404),
    ] {
        let server = answering(&format!("X-Accel-Redirect: {uri}\r\n"));
        let weir = Weir::start(&config(&server, &root, "", "symlinks = \"inside-root\""));
        let response = weir.client().exchange(request("GET", "/", ""));
        assert_eq!(response.status, status, "{uri}");
        let text = response.text();
        assert!(!text.contains("secret") && !text.contains(BODY), "{uri}: {text}");
    }
}

#[test]
fn links_are_followed_as_the_location_says() {
    let site = Site::new(REDIRECT);
    site.write("f", "file");
    symlink("f", site.root.path().join("link")).unwrap();
    assert_eq!(site.get("/f").status, 200);
    assert_eq!(site.get("/link").status, 403);
}

#[test]
fn paths_count_only_where_they_are_accepted_and_below_a_root() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a%20b"), "by its path").unwrap();
    let path = format!("X-Sendfile: {}{{target}}\r\n", root.path().display());
    let server = answering(&path);
    let weir = Weir::start(&config(&server, root.path(), "x-sendfile = true", ""));
    let mut client = weir.client();
    assert_eq!(client.exchange(request("GET", "/a%20b", "")).text(), "by its path");
    // A path above the root is refused before the server gets it.
    assert_eq!(client.exchange(request("GET", "/../x", "")).status, 400);
    let server = answering("X-Sendfile: /etc/passwd\r\n");
    let weir = Weir::start(&config(&server, root.path(), "x-sendfile = true", ""));
    assert_eq!(weir.client().exchange(request("GET", "/", "")).status, 404);
    // Without the key, the header has no effect and is removed.
    let server = answering(&path);
    let weir = Weir::start(&config(&server, root.path(), "", ""));
    let response = weir.client().exchange(request("GET", "/a%20b", ""));
    assert_eq!((response.text().as_str(), response.header("x-sendfile")), (BODY, None));
}

#[test]
fn a_pool_that_has_not_opted_in_names_nothing() {
    let server = answering(
        "X-Accel-Redirect: /internal/f\r\nX-Sendfile: /etc/passwd\r\nX-Accel-Foo: x\r\nKept: y\r\n",
    );
    let weir = Weir::start(&weir_e2e::web(&[server.addr()]));
    let response = weir.client().exchange(request("GET", "/f", ""));
    assert_eq!((response.status, response.text().as_str()), (200, BODY));
    let names: Vec<_> = response.headers.iter().map(|(name, _)| name.to_lowercase()).collect();
    assert!(names.contains(&"kept".to_owned()));
    assert!(
        !names.iter().any(|name| name.starts_with("x-accel") || name.starts_with("x-sendfile")),
        "{names:?}"
    );
}

#[test]
fn a_client_can_name_nothing() {
    let site = Site::new("");
    site.write("f", "file");
    let lines = "X-Accel-Redirect: /internal/f\r\nX-Sendfile: /etc/passwd\r\nX-Sendfile-Type: X-Accel-Redirect\r\n\
                 X-Accel-Mapping: /=/internal/\r\nX_Sendfile_Type: X-Sendfile\r\n";
    assert_eq!(site.get_with("/f", lines).text(), BODY);
    // These request headers are for the operator's proxies, so those of clients are removed.
    let received = String::from_utf8_lossy(&site.server.received(0)).to_lowercase();
    assert!(!received.contains("accel") && !received.contains("sendfile"), "{received}");
    assert_eq!(site.get("/internal/f").text(), BODY);
}

#[test]
fn a_refusal_stays_one_whatever_it_names() {
    for status in ["403 Forbidden", "404 Not Found", "302 Found", "500 Oh"] {
        let site = Site::new(&format!("HTTP/1.1 {status}\r\n{REDIRECT}"));
        site.write("f", "file");
        let response = site.get("/f");
        assert_eq!(response.status.to_string(), status[..3]);
        assert_eq!((response.text().as_str(), response.header("x-accel-redirect")), (BODY, None));
    }
}
