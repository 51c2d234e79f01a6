//! Conditions of requests that change something (RFC 9110 section 13.1): what does not meet them is not carried out.

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
    // Any version will do.
    let any = ("If-Match", "*");
    assert_eq!(site.request("COPY", "/x", &[to, any], b"").status, 201);
    assert_eq!(site.request("MOVE", "/x", &[("Destination", "/z"), any], b"").status, 201);
    assert_eq!(site.request("DELETE", "/z", &[any], b"").status, 204);
    assert!(site.read("z/member").is_none() && site.read("y/member").is_some());
}
