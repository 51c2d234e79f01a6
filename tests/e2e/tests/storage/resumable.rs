//! Tests of resumable uploads (draft-ietf-httpbis-resumable-upload-11).

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use weir_e2e::Weir;
use weir_testkit::{PATIENCE, Response, Signal, TempDir, wait_until};

use crate::{OPEN, Site, config, message, pattern};

const APPEND: (&str, &str) = ("Content-Type", "application/partial-upload");

/// Starts an upload with its first bytes and returns its URL.
#[track_caller]
fn begin(site: &Site, path: &str, more: &[(&str, &str)], body: &[u8]) -> String {
    let headers = [&[("Upload-Complete", "?0")], more].concat();
    let begun = site.put(path, &headers, body);
    assert_eq!((begun.status, begun.header("Upload-Complete")), (201, Some("?0")), "{begun:?}");
    begun.header("Location").unwrap().to_owned()
}

#[track_caller]
fn append(site: &Site, url: &str, offset: usize, complete: bool, body: &[u8]) -> Response {
    let (offset, length) = (offset.to_string(), body.len().to_string());
    let complete = if complete { "?1" } else { "?0" };
    let headers =
        [APPEND, ("Upload-Offset", &offset), ("Upload-Complete", complete), ("Content-Length", &length)];
    let headers = if body.is_empty() { &headers[..] } else { &headers[..3] };
    site.request("PATCH", url, headers, body)
}

#[track_caller]
fn offset(site: &Site, url: &str) -> usize {
    let told = site.request("HEAD", url, &[], b"");
    assert_eq!((told.status, told.header("Upload-Complete")), (204, Some("?0")), "{told:?}");
    assert_eq!(told.header("Cache-Control"), Some("no-store"));
    told.header("Upload-Offset").unwrap().parse().unwrap()
}

/// Sends the head and a part of the body of a PUT, and disconnects after the interim response. Returns the
/// URL of the upload.
fn cut(weir: &Weir, path: &str, body: &[u8], sent: usize, more: &[(&str, &str)]) -> String {
    let mut client = weir.client();
    let whole = message("PUT", path, &[&[("Upload-Complete", "?1")], more].concat(), body);
    client.send(&whole[..whole.len() - body.len() + sent]);
    let interim = client.response_head();
    assert_eq!(interim.status, 104, "{interim:?}");
    interim.header("Location").unwrap().to_owned()
}

/// Returns the received bytes of the only unfinished upload.
fn part_bytes(root: &Path) -> u64 {
    let mut files = root.read_dir().unwrap().map(|file| file.unwrap());
    let part = files.find(|file| file.file_name().to_string_lossy().starts_with(".weir-part~"));
    part.map_or(0, |part| part.metadata().unwrap().len())
}

/// Waits until all sent bytes of a disconnected client are stored. An earlier request for the offset would
/// end the request that is still being read.
#[track_caller]
fn goes_on_at(site: &Site, url: &str, sent: usize) {
    wait_until("what was sent is there", PATIENCE, || part_bytes(site.root.path()) == sent as u64);
    assert_eq!(offset(site, url), sent);
}

