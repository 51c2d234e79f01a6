//! Tests of large directories, large properties and a full disk.

use weir_e2e::Weir;
use weir_testkit::{TempDir, peak_rss_bytes};

use crate::mounts::Mount;
use crate::{OPEN, Site, config, message};

#[test]
fn a_directory_of_a_hundred_thousand_is_told_in_little_memory() {
    let site = Site::open("");
    site.write("d/0", "");
    for number in 1..100_000 {
        std::fs::File::create(site.root.path().join(format!("d/{number}"))).unwrap();
    }
    let asked = b"<propfind xmlns='DAV:'><prop><resourcetype/><getcontentlength/></prop></propfind>";
    // Do not measure the memory that the first requests of a process need.
    assert_eq!(site.request("PROPFIND", "/d/", &[("Depth", "0")], asked).status, 207);
    let before = peak_rss_bytes(site.weir.pid());
    let listed = site.request("PROPFIND", "/d/", &[("Depth", "1")], asked);
    let after = peak_rss_bytes(site.weir.pid());
    assert_eq!(listed.text().matches("<D:response>").count(), 100_001);
    assert!(listed.body.len() > 12 << 20);
    assert!(after < before + (8 << 20), "{before} bytes before, {after} after");
}

#[test]
fn members_with_large_properties_are_told_one_after_the_other() {
    let site = Site::open("");
    let set = format!(
        "<propertyupdate xmlns='DAV:'><set><prop><x xmlns='u'>{}</x></prop></set></propertyupdate>",
        "x".repeat(500_000)
    );
    for number in 0..64 {
        site.write(&format!("d/{number}"), "");
        assert_eq!(site.request("PROPPATCH", &format!("/d/{number}"), &[], set.as_bytes()).status, 207);
    }
    // Do not measure the memory that the first requests of a process need.
    assert!(site.request("PROPFIND", "/d/0", &[("Depth", "0")], b"").body.len() > 500_000);
    let before = peak_rss_bytes(site.weir.pid());
    let listed = site.request("PROPFIND", "/d/", &[("Depth", "1")], b"");
    let after = peak_rss_bytes(site.weir.pid());
    assert!(listed.body.len() > 64 * 500_000);
    assert!(after < before + (12 << 20), "{before} bytes before, {after} after");
}

#[test]
fn a_full_disk_is_507_and_what_was_there_stays() {
    let directory = TempDir::new().unwrap();
    let Some(small) = Mount::new(&directory.path().join("small"), "size=2m") else { return };
    let weir = Weir::start(&config(&small.path, "", OPEN));
    let request = |method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]| {
        let mut client = weir.client();
        client.send(message(method, path, headers, body));
        client.final_response()
    };
    assert_eq!(request("PUT", "/f", &[], &vec![b'x'; 1_200_000]).status, 201);
    let full = request("PUT", "/g", &[], &vec![b'y'; 1_200_000]);
    assert_eq!(full.status, 507);
    assert!(full.text().contains("<D:sufficient-disk-space/>"), "{}", full.text());
    assert_eq!(request("COPY", "/f", &[("Destination", "/g")], b"").status, 507);
    assert_eq!(request("GET", "/g", &[], b"").status, 404);
    assert_eq!(request("GET", "/f", &[], b"").body.len(), 1_200_000);
    // The failed requests left nothing that uses space.
    assert_eq!(request("PUT", "/g", &[], &vec![b'y'; 500_000]).status, 201);
}
