//! Tests of GET and HEAD of files.

use serde_json::json;
use weir_testkit::{Ending, RawClient, Response};

use crate::access::{ISSUER, Issuer, bearer};
use crate::{Site, message, pattern};

#[test]
fn a_file_comes_with_its_type_length_and_validators() {
    let site = Site::readable("");
    site.write("a/hello.txt", "hello\n");
    let got = site.get("/a/hello.txt");
    assert_eq!((got.status, got.text().as_str()), (200, "hello\n"));
    assert_eq!(got.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(got.header("content-length"), Some("6"));
    assert_eq!(got.header("accept-ranges"), Some("bytes"));
    assert_eq!(got.header("x-content-type-options"), Some("nosniff"));
    assert!(got.header("etag").is_some_and(|etag| etag.starts_with('"')));
    assert!(got.header("last-modified").is_some_and(|date| date.ends_with(" GMT")));
    assert_eq!(site.get("/a/missing.txt").status, 404);
    assert_eq!(site.get("/a/hello.txt/").status, 404);
}

#[test]
fn an_area_says_what_its_files_are_by_the_ends_of_their_names() {
    let types = "{ root = \"application/x-root\", txt = \"text/plain; charset=us-ascii\" }";
    let site = Site::readable(&format!("listing = true\nmime-types = {types}"));
    let says = |path: &str| site.get(path).header("content-type").unwrap().to_owned();
    for name in ["run.ROOT", "a.txt", "a.css", "a.unheardof"] {
        site.write(name, "content");
    }
    assert_eq!(says("/run.ROOT"), "application/x-root");
    assert_eq!(says("/a.txt"), "text/plain; charset=us-ascii");
    assert_eq!(says("/a.css"), "text/css; charset=utf-8");
    assert_eq!(says("/a.unheardof"), "application/octet-stream");
    let found = site.request("PROPFIND", "/run.ROOT", &[("Depth", "0")], b"").text();
    assert!(found.contains("getcontenttype>application/x-root<"), "{found}");
}

#[test]
fn head_says_what_get_would_and_sends_no_body() {
    let site = Site::readable("");
    site.write("f.bin", pattern(100_000));
    let mut client = site.weir.client();
    client.send(message("HEAD", "/f.bin", &[], b""));
    let head = client.response_to_head();
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, Some("100000"), 0));
    // The next request on the connection gets its own response.
    client.send(message("HEAD", "/missing", &[], b""));
    assert_eq!(client.response_to_head().status, 404);
    client.send(message("GET", "/f.bin", &[], b""));
    let got = client.response();
    assert_eq!(got.header("etag"), head.header("etag"));
    assert_eq!(got.body, pattern(100_000));
}

#[test]
fn every_size_arrives_whole_one_request_after_the_other_on_one_connection() {
    let site = Site::readable("");
    let sizes = [0, 1, 4096, 32_767, 32_768, 32_769, 65_536, 262_144, 1_048_577, 10_000_000];
    for size in sizes {
        site.write(&format!("{size}"), pattern(size));
    }
    let mut client = site.weir.client();
    for size in sizes {
        client.send(message("GET", &format!("/{size}"), &[], b""));
        let got = client.response();
        assert_eq!((got.status, got.body.len()), (200, size));
        assert!(got.body == pattern(size), "{size}");
    }
}

