//! Tests of uploads with PUT and PATCH.

use weir_testkit::{PATIENCE, TempDir, wait_until};

use crate::{OPEN, Site, config, message, pattern};
use weir_e2e::Weir;

/// Returns the names in the root, including Weir's temporary files, but not `.weir-store`.
fn names(site: &Site) -> Vec<String> {
    let entries = std::fs::read_dir(site.root.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != ".weir-store");
    names.sort();
    names
}

#[test]
fn an_upload_makes_a_file_and_the_next_one_replaces_it() {
    let site = Site::open("");
    let content = pattern(3_000_000);
    let made = site.put("/a.bin", &[], &content);
    assert_eq!(made.status, 201);
    assert!(site.read("a.bin").unwrap() == content);
    let etag = made.header("etag").unwrap().to_owned();
    assert_eq!(site.get("/a.bin").header("etag"), Some(etag.as_str()));
    let replaced = site.put("/a.bin", &[], b"short");
    assert_eq!(replaced.status, 204);
    assert_ne!(replaced.header("etag"), Some(etag.as_str()));
    assert_eq!(site.read("a.bin").unwrap(), b"short");
    assert_eq!(site.put("/empty", &[], b"").status, 201);
    assert_eq!(names(&site), ["a.bin", "empty"]);
}

#[test]
fn every_framing_and_keep_alive_after_each() {
    let site = Site::open("");
    let mut client = site.weir.client();
    for size in [0, 1, 4095, 4096, 65_536, 524_287, 524_288, 524_289, 1_048_576, 5_000_000] {
        let content = pattern(size);
        client.send(message("PUT", "/length", &[], &content));
        assert!(matches!(client.response().status, 201 | 204), "{size}");
        assert!(site.read("length").unwrap() == content, "{size}");

        client.send("PUT /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        for chunk in content.chunks(70_000) {
            client.send(format!("{:x}\r\n", chunk.len())).send(chunk).send("\r\n");
        }
        client.send("0\r\n\r\n");
        assert!(matches!(client.response().status, 201 | 204), "{size}");
        assert!(site.read("chunks").unwrap() == content, "{size}");
    }
    client.send(message("GET", "/length", &[], b""));
    assert_eq!(client.response().body.len(), 5_000_000);
}

