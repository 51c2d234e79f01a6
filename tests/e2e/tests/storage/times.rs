//! Tests of file times: reported to clients and set by clients.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_testkit::Response;

use crate::Site;

fn set_time(site: &Site, name: &str, unix_s: i64) {
    site.write(name, "content");
    let distance = Duration::from_secs(unix_s.unsigned_abs());
    let time = if unix_s < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance };
    File::options().write(true).open(site.root.path().join(name)).unwrap().set_modified(time).unwrap();
}

fn modified_s(site: &Site, name: &str) -> i64 {
    std::fs::metadata(site.root.path().join(name)).unwrap().mtime()
}

fn listed(site: &Site, name: &str) -> String {
    site.request("PROPFIND", &format!("/{name}"), &[("Depth", "0")], b"").text()
}

#[test]
fn a_time_before_1970_or_after_now_is_not_told_as_another_one() {
    let site = Site::open("listing = true");
    for (name, unix_s) in [("before", -3_600), ("first", 0), ("known", 784_111_777), ("later", 4_070_908_800)]
    {
        set_time(&site, name, unix_s);
    }
    let last_modified = |name: &str| {
        let answer = site.get(&format!("/{name}"));
        assert_eq!(answer.status, 200, "{name}");
        // The second response uses the cached values of the file.
        let again = site.get(&format!("/{name}"));
        (answer.header("last-modified").map(str::to_owned), again.header("last-modified").map(str::to_owned))
    };
    let both = |text: &str| (Some(text.to_owned()), Some(text.to_owned()));
    assert_eq!(last_modified("known"), both("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(last_modified("first"), both("Thu, 01 Jan 1970 00:00:00 GMT"));
    let before = "Wed, 31 Dec 1969 23:00:00 GMT";
    assert_eq!(last_modified("before"), both(before));
    assert!(listed(&site, "before").contains(before), "{}", listed(&site, "before"));
    assert_eq!(site.get_with("/before", &[("If-Modified-Since", before)]).status, 304);
    // RFC 9110 section 8.8.2.1: Last-Modified is not later than the response's Date.
    for told in [last_modified("later").0, last_modified("later").1].into_iter().flatten() {
        assert!(!told.contains("2099"), "{told}");
    }
    assert!(!listed(&site, "later").contains("2099 "), "{}", listed(&site, "later"));
    // A listing shows unmodified times.
    let page = site.get("/").text();
    for time in ["1969-12-31 23:00:00", "1994-11-06 08:49:37", "2099-01-01 00:00:00"] {
        assert!(page.contains(time), "{time} in {page}");
    }
    for name in ["before", "later"] {
        let etag = site.get(&format!("/{name}")).header("etag").unwrap().to_owned();
        assert_eq!(site.get_with(&format!("/{name}"), &[("If-None-Match", &etag)]).status, 304);
    }
}

#[test]
fn a_client_gives_its_upload_the_time_of_its_own_copy() {
    let site = Site::open("");
    let put = |mtime: &str, body: &[u8]| site.put("/f", &[("X-OC-Mtime", mtime)], body);
    let accepted = put("1551780672", b"content");
    assert_eq!((accepted.status, accepted.header("x-oc-mtime")), (201, Some("accepted")));
    assert_eq!(modified_s(&site, "f"), 1_551_780_672);
    assert_eq!(site.get("/f").header("last-modified"), Some("Tue, 05 Mar 2019 10:11:12 GMT"));
    // The checksum is stored nevertheless. Different contents with the same length and time have different
    // entity tags.
    let digest = site.request("HEAD", "/f", &[("Want-Digest", "adler32")], b"");
    assert_eq!(digest.header("digest"), Some("adler32=0bcb02fc"));
    let etag = |answer: &Response| answer.header("etag").unwrap().to_owned();
    let mut tags = vec![etag(&accepted)];
    for body in [b"CONTENT", b"content", b"Content"] {
        tags.push(etag(&put("1551780672", body)));
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 4);
    assert_eq!(put("-60", b"x").header("x-oc-mtime"), Some("accepted"));
    assert_eq!(modified_s(&site, "f"), -60);
    for wrong in ["yesterday", "", "1e9"] {
        assert_eq!(put(wrong, b"y").status, 400, "{wrong}");
    }
    // A resumable upload would lose the time, so it is refused.
    let resumable = [("X-OC-Mtime", "1551780672"), ("Upload-Complete", "?0")];
    assert_eq!(site.put("/f", &resumable, b"y").status, 501);
    assert_eq!(site.read("f").unwrap(), b"x");
}

fn windows(site: &Site, path: &str, time: &str) -> String {
    let body = format!(
        "<D:propertyupdate xmlns:D='DAV:' xmlns:Z='urn:schemas-microsoft-com:'><D:set><D:prop>\
         <Z:Win32LastModifiedTime>{time}</Z:Win32LastModifiedTime>\
         <Z:Win32FileAttributes>00000020</Z:Win32FileAttributes></D:prop></D:set></D:propertyupdate>"
    );
    let answer = site.request("PROPPATCH", path, &[], body.as_bytes());
    assert_eq!(answer.status, 207, "{}", answer.text());
    answer.text()
}

#[test]
fn a_client_of_windows_sets_the_time_of_a_file() {
    let site = Site::open("");
    assert_eq!(site.put("/f", &[], b"Wikipedia").status, 201);
    assert_eq!(site.request("MKCOL", "/d/", &[], b"").status, 201);
    for path in ["/f", "/d/"] {
        let set = windows(&site, path, "Tue, 05 Mar 2019 10:11:12 GMT");
        assert!(set.contains("HTTP/1.1 200 OK") && !set.contains("HTTP/1.1 4"), "{set}");
    }
    assert_eq!((modified_s(&site, "f"), modified_s(&site, "d")), (1_551_780_672, 1_551_780_672));
    let text = listed(&site, "f");
    assert!(text.contains("<D:getlastmodified>Tue, 05 Mar 2019 10:11:12 GMT</D:getlastmodified>"), "{text}");
    assert!(text.contains("00000020"), "{text}");
    // The content has not changed, so its checksum is still valid.
    let digest = site.request("HEAD", "/f", &[("Want-Digest", "adler32")], b"");
    assert_eq!(digest.header("digest"), Some("adler32=11e60398"));

    let refused = windows(&site, "/f", "yesterday");
    assert!(refused.contains("HTTP/1.1 409") && refused.contains("HTTP/1.1 424"), "{refused}");
    assert_eq!(modified_s(&site, "f"), 1_551_780_672);
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
    assert_eq!(site.put("/f", &[], b"new").status, 204);
    assert!(modified_s(&site, "f") >= now_s - 1);
}

#[test]
fn digests_of_any_kind_are_checked_or_refused() {
    let site = Site::open("");
    let md5 = |value: &str| site.put("/f", &[("Content-MD5", value)], b"Wikipedia").status;
    assert_eq!(md5("nMbPbn1Hqyi+CDhFtunqnQ=="), 400);
    assert_eq!(md5("nonsense"), 400);
    assert!(site.read("f").is_none());
    // Trailers are ignored, so a digest there would not be verified.
    let chunked = |trailer: &str| {
        let mut client = site.weir.client();
        client.send(format!(
            "PUT /g HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nWikipedia\r\n0\r\n{trailer}\r\n"
        ));
        client.final_response().status
    };
    for name in ["Digest", "Content-Digest", "Repr-Digest", "content-md5"] {
        assert_eq!(chunked(&format!("{name}: sha-256=:AAAA:\r\n")), 400, "{name}");
        assert!(site.read("g").is_none());
    }
    assert_eq!(chunked("X-Other: kept out\r\n"), 201);
    assert_eq!(md5("nGdyhoZqrTj46bZg9UEYFA=="), 201);
}

#[test]
fn the_server_as_a_whole_says_what_it_offers() {
    let site = Site::open("");
    for target in ["*", "/"] {
        let answer = site.request("OPTIONS", target, &[], b"");
        assert_eq!(answer.status, 200, "{target}");
        assert!(answer.header("dav").unwrap().starts_with("1, 2"), "{target}: {:?}", answer.header("dav"));
    }
}
