//! Tests of conditional requests that change a resource (RFC 9110 section 13.1): if a condition fails,
//! nothing is changed.

use crate::Site;

const LONG_AGO: (&str, &str) = ("If-Unmodified-Since", "Mon, 01 Jan 1990 00:00:00 GMT");

#[test]
fn a_directory_that_has_come_in_the_place_of_a_file_does_not_meet_a_condition_on_the_file() {
    let site = Site::open("");
    let version = site.put("/x", &[], b"file").header("etag").unwrap().to_owned();
    std::fs::remove_file(site.root.path().join("x")).unwrap();
    site.write("x/member", "kept");
    let to = ("Destination", "/y");
    for (method, headers) in [("DELETE", &[][..]), ("MOVE", &[to]), ("COPY", &[to])] {
        for condition in [("If-Match", version.as_str()), LONG_AGO, ("If-None-Match", "*")] {
            let headers = [&[condition][..], headers].concat();
            assert_eq!(site.request(method, "/x", &headers, b"").status, 412, "{method} {condition:?}");
            assert_eq!(site.read("x/member").as_deref(), Some(&b"kept"[..]), "{method} {condition:?}");
            assert!(site.read("y/member").is_none(), "{method} {condition:?}");
        }
    }
    // `*` matches any version.
    let any = ("If-Match", "*");
    assert_eq!(site.request("COPY", "/x", &[to, any], b"").status, 201);
    assert_eq!(site.request("MOVE", "/x", &[("Destination", "/z"), any], b"").status, 201);
    assert_eq!(site.request("DELETE", "/z", &[any], b"").status, 204);
    assert!(site.read("z/member").is_none() && site.read("y/member").is_some());
}

#[test]
fn properties_locks_and_directories_are_not_changed_made_or_taken_on_conditions_that_do_not_hold() {
    let site = Site::open("");
    let before = site.put("/f", &[], b"first").header("etag").unwrap().to_owned();
    let now = site.put("/f", &[], b"second content").header("etag").unwrap().to_owned();
    let (stale, right) = (("If-Match", before.as_str()), ("If-Match", now.as_str()));
    let patch: &[u8] =
        b"<propertyupdate xmlns='DAV:'><set><prop><a xmlns='urn:x'>value</a></prop></set></propertyupdate>";
    let lock: &[u8] =
        b"<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>";
    for wrong in [stale, LONG_AGO, ("If-None-Match", "*")] {
        assert_eq!(site.request("PROPPATCH", "/f", &[wrong], patch).status, 412, "{wrong:?}");
        assert_eq!(site.request("LOCK", "/f", &[wrong], lock).status, 412, "{wrong:?}");
    }
    assert!(!site.request("PROPFIND", "/f", &[("Depth", "0")], b"").text().contains("value"));
    assert_eq!(site.put("/f", &[right], b"second content").status, 204, "it is not locked");
    let any = ("If-Match", "*");
    assert_eq!(site.request("LOCK", "/new", &[any], lock).status, 412);
    assert_eq!(site.request("MKCOL", "/new", &[any], b"").status, 412);
    assert!(!site.root.path().join("new").exists());
    // Conditions that hold do not prevent the request. A failed condition does not end a lock.
    assert!(site.request("PROPPATCH", "/f", &[any], patch).text().contains("HTTP/1.1 200"));
    let locked = site.request("LOCK", "/f", &[any], lock);
    assert_eq!(locked.status, 200, "{}", locked.text());
    let token = locked.header("lock-token").unwrap();
    let held = format!("({token})");
    assert_eq!(site.request("LOCK", "/f", &[("If", &held), stale], b"").status, 412);
    assert_eq!(site.request("LOCK", "/f", &[("If", &held), any], b"").status, 200);
    assert_eq!(site.request("UNLOCK", "/f", &[("Lock-Token", token), stale], b"").status, 412);
    assert_eq!(site.put("/f", &[], b"x").status, 423);
    assert_eq!(site.request("UNLOCK", "/f", &[("Lock-Token", token), any], b"").status, 204);
    assert_eq!(site.put("/f", &[], b"x").status, 204);
}
