//! Tests of paths and symbolic links.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::Site;

#[test]
fn no_path_leads_out_of_the_root() {
    let site = Site::readable("");
    let outside = site.root.path().parent().unwrap().join(format!("weir-secret-{}", site.weir.pid()));
    std::fs::write(&outside, "secret").unwrap();
    site.write("a/b.txt", "inside");
    let name = outside.file_name().unwrap().to_str().unwrap().to_owned();
    let mut client = site.weir.client();
    for way in [
        "/../NAME",
        "/a/../../NAME",
        "/%2e%2e/NAME",
        "/.%2e/NAME",
        "/a/%2e%2e/%2e%2e/NAME",
        "/..%2fNAME",
        "/a%2f..%2f..%2fNAME",
        "/%252e%252e/NAME",
        "/..;/NAME",
        "/..\\NAME",
        "/..%5cNAME",
        "/%c0%ae%c0%ae/NAME",
        "/%uff0e%uff0e/NAME",
        "//../NAME",
        "/./../NAME",
        "/a/b.txt/../../../NAME",
        "/%00/../NAME",
        "/..%00/NAME",
        "/a/b.txt%00",
        "http://storage.example.org/../NAME",
        "http://storage.example.org/%2e%2e/NAME",
    ] {
        let path = way.replace("NAME", &name);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: storage.example.org\r\n\r\n"));
        let got = client.response();
        assert!((400..500).contains(&got.status), "{path}: {}", got.status);
        assert_ne!(got.text(), "secret", "{path}");
        if got.says_close() {
            client = site.weir.client();
        }
    }
    std::fs::remove_file(outside).unwrap();
}

#[test]
fn symbolic_links_are_followed_by_policy_and_never_out_of_the_root() {
    let links = |policy: &str| {
        let site = Site::readable(&format!("symlinks = \"{policy}\""));
        site.write("real.txt", "real");
        site.write("directory/inner.txt", "inner");
        symlink("real.txt", site.root.path().join("near")).unwrap();
        symlink("directory", site.root.path().join("over")).unwrap();
        symlink("/etc/hostname", site.root.path().join("absolute")).unwrap();
        symlink("../../../../../../etc/hostname", site.root.path().join("up")).unwrap();
        symlink("loop", site.root.path().join("loop")).unwrap();
        let statuses =
            ["/near", "/over/inner.txt", "/absolute", "/up", "/loop"].map(|path| site.get(path).status);
        assert_eq!(site.get("/real.txt").status, 200);
        statuses
    };
    let is_ok = |statuses: [u16; 5]| statuses.map(|status| status == 200);
    assert_eq!(is_ok(links("never")), [false; 5]);
    assert_eq!(is_ok(links("inside-root")), [true, true, false, false, false]);
    assert_eq!(is_ok(links("owner-match")), [true, true, false, false, false]);
}

#[test]
fn a_link_that_leads_nowhere_makes_room_for_what_is_moved_to_its_name() {
    let site = Site::open("symlinks = \"inside-root\"");
    site.write("f", "moved");
    symlink("nowhere", site.root.path().join("link")).unwrap();
    let status = site.request("MOVE", "/f", &[("Destination", "/link")], b"").status;
    assert!(matches!(status, 201 | 204), "{status}");
    assert_eq!(site.read("link").as_deref(), Some(&b"moved"[..]));
    assert_eq!(site.read("f"), None);
}

#[test]
fn names_that_are_no_text_are_served_as_they_are() {
    let site = Site::open("listing = true");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 #1?.txt");
    std::fs::write(site.root.path().join(name), "latin").unwrap();
    assert_eq!(site.get("/caf%E9%20%231%3F.txt").text(), "latin");
    assert!(site.get("/").text().contains("href=\"/caf%E9%20%231%3F.txt\""));
    assert_eq!(site.put("/%FF%FE", &[], b"x").status, 201);
    assert!(site.root.path().join(std::ffi::OsStr::from_bytes(b"\xff\xfe")).exists());
}

#[test]
fn an_access_point_is_a_whole_name() {
    let site = Site::readable("access-points = [\"/sa\", \"/other/place\"]");
    site.write("f.txt", "x");
    for (path, status) in [
        ("/sa/f.txt", 200),
        ("/other/place/f.txt", 200),
        ("/sab/f.txt", 404),
        ("/other/f.txt", 404),
        ("/f.txt", 404),
        ("/saf.txt", 404),
        ("/%73a/f.txt", 200),
    ] {
        assert_eq!(site.get(path).status, status, "{path}");
    }
}

#[test]
fn what_is_no_file_never_holds_a_client_up() {
    let site = Site::readable("");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        site.root.path().join("pipe"),
        rustix::fs::Mode::from_raw_mode(0o644),
    )
    .unwrap();
    assert!(matches!(site.get("/pipe").status, 403 | 404));
}

#[test]
fn weirs_own_files_are_nobodys_business() {
    let site = Site::open("listing = true");
    assert_eq!(site.put("/a", &[], b"x").status, 201);
    assert_eq!(site.put("/.weir-tmp~x~0~0", &[], b"x").status, 403);
    assert_eq!(site.get("/.weir-store/").status, 403);
    assert!(!site.get("/").text().contains(".weir"));
}