#[test]
fn an_upload_that_was_cut_off_goes_on_where_it_was() {
    let site = Site::open("checksums = [\"adler32\", \"sha-256\"]");
    let content = pattern(3_000_000);
    let url = cut(&site.weir, "/d%20x", &content, 1_234_567, &[]);
    assert!(url.starts_with("/d%20x?weir-upload="), "{url}");
    goes_on_at(&site, &url, 1_234_567);
    assert_eq!(site.read("d x"), None);
    // Cut off a second time; the length is known by now.
    let mut client = site.weir.client();
    let rest = &content[1_234_567..];
    let headers = [APPEND, ("Upload-Offset", "1234567"), ("Upload-Complete", "?1")];
    let whole = message("PATCH", &url, &headers, rest);
    client.send(&whole[..whole.len() - rest.len() + 700_000]);
    drop(client);
    goes_on_at(&site, &url, 1_934_567);
    let told = site.request("HEAD", &url, &[], b"");
    assert_eq!(told.header("Upload-Length"), Some("3000000"));
    let age = told.header("Upload-Limit").unwrap().strip_prefix("max-age=").unwrap();
    assert!((86_000..=86_400).contains(&age.parse::<u64>().unwrap()), "{age}");
    let done = append(&site, &url, 1_934_567, true, &content[1_934_567..]);
    assert_eq!((done.status, done.header("Upload-Complete")), (201, Some("?1")));
    assert!(done.header("ETag").is_some());
    assert_eq!(site.read("d x").unwrap(), content);
    // The checksums are those of the complete file.
    let read = site.request("HEAD", "/d%20x", &[("Want-Digest", "adler32")], b"");
    let fresh = site.put("/fresh", &[], &content);
    assert_eq!(fresh.status, 201);
    let expected = site.request("HEAD", "/fresh", &[("Want-Digest", "adler32")], b"");
    assert_eq!(read.header("Digest"), expected.header("Digest"));
    // A client that missed the response can still ask for the result.
    let told = site.request("HEAD", &url, &[], b"");
    assert_eq!((told.header("Upload-Complete"), told.header("Upload-Offset")), (Some("?1"), Some("3000000")));
    assert_eq!(append(&site, &url, 3_000_000, true, b"").status, 400);
}

#[test]
fn an_upload_that_is_not_cut_off_is_like_any_other() {
    let site = Site::open("");
    let mut client = site.weir.client();
    let headers = [("Upload-Complete", "?1"), ("Expect", "100-continue"), ("Upload-Length", "5")];
    let whole = message("PUT", "/a", &headers, b"hello");
    client.send(&whole[..whole.len() - 5]);
    assert_eq!(client.response_head().status, 104);
    assert_eq!(client.response_head().status, 100);
    client.send("hello");
    let done = client.response();
    assert_eq!((done.status, done.header("Upload-Complete")), (201, Some("?1")));
    assert_eq!(site.read("a").unwrap(), b"hello");
    // A malformed header is ignored.
    let mut client = site.weir.client();
    client.send(message("PUT", "/b", &[("Upload-Complete", "yes")], b"hello"));
    assert_eq!(client.response().status, 201);
    let empty = site.put("/empty", &[("Upload-Complete", "?1")], b"");
    assert_eq!((empty.status, site.read("empty").unwrap()), (201, Vec::new()));
    let names: Vec<_> = site.root.path().read_dir().unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("part")), "{names:?}");
    let limits = site.request("OPTIONS", "/new", &[], b"");
    assert_eq!(limits.header("Upload-Limit"), Some("max-age=86400"));
}

#[test]
fn parts_come_one_after_the_other_and_only_so() {
    let site = Site::open("");
    site.write("f", "old");
    let url = begin(&site, "/f", &[("Upload-Length", "10")], b"0123");
    let more = append(&site, &url, 4, false, b"45");
    assert_eq!((more.status, more.header("Upload-Offset")), (204, Some("6")));
    assert_eq!(site.read("f").unwrap(), b"old");
    let wrong = append(&site, &url, 4, false, b"45");
    assert_eq!((wrong.status, wrong.header("Upload-Offset")), (409, Some("6")));
    assert_eq!(wrong.header("Content-Type"), Some("application/problem+json"));
    let problem: serde_json::Value = serde_json::from_str(&wrong.text()).unwrap();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#mismatching-upload-offset");
    assert_eq!((&problem["expected-offset"], &problem["provided-offset"]), (&6.into(), &4.into()));
    // Wrong media type, no offset, and a length other than announced.
    assert_eq!(
        site.request("PATCH", &url, &[("Upload-Offset", "6"), ("Upload-Complete", "?0")], b"x").status,
        415
    );
    assert_eq!(site.request("PATCH", &url, &[APPEND, ("Upload-Complete", "?0")], b"x").status, 400);
    let wrong = append(&site, &url, 6, true, b"678");
    let problem: serde_json::Value = serde_json::from_str(&wrong.text()).unwrap();
    assert_eq!(wrong.status, 400);
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#inconsistent-upload-length");
    assert_eq!(offset(&site, &url), 6);
    // A part with a wrong digest is not stored.
    let headers = [
        APPEND,
        ("Upload-Offset", "6"),
        ("Upload-Complete", "?0"),
        ("Content-Digest", "md5=:AAAAAAAAAAAAAAAAAAAAAA==:"),
    ];
    assert_eq!(site.request("PATCH", &url, &headers, b"67").status, 400);
    assert_eq!(offset(&site, &url), 6);
    let done = append(&site, &url, 6, true, b"6789");
    assert_eq!((done.status, site.read("f").unwrap()), (204, b"0123456789".to_vec()));
    // Empty last parts, unknown lengths, and more data than announced.
    let url = begin(&site, "/g", &[], b"abc");
    assert_eq!(append(&site, &url, 3, true, b"").status, 201);
    assert_eq!(site.read("g").unwrap(), b"abc");
    let url = begin(&site, "/h", &[("Upload-Length", "3")], b"abc");
    let headers =
        [APPEND, ("Upload-Offset", "3"), ("Upload-Complete", "?0"), ("Transfer-Encoding", "chunked")];
    let mut client = site.weir.client();
    let mut head = message("PATCH", &url, &headers, b"");
    head.extend_from_slice(b"1\r\nd\r\n0\r\n\r\n");
    client.send(head);
    assert_eq!(client.response().status, 400);
    assert_eq!(site.request("HEAD", &url, &[], b"").status, 404);
    assert_eq!(site.request("POST", &url, &[], b"").status, 405);
}