#[test]
fn a_client_that_asks_first_is_told_to_go_on_or_spared_the_transfer() {
    let site = Site::open("");
    let mut client = site.weir.client();
    client.send("PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.response_head().status, 100);
    client.send("hello");
    assert_eq!(client.response().status, 201);
    assert_eq!(site.read("a").unwrap(), b"hello");
    client.send(
        "PUT /no/such/directory HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
    );
    let refused = client.response();
    assert_eq!((refused.status, refused.says_close()), (409, true));
}

#[test]
fn what_does_not_have_its_digest_is_not_stored() {
    let site = Site::open("");
    site.write("a", "old");
    for (header, value) in [
        ("Digest", "adler32=00000001"),
        ("Digest", "md5=AAAAAAAAAAAAAAAAAAAAAA=="),
        ("Repr-Digest", "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"),
        ("Digest", "adler32=zz"),
    ] {
        let refused = site.put("/a", &[(header, value)], b"Wikipedia");
        assert_eq!(refused.status, 400, "{header}: {value}");
        assert_eq!(site.read("a").unwrap(), b"old", "{header}: {value}");
    }
    let made = site.put("/b", &[("Digest", "adler32=11e60398, unknown=1")], b"Wikipedia");
    assert_eq!(made.status, 201);
    assert!(made.header("digest").unwrap().contains("adler32=11e60398"));
    assert_eq!(names(&site), ["a", "b"]);
}

#[test]
fn an_interrupted_upload_leaves_the_old_content_and_nothing_else() {
    let site = Site::open("");
    site.write("a", "old content");
    let mut client = site.weir.client();
    client.send("PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n").send(pattern(2_000_000));
    // The upload has created its temporary file.
    wait_until("the upload begins", PATIENCE, || names(&site).len() == 2);
    client.reset();
    wait_until("its traces are gone", PATIENCE, || names(&site) == ["a"]);
    assert_eq!(site.read("a").unwrap(), b"old content");

    let mut client = site.weir.client();
    client.send("PUT /new HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    wait_until("the upload begins", PATIENCE, || names(&site).len() == 2);
    client.send("no chunk\r\n");
    assert_eq!(client.response().status, 400);
    wait_until("its traces are gone", PATIENCE, || names(&site) == ["a"]);
}

#[test]
fn conditions_keep_clients_from_overwriting_each_other() {
    let site = Site::open("");
    let made = site.put("/a", &[("If-None-Match", "*")], b"first");
    assert_eq!(made.status, 201);
    assert_eq!(site.put("/a", &[("If-None-Match", "*")], b"second").status, 412);
    let etag = made.header("etag").unwrap();
    assert_eq!(site.put("/a", &[("If-Match", etag)], b"third").status, 204);
    assert_eq!(site.put("/a", &[("If-Match", etag)], b"fourth").status, 412);
    assert_eq!(site.read("a").unwrap(), b"third");
    assert_eq!(site.put("/b", &[("If-Match", "*")], b"x").status, 412);
}

#[test]
fn a_part_is_put_into_a_file_as_a_whole() {
    let site = Site::open("");
    site.write("a", "0123456789");
    assert_eq!(site.put("/a", &[("Content-Range", "bytes 3-5/10")], b"abc").status, 204);
    assert_eq!(site.read("a").unwrap(), b"012abc6789");
    assert_eq!(site.put("/a", &[("Content-Range", "bytes 10-12/*")], b"end").status, 204);
    assert_eq!(site.read("a").unwrap(), b"012abc6789end");
    for range in ["bytes 3-5/10", "bytes 100-103/*", "lines 1-4/5", "bytes */10", "nonsense"] {
        assert_eq!(site.put("/a", &[("Content-Range", range)], b"abcd").status, 400, "{range}");
    }
    // The file is longer than the length that the client gave.
    assert_eq!(site.put("/a", &[("Content-Range", "bytes 3-5/10")], b"abc").status, 400);
    // The body is longer or shorter than announced.
    for chunks in ["4\r\nabcd\r\n0\r\n\r\n", "2\r\nab\r\n0\r\n\r\n"] {
        let mut client = site.weir.client();
        client.send(
            "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Range: bytes 3-5/*\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        assert_eq!(client.send(chunks).final_response().status, 400, "{chunks:?}");
    }
    assert_eq!(site.read("a").unwrap(), b"012abc6789end");
    // Content-Digest is of the part, Repr-Digest of the file.
    let part =
        |digest: (&str, &str)| site.put("/a", &[("Content-Range", "bytes 0-2/*"), digest], b"abc").status;
    let (of_part, of_file) = ("adler=:Ak0BJw==:", "adler=:H1YEYg==:");
    assert_eq!(part(("Content-Digest", of_file)), 400);
    assert_eq!(part(("Repr-Digest", of_part)), 400);
    assert_eq!(site.read("a").unwrap(), b"012abc6789end");
    assert_eq!(part(("Repr-Digest", of_file)), 204);
    assert_eq!(part(("Content-Digest", of_part)), 204);
    assert_eq!(site.read("a").unwrap(), b"abcabc6789end");
}

#[test]
fn a_patch_puts_bytes_where_its_header_says() {
    const TYPE: (&str, &str) = ("Content-Type", "application/x-sabredav-partialupdate");
    let site = Site::open("");
    site.write("a", "1234567890");
    let patch = |range: &str, body: &[u8]| {
        site.request("PATCH", "/a", &[TYPE, ("X-Update-Range", range)], body).status
    };
    let options = site.request("OPTIONS", "/a", &[], b"");
    assert!(options.header("dav").unwrap().contains("sabredav-partialupdate"));
    assert_eq!(options.header("accept-patch"), Some(TYPE.1));
    assert!(options.header("allow").unwrap().contains("PATCH"));
    assert_eq!(patch("bytes=3-6", b"ABCD"), 204);
    assert_eq!(site.read("a").unwrap(), b"123ABCD890");
    assert_eq!(patch("append", b"end"), 204);
    assert_eq!(patch("bytes=-3", b"END!"), 204);
    assert_eq!(patch("bytes=16-", b"."), 204);
    assert_eq!(site.read("a").unwrap(), b"123ABCD890END!\0\0.");

    // Refused requests store nothing.
    for (range, status) in
        [("bytes=0-2", 416), ("bytes=-18", 416), ("lines=1-4", 400), ("bytes=0-3,5-8", 400)]
    {
        assert_eq!(patch(range, b"ABCD"), status, "{range}");
    }
    let request = |path, headers: &[(&str, &str)]| site.request("PATCH", path, headers, b"x");
    let range = ("X-Update-Range", "append");
    let other = request("/a", &[("Content-Type", "application/json"), range]);
    assert_eq!((other.status, other.header("accept-patch")), (415, Some(TYPE.1)));
    assert_eq!(request("/a", &[TYPE]).status, 400);
    assert_eq!(request("/a", &[TYPE, range, ("If-Match", "\"other\"")]).status, 412);
    assert_eq!(request("/none", &[TYPE, range]).status, 404);
    assert_eq!(request("/", &[TYPE, range]).status, 405);
    // In a PATCH, both headers give the digest of the body.
    for (name, digest, status) in [
        ("Content-Digest", "adler=:AHkAeQ==:", 204),
        ("Repr-Digest", "adler=:AHkAeQ==:", 204),
        ("Repr-Digest", "adler=:AHkAeg==:", 400),
    ] {
        assert_eq!(request("/a", &[TYPE, range, (name, digest)]).status, status, "{name} {digest}");
    }
    assert_eq!(site.read("a").unwrap(), b"123ABCD890END!\0\0.xx");
    // PATCH needs write permission.
    let readable = Site::readable("");
    readable.write("a", "x");
    assert_eq!(readable.request("PATCH", "/a", &[TYPE, range], b"x").status, 403);
    let read_only = Site::new(&format!("read-only = true\n{OPEN}"));
    read_only.write("a", "x");
    let refused = read_only.request("PATCH", "/a", &[TYPE, range], b"x");
    assert_eq!(refused.status, 405);
    assert!(!refused.header("allow").unwrap().contains("PATCH"));
}

#[test]
fn what_cannot_be_put_is_refused_with_the_reason() {
    let site = Site::open("");
    site.write("directory/file", "x");
    assert_eq!(site.put("/missing/a", &[], b"x").status, 409);
    let onto = site.put("/directory", &[], b"x");
    assert_eq!(onto.status, 405);
    assert!(!onto.header("allow").unwrap().contains("PUT"));
    assert_eq!(site.put("/new/", &[], b"x").status, 405);
    assert_eq!(site.put("/directory/file/below", &[], b"x").status, 409);
    assert_eq!(site.put("/gz", &[("Content-Encoding", "gzip")], b"x").status, 415);
    assert_eq!(site.put(&format!("/{}", "n".repeat(300)), &[], b"x").status, 414);
    assert_eq!(site.request("POST", "/a", &[], b"").status, 405);
    assert_eq!(site.request("BREW", "/a", &[], b"").status, 501);
    let read_only = Site::new(&format!("read-only = true\n{OPEN}"));
    let refused = read_only.put("/a", &[], b"x");
    assert_eq!(refused.status, 405);
    assert!(!refused.header("allow").unwrap().contains("PUT"));
}

#[test]
fn a_route_limits_what_may_be_uploaded() {
    let root = TempDir::new().unwrap();
    let text = format!(
        "{}[[route]]\npath = \"/\"\nstorage = \"data\"\nmax-body = \"1KiB\"\n",
        config(root.path(), "", OPEN)
    );
    let weir = Weir::start(&text);
    let mut client = weir.client();
    client.send(message("PUT", "/a", &[], &[b'x'; 1024]));
    assert_eq!(client.response().status, 201);
    client.send(message("PUT", "/b", &[], &[b'x'; 1025]));
    assert_eq!(client.response().status, 413);
    let mut client = weir.client();
    client.send("PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(format!("401\r\n{}\r\n0\r\n\r\n", "x".repeat(1025)));
    assert_eq!(client.response().status, 413);
    assert!(!root.path().join("b").exists() && !root.path().join("c").exists());
}

#[test]
fn a_short_body_that_nobody_reads_does_not_cost_the_connection() {
    let site = Site::readable("");
    site.write("a", "content");
    let mut client = site.weir.client();
    client.send("PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
    let refused = client.response();
    assert_eq!((refused.status, refused.says_close()), (403, false));
    client.send("67890").send(message("GET", "/a", &[], b""));
    assert_eq!(client.response().text(), "content");
    // A long body does.
    client.send("PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n12345");
    let refused = client.response();
    assert_eq!((refused.status, refused.says_close()), (403, true));
}

#[test]
fn what_follows_a_body_is_the_next_request() {
    let site = Site::open("");
    site.write("b", "beside");
    let mut client = site.weir.client();
    let next = message("GET", "/b", &[], b"");
    // Trailers are part of the body. No part of the body is parsed as a request.
    let chunked = "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   1c\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n\r\n0\r\nX-Trailer: 1\r\n\r\n";
    client.send([chunked.as_bytes(), &next].concat());
    assert_eq!(client.response().status, 201);
    assert_eq!(client.response().text(), "beside");
    assert_eq!(site.read("a").unwrap(), b"GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
    // The same holds for the body of a refused request, which is discarded.
    let refused = message("PUT", "/missing/a", &[], b"GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
    client.send([refused, next].concat());
    assert_eq!(client.response().status, 409);
    assert_eq!(client.response().text(), "beside");
    assert!(client.is_quiet(std::time::Duration::from_millis(50)));
}

#[test]
fn a_refused_upload_that_comes_in_many_pieces_keeps_its_connection() {
    let root = TempDir::new().unwrap();
    let site =
        config(root.path(), "[listener.web.timeouts]\nbody = \"5s\"\n", &format!("read-only = true\n{OPEN}"));
    let weir = Weir::start(&format!("[weir]\nworkers = 1\n\n{site}"));
    let (mut client, mut other) = (weir.client(), weir.client());
    let body = pattern(60 * 1024);
    let put = message("PUT", "/a", &[], &body);
    client.send(&put[..put.len() - body.len()]);
    assert!(client.response().status >= 400);
    for piece in body.chunks(3 * 1024) {
        client.send(piece);
        // The single worker has read the piece before it responds to this request.
        assert_eq!(other.exchange(message("GET", "/a", &[], b"")).status, 404);
    }
    assert_eq!(client.exchange(message("GET", "/a", &[], b"")).status, 404);
}