#[test]
fn who_asks_again_is_told_what_the_first_one_was() {
    let site = Site::readable("cache-control = \"max-age=60\"");
    site.write("a/page.html", "<p>text</p>");
    site.write("a/long", pattern(300_000));
    site.write("empty", "");
    let lines = |answer: &Response| -> Vec<(String, String)> {
        let is_same = |name: &str| !["date", "x-request-id"].contains(&name.to_ascii_lowercase().as_str());
        answer.headers.iter().filter(|(name, _)| is_same(name)).cloned().collect()
    };
    // None of these headers changes the response.
    let further: [&[(&str, &str)]; 5] = [
        &[],
        &[("Content-Length", "0")],
        &[("Expect", "100-continue")],
        &[("Accept-Encoding", "br, gzip")],
        &[("X-Sendfile-Type", "X-Accel-Redirect")],
    ];
    let mut client = site.weir.client();
    for path in ["/a/page.html", "/a/long", "/empty"] {
        let first = client.exchange(message("GET", path, &[], b""));
        assert_eq!(first.status, 200, "{path}");
        for further in further {
            let again = client.exchange(message("GET", path, further, b""));
            assert_eq!((again.status, lines(&again)), (200, lines(&first)), "{path} {further:?}");
            assert!(again.body == first.body, "{path} {further:?}");
        }
        client.send(message("HEAD", path, &[], b""));
        let head = client.response_to_head();
        assert_eq!((head.status, lines(&head)), (200, lines(&first)), "{path}");
        // An invalid token is refused, even if cached values show that the file is public.
        let forged = client.exchange(message("GET", path, &[("Authorization", "Bearer a.b.c")], b""));
        assert!(matches!(forged.status, 401 | 403), "{path}: {}", forged.status);
    }
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let site = Site::readable("");
    site.write("a", "first");
    site.write("b", pattern(200_000));
    let mut client = site.weir.client();
    let both =
        [message("GET", "/a", &[], b""), message("GET", "/b", &[], b""), message("GET", "/c", &[], b"")];
    client.send(both.concat());
    assert_eq!(client.response().text(), "first");
    assert_eq!(client.response().body, pattern(200_000));
    assert_eq!(client.response().status, 404);
}

#[test]
fn a_client_of_http_1_0_gets_the_file_and_the_end_of_the_connection() {
    let site = Site::readable("");
    site.write("a", pattern(50_000));
    let mut client = site.weir.client();
    client.send("GET /a HTTP/1.0\r\n\r\n");
    let (bytes, _) = client.read_to_end();
    let body = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(bytes[body..], pattern(50_000));
}

#[test]
fn a_known_version_is_not_sent_again() {
    let site = Site::readable("cache-control = \"max-age=60\"");
    site.write("a.css", "a { }");
    let got = site.get("/a.css");
    assert_eq!(got.header("cache-control"), Some("max-age=60"));
    let (etag, modified) = (got.header("etag").unwrap(), got.header("last-modified").unwrap());
    let mut client = site.weir.client();
    for header in [("If-None-Match", etag), ("If-Modified-Since", modified), ("If-None-Match", "\"x\", *")] {
        client.send(message("GET", "/a.css", &[header], b""));
        let again = client.response();
        let is_any = header.1.ends_with('*');
        assert_eq!(again.status, if is_any { 200 } else { 304 }, "{header:?}");
        if again.status == 304 {
            assert_eq!((again.header("etag"), again.body.len()), (Some(etag), 0));
        }
    }
    assert_eq!(site.get_with("/a.css", &[("If-None-Match", "\"other\"")]).status, 200);
    assert_eq!(site.get_with("/a.css", &[("If-Match", "\"other\"")]).status, 412);
    let changed = "Sun, 06 Nov 1994 08:49:37 GMT";
    assert_eq!(site.get_with("/a.css", &[("If-Unmodified-Since", changed)]).status, 412);
}