#[test]
fn the_whole_must_have_the_digest_that_was_given() {
    let site = Site::open("");
    // Digest of "Wikipedia".
    let right = [("Digest", "adler32=11e60398")];
    let url = begin(&site, "/right", &right, b"Wiki");
    assert_eq!(append(&site, &url, 4, true, b"pedia").status, 201);
    let url = begin(&site, "/wrong", &right, b"Wiki");
    let refused = append(&site, &url, 4, true, b"media");
    assert_eq!((refused.status, refused.header("Upload-Complete")), (400, Some("?1")));
    assert_eq!((site.read("wrong"), site.request("HEAD", &url, &[], b"").status), (None, 404));
    // A digest may also come with the last part.
    let url = begin(&site, "/late", &[], b"Wiki");
    let headers = [APPEND, ("Upload-Offset", "4"), ("Upload-Complete", "?1"), ("Digest", "adler32=00000001")];
    assert_eq!(site.request("PATCH", &url, &headers, b"pedia").status, 400);
    assert_eq!(site.read("late"), None);
}

#[test]
fn conditions_hold_until_the_end() {
    let site = Site::open("");
    let url = begin(&site, "/new", &[("If-None-Match", "*")], b"mine");
    site.write("new", "theirs");
    let refused = append(&site, &url, 4, true, b"");
    assert_eq!((refused.status, refused.header("Upload-Complete")), (412, Some("?1")));
    assert_eq!(site.read("new").unwrap(), b"theirs");
    let etag = site.get("/new").header("ETag").unwrap().to_owned();
    let url = begin(&site, "/new", &[("If-Match", &etag)], b"mine");
    site.write("other", "theirs too");
    std::fs::rename(site.root.path().join("other"), site.root.path().join("new")).unwrap();
    assert_eq!(append(&site, &url, 4, true, b"").status, 412);
    assert_eq!(site.read("new").unwrap(), b"theirs too");
}

#[test]
fn an_upload_survives_the_death_of_its_node() {
    let root = TempDir::new().unwrap();
    let text = config(root.path(), "", OPEN);
    let mut weir = Weir::start(&text);
    let content = pattern(2_000_000);
    let url = cut(&weir, "/f", &content, 1_000_000, &[]);
    wait_until("all of it is in the file", PATIENCE, || part_bytes(root.path()) == 1_000_000);
    weir.signal(Signal::KILL);
    weir.wait();
    // Another node can continue the upload.
    let site = Site { weir: Weir::start(&format!("[weir]\nnode = \"other\"\n{text}")), root };
    assert_eq!(offset(&site, &url), 1_000_000);
    assert_eq!(append(&site, &url, 1_000_000, true, &content[1_000_000..]).status, 201);
    assert_eq!(site.read("f").unwrap(), content);
}

