//! Tests of partial uploads while another client replaces the file.

use std::fs::{self, File};

use serde_json::json;
use weir_testkit::{PATIENCE, Response, wait_until};

use crate::access::{ISSUER, Issuer, bearer};
use crate::{Site, message};

/// Returns the response to a request. `change` changes the site after the request was checked and before its
/// file is examined again.
fn overtaken(site: &Site, request: &[u8], change: impl FnOnce()) -> Response {
    let store = site.root.path().join(".weir-store");
    let open =
        |name: &str| File::options().write(true).create(true).truncate(false).open(store.join(name)).unwrap();
    let (guard, line) = (open("locks.guard"), open("locks.guard.line"));
    // Hold the guard, as another node does while it changes locks.
    guard.lock().unwrap();
    let mut client = site.weir.client();
    client.send(request);
    wait_until("the request stands in line for the guard", PATIENCE, || {
        let stands = line.try_lock().is_err();
        if !stands {
            line.unlock().unwrap();
        }
        stands
    });
    change();
    guard.unlock().unwrap();
    client.final_response()
}

/// Replaces a file, as an upload through another node does.
fn replace(site: &Site, name: &str, content: &str) {
    let next = site.root.path().join("next");
    fs::write(&next, content).unwrap();
    fs::rename(next, site.root.path().join(name)).unwrap();
}

fn remove(site: &Site, name: &str) {
    fs::remove_file(site.root.path().join(name)).unwrap();
}

const PUT: [(&str, &str); 1] = [("Content-Range", "bytes 0-2/*")];
const PATCH: [(&str, &str); 2] =
    [("Content-Type", "application/x-sabredav-partialupdate"), ("X-Update-Range", "bytes=0-2")];

#[test]
fn a_part_goes_into_the_version_that_its_client_names_or_nowhere() {
    let site = Site::open("");
    for (method, headers) in [("PUT", &PUT[..]), ("PATCH", &PATCH[..])] {
        let request = |condition: Option<(&str, &str)>| {
            let headers: Vec<_> = headers.iter().copied().chain(condition).collect();
            message(method, "/f", &headers, b"abc")
        };
        let made = site.put("/f", &[], b"first");
        let etag = made.header("etag").unwrap().to_owned();
        let condition = Some(("If-Match", etag.as_str()));
        let answer = overtaken(&site, &request(condition), || replace(&site, "f", "other"));
        assert_eq!((answer.status, site.read("f").unwrap()), (412, b"other".to_vec()), "{method}");

        let made = site.put("/f", &[], b"first");
        let etag = made.header("etag").unwrap().to_owned();
        let condition = Some(("If-Match", etag.as_str()));
        let answer = overtaken(&site, &request(condition), || remove(&site, "f"));
        assert_eq!((answer.status, site.read("f")), (412, None), "{method}");

        // Without a condition, the part goes into the file that exists then.
        assert_eq!(site.put("/f", &[], b"first").status, 201);
        let answer = overtaken(&site, &request(None), || replace(&site, "f", "other"));
        assert_eq!((answer.status, site.read("f").unwrap()), (204, b"abcer".to_vec()), "{method}");
        let answer = overtaken(&site, &request(None), || remove(&site, "f"));
        assert_eq!(answer.status, if method == "PATCH" { 404 } else { 201 });
    }
}

#[test]
fn who_names_a_version_is_told_that_it_is_gone_and_not_how_long_another_is() {
    let site = Site::open("");
    // The range fits the named file, but not the one that replaces it.
    let put = [("Content-Range", "bytes 4-6/*")];
    let patch = [PATCH[0], ("X-Update-Range", "bytes=-4")];
    let cases = [("PUT", &put[..], 400), ("PATCH", &patch[..], 416)];
    for (method, headers, too_short) in cases {
        let etag = site.put("/f", &[], b"first").header("etag").unwrap().to_owned();
        let conditions = [(Some(("If-Match", etag.as_str())), 412), (None, too_short)];
        for (condition, status) in conditions {
            let headers: Vec<_> = headers.iter().copied().chain(condition).collect();
            let request = message(method, "/f", &headers, b"abc");
            let answer = overtaken(&site, &request, || replace(&site, "f", "new"));
            assert_eq!((answer.status, site.read("f").unwrap()), (status, b"new".to_vec()), "{method}");
        }
    }
}

#[test]
fn a_part_of_what_must_be_new_does_not_go_into_a_file_that_came_meanwhile() {
    let issuer = Issuer::new();
    let site = Site::new(&format!(
        "[storage-area.data.access]\nissuers = \"{ISSUER}\"\ntoken-scopes = true\n{}",
        issuer.config()
    ));
    let token = |scope: &str| bearer(&issuer.token(&json!({ "scope": scope })));
    let (create, modify) = (token("storage.create:/"), token("storage.modify:/"));
    let request = |name: &str, headers: &[(&str, &str)]| {
        message("PUT", &format!("/{name}"), &[&PUT[..], headers].concat(), b"abc")
    };
    // The first file creates the directory of the guard.
    assert_eq!(site.put("/first", &[("Authorization", &create)], b"x").status, 201);
    let new = request("a", &[("Authorization", &create)]);
    let answer = overtaken(&site, &new, || site.write("a", "other"));
    assert_eq!((answer.status, site.read("a").unwrap()), (403, b"other".to_vec()), "{}", answer.text());
    let new = request("b", &[("Authorization", &modify), ("If-None-Match", "*")]);
    let answer = overtaken(&site, &new, || site.write("b", "other"));
    assert_eq!((answer.status, site.read("b").unwrap()), (412, b"other".to_vec()), "{}", answer.text());
    let new = request("c", &[("Authorization", &create)]);
    assert_eq!(overtaken(&site, &new, || {}).status, 201);
}