#[test]
fn a_compressed_sibling_goes_to_those_who_accept_it() {
    let site = Site::readable("precompressed = true");
    site.write("a.js", "plain");
    site.write("a.js.gz", "gzipped");
    site.write("a.js.br", "brotli");
    let plain = site.get("/a.js");
    assert_eq!((plain.text().as_str(), plain.header("vary")), ("plain", Some("Accept-Encoding")));
    let gzip = site.get_with("/a.js", &[("Accept-Encoding", "gzip")]);
    assert_eq!((gzip.text().as_str(), gzip.header("content-encoding")), ("gzipped", Some("gzip")));
    assert_eq!(gzip.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_ne!(gzip.header("etag"), plain.header("etag"));
    let best = site.get_with("/a.js", &[("Accept-Encoding", "gzip, zstd, br")]);
    assert_eq!(best.header("content-encoding"), Some("br"));
    // A sibling that is older than the file has outdated content.
    let gzipped = std::fs::File::options().write(true).open(site.root.path().join("a.js.gz")).unwrap();
    gzipped.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(site.get_with("/a.js", &[("Accept-Encoding", "gzip")]).text(), "plain");
}

#[test]
fn a_digest_is_told_to_those_who_want_one() {
    let site = Site::readable("");
    site.write("a", "Wikipedia");
    // Adler-32 of "Wikipedia", a well-known example.
    let told = site.get_with("/a", &[("Want-Digest", "adler32")]);
    assert_eq!(told.header("digest"), Some("adler32=11e60398"));
    let told = site.request("HEAD", "/a", &[("Want-Repr-Digest", "sha-256=5")], b"");
    let digest = told.header("repr-digest").unwrap();
    assert!(digest.starts_with("sha-256=:") && digest.ends_with(':'), "{digest}");
    assert_eq!(site.get("/a").header("digest"), None);
    // The file changes without Weir.
    site.write("a", "another content");
    let told = site.get_with("/a", &[("Want-Digest", "adler32")]);
    assert_ne!(told.header("digest"), Some("adler32=11e60398"));
}

#[test]
fn a_digest_that_is_not_kept_is_told_only_to_those_who_may_read_the_file() {
    let issuer = Issuer::new();
    let site = Site::new(&format!(
        "checksums = \"adler32\"\n[storage-area.data.access]\nissuers = \"{ISSUER}\"\ntoken-scopes = true\n{}",
        issuer.config()
    ));
    let token = |scope: &str| bearer(&issuer.token(&json!({ "scope": scope })));
    assert_eq!(site.put("/a", &[("Authorization", &token("storage.create:/"))], b"Wikipedia").status, 201);
    let told = |scope: &str, wanted: &str| {
        let token = token(scope);
        let headers = [("Authorization", token.as_str()), ("Want-Digest", wanted)];
        let told = site.request("HEAD", "/a", &headers, b"");
        assert_eq!(told.status, 200, "{scope} {wanted}");
        told.header("digest").map(str::to_owned)
    };
    for scope in ["storage.create:/", "storage.stage:/"] {
        assert_eq!(told(scope, "sha-256"), None, "{scope}");
        // The uploading client must be able to verify its upload.
        for wanted in ["adler32", "sha-256, adler32;q=0.1"] {
            assert_eq!(told(scope, wanted).as_deref(), Some("adler32=11e60398"), "{scope} {wanted}");
        }
    }
    let read = told("storage.read:/", "sha-256, adler32;q=0.1");
    assert!(read.as_ref().is_some_and(|digest| digest.starts_with("sha-256=")), "{read:?}");
}

#[test]
fn uploaded_pages_cannot_act_for_the_site_and_the_operators_own_can() {
    let open = Site::open("");
    open.write("a.html", "<script>steal()</script>");
    open.write("a.txt", "x");
    assert_eq!(open.get("/a.html").header("content-security-policy"), Some("sandbox"));
    assert_eq!(open.get("/a.txt").header("content-security-policy"), None);
    let own = Site::readable("read-only = true");
    own.write("a.html", "<script>work()</script>");
    assert_eq!(own.get("/a.html").header("content-security-policy"), None);
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_ends_in_no_clean_end() {
    let site = Site::readable("");
    site.write("f", "");
    let file = std::fs::File::options().write(true).open(site.root.path().join("f")).unwrap();
    file.set_len(1 << 30).unwrap();
    let mut client = RawClient::connect(site.weir.addr("web")).receive_buffer(4096);
    client.send(message("GET", "/f", &[], b""));
    let head = client.response_head();
    assert_eq!(head.header("content-length"), Some("1073741824"));
    file.set_len(1000).unwrap();
    let (bytes, ending) = client.read_to_end();
    assert!(bytes.len() < 1 << 30);
    assert_eq!(ending, Ending::Reset);
}