#[test]
fn what_a_request_that_was_cut_off_has_brought_is_there_for_another_machine() {
    let site = Site::open("");
    let content = pattern(2_000_000);
    let url = cut(&site.weir, "/f", &content, 1_000_000, &[]);
    let (_, id) = url.split_once('=').unwrap();
    let file = site.root.path().join(".weir-store/uploads").join(id);
    wait_until("what has come is sure", PATIENCE, || {
        std::fs::read_to_string(&file).is_ok_and(|state| state.contains("\"settled\":1000000,"))
    });
    // Pretend that another machine wrote it.
    let state = std::fs::read_to_string(&file).unwrap();
    assert!(state.contains("\"machine\":\""), "{state}");
    std::fs::write(&file, state.replace("\"machine\":\"", "\"machine\":\"another ")).unwrap();
    assert_eq!(offset(&site, &url), 1_000_000);
    assert_eq!(append(&site, &url, 1_000_000, true, &content[1_000_000..]).status, 201);
    assert_eq!(site.read("f").unwrap(), content);
}

#[test]
fn a_digest_that_comes_with_a_part_in_the_middle_is_no_condition_of_the_whole() {
    let site = Site::open("");
    let url = begin(&site, "/a", &[], b"0123");
    let headers = [APPEND, ("Upload-Offset", "4"), ("Upload-Complete", "?0"), ("Digest", "adler32=00000001")];
    assert_eq!(site.request("PATCH", &url, &headers, b"45").status, 204);
    assert_eq!(append(&site, &url, 6, true, b"67").status, 201);
    assert_eq!(site.read("a").unwrap(), b"01234567");
}

#[test]
fn who_is_not_gone_on_with_is_forgotten_and_who_is_cancelled_at_once() {
    let site = Site::open("upload-expiry = \"1s\"");
    let url = begin(&site, "/a", &[], b"0123");
    wait_until("it is forgotten", Duration::from_secs(60), || {
        site.request("HEAD", &url, &[], b"").status == 404
    });
    assert_eq!(append(&site, &url, 4, true, b"").status, 404);
    let site = Site::open("");
    let url = begin(&site, "/a", &[], b"0123");
    assert_eq!(site.request("DELETE", &url, &[], b"").status, 204);
    assert_eq!(site.request("HEAD", &url, &[], b"").status, 404);
    let left: Vec<_> = site.root.path().read_dir().unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, [".weir-store"]);
}

#[test]
fn who_may_not_put_may_not_go_on_either() {
    let site = Site::readable("");
    assert_eq!(site.put("/a", &[("Upload-Complete", "?0")], b"x").status, 403);
    let id = "0123456789abcdef0123456789abcdef";
    for method in ["HEAD", "PATCH", "DELETE"] {
        let refused = site.request(method, &format!("/a?weir-upload={id}"), &[], b"");
        assert_eq!(refused.status, 403, "{method}");
    }
    let site = Site::open("");
    let url = begin(&site, "/a", &[], b"0123");
    // Another path, an unknown ID and an invalid ID.
    for wrong in [url.replace("/a?", "/b?"), format!("/a?weir-upload={id}"), "/a?weir-upload=../x".to_owned()]
    {
        assert_eq!(site.request("HEAD", &wrong, &[], b"").status, 404, "{wrong}");
    }
    assert_eq!(
        site.request("OPTIONS", &url, &[], b"").header("Accept-Patch"),
        Some("application/partial-upload")
    );
    // The upload cannot be read as a file.
    assert_eq!(site.get(&url).body, b"");
}

#[test]
fn the_name_of_an_upload_is_not_logged() {
    let mut site = Site::new(&format!("{OPEN}\n[access-log]\nformat = \"common\"\n"));
    let url = begin(&site, "/a", &[], b"0123");
    let (_, id) = url.split_once('=').unwrap();
    assert_eq!(offset(&site, &url), 4);
    let line = site.weir.wait_for_log("\"HEAD /a?");
    assert!(line.contains("weir-upload=REDACTED") && !line.contains(id), "{line}");
}

#[test]
fn what_has_come_counts_for_the_quota() {
    let site = Site::open("quota = \"1MB\"");
    let limits = site.request("OPTIONS", "/a", &[], b"");
    assert_eq!(limits.header("Upload-Limit"), Some("max-size=1000000, max-age=86400"));
    let too_long = site.put("/a", &[("Upload-Complete", "?0"), ("Upload-Length", "1000001")], b"x");
    assert_eq!(too_long.status, 507);
    let url = begin(&site, "/a", &[], &pattern(900_000));
    assert_eq!(site.put("/b", &[], &pattern(200_000)).status, 507);
    assert_eq!(append(&site, &url, 900_000, false, &pattern(100_001)).status, 507);
    assert_eq!(append(&site, &url, 900_000, true, &pattern(100_000)).status, 201);
    assert_eq!(site.put("/b", &[], b"x").status, 507);
    assert_eq!(site.request("DELETE", "/a", &[], b"").status, 204);
    let url = begin(&site, "/a", &[], &pattern(900_000));
    assert_eq!(site.request("DELETE", &url, &[], b"").status, 204);
    assert_eq!(site.put("/b", &[], &pattern(1_000_000)).status, 201);
}

#[test]
fn who_comes_back_need_not_wait_for_who_was_lost() {
    let site = Site::open("");
    let content = pattern(1_000_000);
    let mut lost = site.weir.client();
    let whole = message("PUT", "/f", &[("Upload-Complete", "?1")], &content);
    lost.send(&whole[..whole.len() - 500_000]);
    let url = lost.response_head().header("Location").unwrap().to_owned();
    // The connection of the first request is still open. The data read from it is kept.
    let kept = offset(&site, &url);
    assert!(kept <= 500_000, "{kept}");
    assert_eq!(append(&site, &url, kept, true, &content[kept..]).status, 201);
    assert_eq!(site.read("f").unwrap(), content);
}

#[test]
fn curl_can_go_on() {
    let site = Site::open("");
    let content = pattern(300_000);
    let directory = TempDir::new().unwrap();
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    std::fs::write(&first, &content[..100_000]).unwrap();
    std::fs::write(&second, &content[100_000..]).unwrap();
    let base = format!("http://{}", site.weir.addr("web"));
    let curl = |arguments: &[&str]| {
        let out = Command::new("curl").args(["-sS", "-i", "--max-time", "30"]).args(arguments).output();
        String::from_utf8_lossy(&out.expect("curl is there").stdout).into_owned()
    };
    let told = curl(&["-T", first.to_str().unwrap(), "-H", "Upload-Complete: ?0", &format!("{base}/c.dat")]);
    let location = told.lines().rfind(|line| line.starts_with("Location:")).expect(&told).to_owned();
    let url = format!("{base}{}", location.trim_start_matches("Location:").trim());
    assert!(curl(&["-I", &url]).contains("Upload-Offset: 100000"));
    let data = format!("@{}", second.display());
    let done = curl(&[
        "-X",
        "PATCH",
        "--data-binary",
        &data,
        "-H",
        "Content-Type: application/partial-upload",
        "-H",
        "Upload-Offset: 100000",
        "-H",
        "Upload-Complete: ?1",
        &url,
    ]);
    assert!(done.contains("201 Created"), "{done}");
    assert_eq!(site.read("c.dat").unwrap(), content);
}

#[test]
fn the_client_of_a_long_upload_is_told_how_much_of_it_is_sure() {
    const LENGTH: usize = 260 << 20;
    let site = Site::open("checksums = []\ndurability = \"none\"");
    let mut client = site.weir.client();
    let head = format!(
        "PUT /f HTTP/1.1\r\nHost: storage.example.org\r\nUpload-Complete: ?1\r\nContent-Length: {LENGTH}\r\n\r\n"
    );
    client.send(head);
    assert_eq!(client.response_head().status, 104);
    let portion = vec![b'x'; 1 << 20];
    for _ in 0..LENGTH >> 20 {
        client.send(&portion);
    }
    let told = client.response_head();
    assert_eq!((told.status, told.header("Location")), (104, None));
    let offset: usize = told.header("Upload-Offset").unwrap().parse().unwrap();
    assert!((256 << 20..=LENGTH).contains(&offset), "{offset}");
    assert_eq!(client.final_response().status, 201);
    assert_eq!(std::fs::metadata(site.root.path().join("f")).unwrap().len(), LENGTH as u64);
}
